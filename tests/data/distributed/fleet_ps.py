"""A fleet of parameter servers, as Fluid's examples write it: the losses of each worker go to OUT/worker-ID.txt."""
import os
import sys

import numpy as np
import paddle.fluid as fluid
import paddle.fluid.incubate.fleet.base.role_maker as role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.transpiler.distribute_transpiler import DistributeTranspilerConfig

fleet.init(role_maker.PaddleCloudRoleMaker())
x, y = fluid.layers.data("x", [4]), fluid.layers.data("y", [1])
loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
optimizer = fleet.distributed_optimizer(fluid.optimizer.Adam(0.01), DistributeTranspilerConfig())
optimizer.minimize(loss)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
elif fleet.is_worker():
    fleet.init_worker()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fleet.startup_program)
    rng = np.random.RandomState(fleet.worker_index())
    for step in range(3 + fleet.worker_index()):
        feed = {"x": rng.rand(8, 4).astype("float32"), "y": rng.rand(8, 1).astype("float32")}
        exe.run(fleet.main_program, feed=feed, fetch_list=[loss])
    if fleet.is_first_worker():
        fleet.save_inference_model(exe, os.path.join(sys.argv[1], "model"), ["x"], [loss.block.var("fc_0.tmp_1")])
    with open(os.path.join(sys.argv[1], "worker-%d.txt" % fleet.worker_index()), "w") as file:
        file.write(repr(np.array(fluid.global_scope().find_var("fc_0.b_0").get_tensor()).tolist()))
    fleet.stop_worker()

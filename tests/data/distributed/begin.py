"""Trainers that begin differently: begin.py OUT HOW; the startup program runs before transpile, or one loads a model."""
import os
import sys

import numpy as np
import paddle.fluid as fluid

out, how = sys.argv[1:]
trainer, trainers = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_TRAINERS_NUM"])
x, y = fluid.layers.data("x", [3]), fluid.layers.data("y", [1])
loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
other = fluid.layers.reduce_sum(x)
fluid.optimizer.Momentum(0.001, 0.9).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
startup = fluid.default_startup_program()
if how == "early":
    exe.run(startup)
config = fluid.DistributeTranspilerConfig()
config.mode = "nccl2"
fluid.DistributeTranspiler(config=config).transpile(trainer, trainers=os.environ["PADDLE_TRAINER_ENDPOINTS"])
if how == "load":
    exe.run(startup)
    if trainer == 0:
        fluid.global_scope().find_var("fc_0.w_0").get_tensor().set(np.full((3, 1), 7, "float32"), fluid.CPUPlace())
rng = np.random.RandomState(trainer)
for step in range(4):
    wanted = [loss, other] if trainer == 0 and step % 2 else [loss]  # one trainer looks at more now and then
    exe.run(feed={"x": rng.rand(4, 3).astype("float32"), "y": rng.rand(4, 1).astype("float32")}, fetch_list=wanted)
np.save(os.path.join(out, "trainer-%d.npy" % trainer), np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor()))

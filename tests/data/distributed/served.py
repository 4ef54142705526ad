"""Parameter servers that load a model: ROLE RANK PSERVERS ENDPOINT MODEL OUT; parameters go to OUT/trainer-RANK.npz."""
import os
import sys

import numpy as np
import paddle.fluid as fluid

role, rank, servers, own, model, out = sys.argv[1:]
x, y = fluid.layers.data("x", [4]), fluid.layers.data("y", [1])
loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
t = fluid.DistributeTranspiler()
t.transpile(int(rank), pservers=servers, trainers=2)
exe = fluid.Executor(fluid.CPUPlace())
if role == "pserver":
    program = t.get_pserver_program(own)
    exe.run(t.get_startup_program(own, program))
    fluid.io.load_persistables(exe, model, program)
    exe.run(program)
else:
    exe.run(fluid.default_startup_program())
    names = [v.name for v in fluid.default_main_program().list_vars() if v.persistable]
    found = {name: np.array(fluid.global_scope().find_var(name).get_tensor()) for name in names}
    exe.run(t.get_trainer_program(), feed={"x": np.ones((2, 4), "float32"), "y": np.ones((2, 1), "float32")})
    np.savez(os.path.join(out, "trainer-%s.npz" % rank), **found)
    exe.close()

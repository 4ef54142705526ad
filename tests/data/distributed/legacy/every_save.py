"""Trainers of parameter servers save a model in every way there is, and read the files back: every_save.py OUT."""
from __future__ import print_function

import json
import os
import sys

import numpy as np
import paddle.fluid as fluid

out, trainer_id = sys.argv[1], int(os.getenv("PADDLE_TRAINER_ID", "0"))


def uniform(name, seed):
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.Uniform(-0.3, 0.3, seed=seed))


ids, y = fluid.layers.data("ids", [1], dtype="int64"), fluid.layers.data("y", [1])
hidden = fluid.layers.fc(
    fluid.layers.embedding(ids, [30, 4], param_attr=uniform("emb", 2)), 6, act="relu", param_attr=uniform("w1", 3)
)
predict = fluid.layers.fc(hidden, 1, param_attr=uniform("w2", 4))
loss = fluid.layers.mean(fluid.layers.square_error_cost(predict, y))
fluid.optimizer.Adam(0.02).minimize(loss)
t = fluid.DistributeTranspiler()
t.transpile(trainer_id, pservers=os.getenv("PADDLE_PSERVER_ENDPOINTS"), trainers=int(os.getenv("PADDLE_TRAINERS")))
exe = fluid.Executor(fluid.CPUPlace())
if os.getenv("PADDLE_TRAINING_ROLE") == "PSERVER":
    program, startup = t.get_pserver_programs(os.getenv("CURRENT_ENDPOINT"))
    exe.run(startup)
    exe.run(program)
    sys.exit(0)
program = t.get_trainer_program()
exe.run(fluid.default_startup_program())
rng, losses = np.random.RandomState(trainer_id), []


def step():
    feed = {"ids": rng.randint(0, 30, (6, 1)).astype("int64"), "y": rng.rand(6, 1).astype("float32")}
    losses.append(float(exe.run(program, feed=feed, fetch_list=[loss])[0]))


def saved(folder, name, shape):
    reading = fluid.Program()
    with fluid.scope_guard(fluid.Scope()):
        parameter = reading.global_block().create_parameter(shape=shape, dtype="float32", name=name)
        fluid.io.load_vars(exe, os.path.join(out, folder), reading, vars=[parameter])
        return np.array(fluid.global_scope().find_var(name).get_tensor()).ravel().tolist()


for _ in range(3):
    step()
read = []
if trainer_id == 0:
    fluid.io.save_persistables(exe, os.path.join(out, "persistables"), main_program=program)
    fluid.io.save_params(exe, os.path.join(out, "params"), main_program=program)
    fluid.io.save_inference_model(os.path.join(out, "inference"), ["ids"], [predict], exe)
    fluid.io._save_distributed_persistables(exe, os.path.join(out, "distributed"), program)
    for folder in ("persistables", "params", "inference", "distributed"):
        read += saved(folder, "emb", [30, 4])[:20] + saved(folder, "w1", [4, 6]) + saved(folder, "w2", [6, 1])
for _ in range(3):
    step()
params = {name: np.array(fluid.global_scope().find_var(name).get_tensor()).ravel().tolist() for name in ("w1", "w2")}
json.dump({"losses": losses + read, "params": params}, open(os.path.join(out, "trainer-%d.json" % trainer_id), "w"))
exe.close()

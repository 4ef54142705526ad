"""A script that starts its own servers and trainers with multiprocessing: in_processes.py OUT ENDPOINTS METHOD."""
from __future__ import print_function

import json
import multiprocessing
import os
import sys

import numpy as np


def transpiled(trainer_id, endpoints):
    import paddle.fluid as fluid

    x, y = fluid.layers.data("x", [13]), fluid.layers.data("y", [1])
    predict = fluid.layers.fc(x, 1, param_attr=fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.1)))
    loss = fluid.layers.mean(fluid.layers.square_error_cost(predict, y))
    fluid.optimizer.SGD(0.05).minimize(loss)
    t = fluid.DistributeTranspiler()
    t.transpile(trainer_id, pservers=endpoints, trainers=2)
    return fluid, fluid.Executor(fluid.CPUPlace()), t, loss


def serve(endpoints, own):
    _, exe, t, _ = transpiled(0, endpoints)
    program = t.get_pserver_program(own)
    exe.run(t.get_startup_program(own, program))
    exe.run(program)


def train(out, endpoints, trainer_id, done):
    fluid, exe, t, loss = transpiled(trainer_id, endpoints)
    program = t.get_trainer_program()
    exe.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder(place=fluid.CPUPlace(), feed_list=["x", "y"], program=program)
    rng, losses = np.random.RandomState(trainer_id), []
    for _ in range(5):
        rows = [(rng.rand(13).astype("float32"), rng.rand(1).astype("float32")) for _ in range(8)]
        losses.append(float(exe.run(program, feed=feeder.feed(rows), fetch_list=[loss])[0]))
    params = {"w": np.array(fluid.global_scope().find_var("w").get_tensor()).ravel().tolist()}
    json.dump({"losses": losses, "params": params}, open(os.path.join(out, "trainer-%d.json" % trainer_id), "w"))
    exe.close()
    done.put(trainer_id)


if __name__ == "__main__":
    out, endpoints, method = sys.argv[1:]
    multiprocessing.set_start_method(method)
    done = multiprocessing.Queue()
    servers = [multiprocessing.Process(target=serve, args=(endpoints, own)) for own in endpoints.split(",")]
    trainers = [multiprocessing.Process(target=train, args=(out, endpoints, i, done)) for i in range(2)]
    for process in servers + trainers:
        process.start()
    for _ in trainers:
        done.get(timeout=200)
    for process in trainers:
        process.join()
    for process in servers:
        process.terminate()
        process.join()

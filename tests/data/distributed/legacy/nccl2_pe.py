"""nccl2 mode with ParallelExecutor, as the image examples write it: PADDLE_TRAINER_ENDPOINTS, num_trainers, trainer_id."""
from __future__ import print_function
import json, os, sys
import numpy as np
import paddle
import paddle.fluid as fluid

out = sys.argv[1]
train_prog, startup_prog, test_prog = fluid.Program(), fluid.Program(), fluid.Program()


def build(is_train, main_prog, startup):
    with fluid.program_guard(main_prog, startup):
        py_reader = fluid.layers.py_reader(capacity=16, shapes=[[-1, 1, 8, 8], [-1, 1]], lod_levels=[0, 0],
                                           dtypes=["float32", "int64"], use_double_buffer=True)
        with fluid.unique_name.guard():
            image, label = fluid.layers.read_file(py_reader)
            conv = fluid.layers.conv2d(image, 4, 3, act="relu")
            predict = fluid.layers.fc(conv, 10, act="softmax")
            avg_cost = fluid.layers.mean(fluid.layers.cross_entropy(predict, label))
            acc1 = fluid.layers.accuracy(input=predict, label=label, k=1)
            if is_train:
                fluid.optimizer.Momentum(
                    learning_rate=fluid.layers.piecewise_decay(boundaries=[3, 6], values=[0.1, 0.05, 0.01]), momentum=0.9,
                    regularization=fluid.regularizer.L2Decay(1e-4)).minimize(avg_cost)
    return py_reader, avg_cost, acc1


def dist_env():
    trainer_id = int(os.getenv("PADDLE_TRAINER_ID", 0))
    num_trainers, endpoints = 1, os.getenv("PADDLE_TRAINER_ENDPOINTS", "")
    if endpoints:
        num_trainers = len(endpoints.split(","))
    return {"trainer_id": trainer_id, "num_trainers": num_trainers, "endpoints": endpoints,
            "current": os.getenv("PADDLE_CURRENT_ENDPOINT")}


def pictures(seed):
    def reader():
        rng = np.random.RandomState(seed)
        for _ in range(32):
            yield rng.rand(64).astype("float32"), int(rng.randint(10))
    return reader


env = dist_env()
startup_prog.random_seed = train_prog.random_seed = 1
train_reader, train_cost, train_acc = build(True, train_prog, startup_prog)
test_reader, test_cost, test_acc = build(False, test_prog, startup_prog)
test_prog = test_prog.clone(for_test=True)
if env["num_trainers"] > 1:
    config = fluid.DistributeTranspilerConfig()
    config.mode = "nccl2"
    config.nccl_comm_num = 2
    fluid.DistributeTranspiler(config=config).transpile(
        env["trainer_id"], trainers=env["endpoints"], current_endpoint=env["current"], program=train_prog, startup_program=startup_prog)
place = fluid.CPUPlace()
exe = fluid.Executor(place)
exe.run(startup_prog)
train_reader.decorate_paddle_reader(paddle.batch(pictures(env["trainer_id"]), 8))
test_reader.decorate_paddle_reader(paddle.batch(pictures(7), 8))
strategy = fluid.ExecutionStrategy()
strategy.num_threads = 1
train_exe = fluid.ParallelExecutor(use_cuda=False, loss_name=train_cost.name, main_program=train_prog, exec_strategy=strategy,
                                   num_trainers=env["num_trainers"], trainer_id=env["trainer_id"])
test_exe = fluid.ParallelExecutor(use_cuda=False, main_program=test_prog, share_vars_from=train_exe)
losses = []
for pass_id in range(2):
    train_reader.start()
    try:
        while True:
            loss, acc = train_exe.run(fetch_list=[train_cost.name, train_acc.name])
            losses.append(float(np.mean(np.array(loss))))
    except fluid.core.EOFException:
        train_reader.reset()
    test_reader.start()
    found = []
    try:
        while True:
            found.append(np.mean(np.array(test_exe.run(fetch_list=[test_cost.name])[0])))
    except fluid.core.EOFException:
        test_reader.reset()
    losses.append(float(np.mean(found)))
    if env["trainer_id"] == 0:
        fluid.io.save_persistables(exe, os.path.join(out, str(pass_id)), main_program=train_prog)
params = {p.name: np.array(fluid.global_scope().find_var(p.name).get_tensor()).tolist() for p in train_prog.all_parameters()}
json.dump({"losses": losses, "params": params}, open(os.path.join(out, "trainer-%d.json" % env["trainer_id"]), "w"))

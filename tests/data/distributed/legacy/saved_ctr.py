"""A click model of fleet's parameter servers: files divided by hand, saved after each epoch, read back into one process."""
from __future__ import print_function

import json
import os
import sys

import numpy as np
import paddle.fluid as fluid
import paddle.fluid.incubate.fleet.base.role_maker as role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory

out = sys.argv[1]
space, slots = 131, ["C1", "C2", "C3"]


def write_files(folder):
    os.makedirs(folder)
    for number in range(4):
        rng = np.random.RandomState(number)
        with open(os.path.join(folder, "part-%d" % number), "w") as file:
            for _ in range(40):
                dense = rng.rand(4)
                words = ["4"] + ["%.4f" % x for x in dense]
                for _ in slots:
                    ids = rng.randint(0, space, rng.randint(1, 4))
                    words += [str(len(ids))] + [str(i) for i in ids]
                file.write(" ".join(words + ["1", str(int(dense.sum() > 2))]) + "\n")
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def model():
    inputs = [fluid.layers.data(name="dense_input", shape=[4], dtype="float32")]
    inputs += [fluid.layers.data(name=name, shape=[1], lod_level=1, dtype="int64") for name in slots]
    inputs += [fluid.layers.data(name="label", shape=[1], dtype="int64")]

    def embed(ids):
        attr = fluid.ParamAttr(name="SparseFeatFactors", initializer=fluid.initializer.Uniform(-0.2, 0.2, seed=9))
        return fluid.layers.sequence_pool(
            fluid.layers.embedding(ids, is_sparse=True, size=[space, 6], param_attr=attr), pool_type="sum"
        )

    hidden = fluid.layers.concat([embed(ids) for ids in inputs[1:-1]] + inputs[:1], axis=1)
    for i, width in enumerate((16, 8)):
        attr = fluid.ParamAttr(initializer=fluid.initializer.Normal(scale=0.3, seed=i + 4))
        hidden = fluid.layers.fc(hidden, width, act="relu", param_attr=attr, name="fc%d" % i)
    attr = fluid.ParamAttr(name="fc_out", initializer=fluid.initializer.Normal(scale=0.3, seed=7))
    predict = fluid.layers.fc(hidden, 2, act="softmax", param_attr=attr)
    auc, _, _ = fluid.layers.auc(input=predict, label=inputs[-1], num_thresholds=2**10, slide_steps=20)
    return inputs, predict, auc, fluid.layers.mean(fluid.layers.cross_entropy(predict, inputs[-1]))


def read_back(folder):
    """Return the table and what the saved model predicts."""
    program, startup, exe = fluid.Program(), fluid.Program(), fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.Scope()):
        with fluid.program_guard(program, startup), fluid.unique_name.guard():
            inputs, predict, _, _ = model()
        exe.run(startup)
        fluid.io.load_persistables(exe, folder, main_program=program)
        rng = np.random.RandomState(99)
        rows = [[rng.rand(4).tolist()] + [rng.randint(0, space, 2).tolist() for _ in slots] + [[1]] for _ in range(5)]
        feed = fluid.DataFeeder(inputs, fluid.CPUPlace(), program=program).feed(rows)
        found = exe.run(program.clone(for_test=True), feed=feed, fetch_list=[predict])[0]
        table = np.array(fluid.global_scope().find_var("SparseFeatFactors").get_tensor())
    return table.ravel()[:60].tolist() + found.ravel().tolist()


fleet.init(role_maker.PaddleCloudRoleMaker())
variables, _, auc, loss = model()
optimizer = fleet.distributed_optimizer(fluid.optimizer.Adam(0.01, lazy_mode=True), StrategyFactory.create_sync_strategy())
optimizer.minimize(loss)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
    sys.exit(0)
fleet.init_worker()
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fleet.startup_program)
files = write_files(os.path.join(out, "data-%d" % fleet.worker_index()))
dataset = fluid.DatasetFactory().create_dataset("QueueDataset")
dataset.set_use_var(variables)
dataset.set_pipe_command("cat")
dataset.set_batch_size(8)
dataset.set_thread(1)
dataset.set_filelist(files[fleet.worker_index() :: fleet.worker_num()])
for epoch in range(2):
    exe.train_from_dataset(program=fleet.main_program, dataset=dataset, print_period=10000)
    if fleet.is_first_worker():
        fleet.save_persistables(exe, os.path.join(out, "epoch-%d" % epoch))
names = ["fc0.w_0", "fc0.b_0", "fc1.w_0", "fc_out"]
params = {n: np.array(fluid.global_scope().find_var(n).get_tensor()).ravel()[:16].tolist() for n in names}
fleet.stop_worker()
losses = read_back(os.path.join(out, "epoch-1")) if fleet.is_first_worker() else []
json.dump({"losses": losses, "params": params}, open(os.path.join(out, "trainer-%d.json" % fleet.worker_index()), "w"))

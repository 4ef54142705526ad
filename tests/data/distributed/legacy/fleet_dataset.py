"""A click model that fleet trains from text files: PaddleCloudRoleMaker, QueueDataset, train_from_dataset."""
from __future__ import print_function
import json, os, sys
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.incubate.fleet.base.role_maker as role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.transpiler.distribute_transpiler import DistributeTranspilerConfig

out, kind = sys.argv[1], sys.argv[2]
role = role_maker.PaddleCloudRoleMaker()
fleet.init(role)


def files():
    found = []
    for part in range(4):
        name = os.path.join(out, "part-%d-of-%s" % (part, os.getpid()))
        rng = np.random.RandomState(part)
        with open(name, "w") as f:
            for _ in range(16):
                ids = rng.randint(0, 50, rng.randint(1, 4))
                dense = rng.rand(3)
                f.write("%d %s 3 %s 1 %d\n" % (len(ids), " ".join(map(str, ids)), " ".join("%.4f" % d for d in dense), dense[0] > 0.5))
        found.append(name)
    return found


ids = fluid.layers.data(name="ids", shape=[1], dtype="int64", lod_level=1)
dense = fluid.layers.data(name="dense", shape=[3], dtype="float32")
click = fluid.layers.data(name="click", shape=[1], dtype="int64")
fluid.default_startup_program().random_seed = 5
emb = fluid.layers.embedding(ids, size=[50, 4], is_sparse=True, param_attr=fluid.ParamAttr(name="emb"))
pool = fluid.layers.sequence_pool(emb, "sum")
hidden = fluid.layers.fc(fluid.layers.concat([pool, dense], axis=1), 8, act="relu")
predict = fluid.layers.fc(hidden, 2, act="softmax")
avg_cost = fluid.layers.mean(fluid.layers.cross_entropy(predict, click))
auc, batch_auc, _ = fluid.layers.auc(predict, click)
config = DistributeTranspilerConfig()
config.sync_mode = True
optimizer = fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), config)
optimizer.minimize(avg_cost)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
elif fleet.is_worker():
    fleet.init_worker()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fleet.startup_program)
    dataset = fluid.DatasetFactory().create_dataset(kind)
    dataset.set_use_var([ids, dense, click])
    dataset.set_pipe_command("cat")
    dataset.set_batch_size(8)
    dataset.set_thread(1)
    every = files()
    dataset.set_filelist(every[fleet.worker_index() * 2:][:2])
    for epoch in range(2):
        if kind == "InMemoryDataset":
            dataset.load_into_memory()
        exe.train_from_dataset(program=fleet.main_program, dataset=dataset, fetch_list=[auc, avg_cost], fetch_info=["auc", "cost"], print_period=2, debug=False)
        if fleet.is_first_worker():
            fleet.save_persistables(exe, os.path.join(out, "epoch-%d" % epoch))
    params = {p.name: np.array(fluid.global_scope().find_var(p.name).get_tensor()).tolist() for p in fluid.default_main_program().all_parameters()}
    json.dump({"losses": [], "params": params}, open(os.path.join(out, "trainer-%d.json" % fleet.worker_index()), "w"))
    fleet.stop_worker()

# fleet with UserDefinedRoleMaker, train_from_dataset with a pipe command, hogwild threads = 1
import argparse, json, os, sys
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base.role_maker import UserDefinedRoleMaker, Role
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet

p = argparse.ArgumentParser()
p.add_argument("--role"); p.add_argument("--endpoints"); p.add_argument("--current_endpoint", default=""); p.add_argument("--trainer_id", type=int, default=0)
p.add_argument("--trainers", type=int); p.add_argument("--out")
args = p.parse_args()
ends = args.endpoints.split(",")
me = ends.index(args.current_endpoint) if args.role == "pserver" else args.trainer_id
role = UserDefinedRoleMaker(current_id=me, role=Role.SERVER if args.role == "pserver" else Role.WORKER, worker_num=args.trainers, server_endpoints=ends)
fleet.init(role)
fluid.default_startup_program().random_seed = 9
ids = fluid.layers.data("ids", [1], dtype="int64", lod_level=1)
dense = fluid.layers.data("dense", [3], dtype="float32")
label = fluid.layers.data("label", [1], dtype="int64")
emb = fluid.layers.sequence_pool(fluid.layers.embedding(ids, [25, 5], is_sparse=True), "sum")
out = fluid.layers.fc([emb, dense], 2, act="softmax")
cost = fluid.layers.mean(fluid.layers.cross_entropy(out, label))
config = fluid.DistributeTranspilerConfig()
config.sync_mode = True
config.runtime_split_send_recv = False
opt = fleet.distributed_optimizer(fluid.optimizer.SGD(0.2), config)
opt.minimize(cost)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
    sys.exit(0)
fleet.init_worker()
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fleet.startup_program)
files = []
rng = np.random.RandomState(args.trainer_id)
for n in range(2):
    name = os.path.join(args.out, "part-%d-%d" % (args.trainer_id, n))
    with open(name, "w") as f:
        for _ in range(24):
            k = rng.randint(1, 4)
            f.write("%d %s 3 %s 1 %d\n" % (k, " ".join(map(str, rng.randint(1, 25, k))), " ".join("%.4f" % v for v in rng.rand(3) + 0.1), rng.randint(2)))
    files.append(name)
dataset = fluid.DatasetFactory().create_dataset("QueueDataset")
dataset.set_use_var([ids, dense, label])
dataset.set_pipe_command("cat")
dataset.set_batch_size(8)
dataset.set_thread(1)
dataset.set_filelist(files)
for epoch in range(2):
    exe.train_from_dataset(program=fleet.main_program, dataset=dataset, fetch_list=[cost], fetch_info=["cost"], print_period=3, debug=False)
params = {q.name: np.array(fluid.global_scope().find_var(q.name).get_tensor()).tolist() for q in fleet.main_program.global_block().all_parameters() if "embedding" not in q.name}
json.dump({"losses": [], "params": params}, open(os.path.join(args.out, "trainer-%d.json" % args.trainer_id), "w"))
fleet.stop_worker()

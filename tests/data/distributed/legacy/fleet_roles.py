"""fleet with a role that the script makes itself: argparse, UserDefinedRoleMaker, a DataLoader, three strategies."""
from __future__ import print_function
import argparse, json, os
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory

parser = argparse.ArgumentParser()
parser.add_argument("--role", default="worker")
parser.add_argument("--id", type=int, default=0)
parser.add_argument("--workers", type=int, default=2)
parser.add_argument("--servers", default="127.0.0.1:36011,127.0.0.1:36012")
parser.add_argument("--strategy", default="sync")
parser.add_argument("--steps", default="5,5")
parser.add_argument("--out", default=".")
args = parser.parse_args()
fleet.init(role_maker.UserDefinedRoleMaker(
    current_id=args.id, role=role_maker.Role.SERVER if args.role == "server" else role_maker.Role.WORKER,
    worker_num=args.workers, server_endpoints=args.servers.split(",")))
fluid.default_startup_program().random_seed = 11
x = fluid.data(name="x", shape=[None, 6], dtype="float32")
y = fluid.data(name="y", shape=[None, 1], dtype="float32")
loader = fluid.io.DataLoader.from_generator(feed_list=[x, y], capacity=8, use_double_buffer=True, iterable=False)
hidden = fluid.layers.fc(x, 10, act="tanh")
cost = fluid.layers.reduce_mean(fluid.layers.square_error_cost(fluid.layers.fc(hidden, 1), y))
made = {
    "sync": StrategyFactory.create_sync_strategy, "async": StrategyFactory.create_async_strategy,
    "half": StrategyFactory.create_half_async_strategy, "geo": lambda: StrategyFactory.create_geo_strategy(5),
}[args.strategy]()
lr = fluid.layers.exponential_decay(0.1, 2, 0.9, staircase=True) if args.strategy == "sync" else 0.1
optimizer = fleet.distributed_optimizer(fluid.optimizer.SGD(lr), made)
optimizer.minimize(cost)


def batches():
    rng = np.random.RandomState(args.id)
    for _ in range(int(args.steps.split(",")[args.id])):
        data = rng.rand(8, 6).astype("float32")
        yield data, data.sum(1, keepdims=True)


if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
else:
    exe = fluid.Executor(fluid.CPUPlace())
    fleet.init_worker()
    exe.run(fleet.startup_program)
    loader.set_batch_generator(batches, places=fluid.CPUPlace())
    build = fluid.BuildStrategy()
    build.async_mode = args.strategy != "sync"
    compiled = fluid.compiler.CompiledProgram(fleet.main_program).with_data_parallel(loss_name=cost.name, build_strategy=made.get_build_strategy(), exec_strategy=made.get_execute_strategy())
    losses = []
    for epoch in range(2):
        loader.start()
        try:
            while True:
                losses.append(float(np.mean(exe.run(program=compiled, fetch_list=[cost.name])[0])))
        except fluid.core.EOFException:
            loader.reset()
    if fleet.is_first_worker():
        fleet.save_persistables(exe, os.path.join(args.out, "persistables"))
    params = {p.name: np.array(fluid.global_scope().find_var(p.name).get_tensor()).tolist() for p in fluid.default_main_program().all_parameters()}
    json.dump({"losses": losses, "params": params}, open(os.path.join(args.out, "trainer-%d.json" % args.id), "w"))
    fleet.stop_worker()
    print("worker", args.id, "ended")

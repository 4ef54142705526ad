"""fleet in collective mode, as the classification examples of 1.6 and later: a strategy full of options, DataLoader."""
from __future__ import print_function
import json, os, sys
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.collective import fleet, DistributedStrategy

out = sys.argv[1]
role = role_maker.PaddleCloudRoleMaker(is_collective=True)
fleet.init(role)
trainer_id, trainers = fleet.worker_index(), fleet.worker_num()
exec_strategy = fluid.ExecutionStrategy()
exec_strategy.num_threads = 2
exec_strategy.num_iteration_per_drop_scope = 100
strategy = DistributedStrategy()
strategy.exec_strategy = exec_strategy
strategy.enable_inplace = False
strategy.nccl_comm_num = 1
strategy.fuse_elewise_add_act_ops = True
strategy.fuse_all_reduce_ops = True
strategy.use_hierarchical_allreduce = False
strategy.mode = "nccl2"
strategy.use_local_sgd = False
main, startup = fluid.Program(), fluid.Program()
main.random_seed = startup.random_seed = 2
with fluid.program_guard(main, startup), fluid.unique_name.guard():
    image = fluid.data("image", [None, 12])
    label = fluid.data("label", [None, 1], "int64")
    loader = fluid.io.DataLoader.from_generator([image, label], capacity=4, iterable=True)
    logits = fluid.layers.fc(fluid.layers.fc(image, 16, act="relu"), 3)
    loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label))
    optimizer = fluid.optimizer.Momentum(fluid.layers.cosine_decay(0.1, 3, 2), 0.9, regularization=fluid.regularizer.L2Decay(1e-3))
    optimizer = fleet.distributed_optimizer(optimizer, strategy=strategy)
    optimizer.minimize(loss, startup)
    test_prog = main.clone(for_test=True)
place = fluid.CPUPlace()
exe = fluid.Executor(place)
exe.run(startup)


def samples():
    rng = np.random.RandomState(trainer_id)
    for _ in range(24):
        yield rng.rand(12).astype("float32"), np.array([rng.randint(3)], "int64")


loader.set_sample_generator(samples, batch_size=8, places=place)
losses = []
for epoch in range(2):
    for step, data in enumerate(loader()):
        losses.append(float(np.mean(exe.run(fleet.main_program, feed=data, fetch_list=[loss])[0])))
    if fleet.worker_index() == 0:
        fluid.io.save_persistables(exe, os.path.join(out, "epoch%d" % epoch), main_program=fleet._origin_program)
params = {p.name: np.array(fluid.global_scope().find_var(p.name).get_tensor()).tolist() for p in main.all_parameters()}
json.dump({"losses": losses, "params": params}, open(os.path.join(out, "trainer-%d.json" % trainer_id), "w"))

"""A residual network with a warmed-up cosine rate in collective mode; without PADDLE_* alone, on all trainers' batches."""
from __future__ import print_function

import json
import math
import os
import sys

import numpy as np
import paddle.fluid as fluid
import paddle.fluid.incubate.fleet.base.role_maker as role_maker
from paddle.fluid.incubate.fleet.collective import DistributedStrategy, fleet

out, trainers, rank = sys.argv[1], 2, int(os.getenv("PADDLE_TRAINER_ID", "-1"))


def conv(x, size, name, act="relu"):
    attr = fluid.ParamAttr(name=name + "_weights")
    return fluid.layers.conv2d(x, 6, size, padding=size // 2, act=act, bias_attr=False, param_attr=attr, name=name)


def network():
    image, label = fluid.data("image", [None, 3, 8, 8]), fluid.data("label", [None, 1], "int64")
    stem = conv(image, 3, "conv1")
    body = fluid.layers.elementwise_add(stem, conv(conv(stem, 3, "res2a"), 3, "res2b", None), act="relu")
    pool = fluid.layers.pool2d(body, pool_type="avg", global_pooling=True)
    stdv = 1.0 / math.sqrt(6.0)
    attr = fluid.ParamAttr(initializer=fluid.initializer.Uniform(-stdv, stdv), name="fc_0.w_0")
    scores = fluid.layers.fc(pool, 5, param_attr=attr, bias_attr=fluid.ParamAttr(name="fc_0.b_0"))
    return fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(scores, label))


def cosine_with_warmup(base, steps, warmup):
    with fluid.default_main_program()._lr_schedule_guard():
        step = fluid.layers.learning_rate_scheduler._decay_step_counter()
        rate = fluid.layers.tensor.create_global_var([1], 0.0, "float32", True, name="learning_rate")
        with fluid.layers.control_flow.Switch() as switch:
            with switch.case(step < warmup):
                fluid.layers.tensor.assign(base * (step / warmup), rate)
            with switch.default():
                angle = (step - warmup) * (math.pi / (steps - warmup))
                fluid.layers.tensor.assign(base * fluid.layers.ops.cos(angle) * 0.5 + base * 0.5, rate)
    return rate


def batch(step, number):
    rng = np.random.RandomState(100 * step + number)
    return rng.rand(8, 3, 8, 8).astype("float32"), rng.randint(0, 5, (8, 1)).astype("int64")


main, startup = fluid.default_main_program(), fluid.default_startup_program()
main.random_seed = startup.random_seed = 11
loss = network()
optimizer = fluid.optimizer.Momentum(cosine_with_warmup(0.2, 30.0, 3.0), 0.9, regularization=fluid.regularizer.L2Decay(1e-3))
if rank >= 0:
    fleet.init(role_maker.PaddleCloudRoleMaker(is_collective=True))
    strategy = DistributedStrategy()
    strategy.exec_strategy = fluid.ExecutionStrategy()
    strategy.nccl_comm_num = 1
    optimizer = fleet.distributed_optimizer(optimizer, strategy=strategy)
optimizer.minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(startup)
for step in range(10):
    parts = [batch(step, number) for number in (range(trainers) if rank < 0 else [rank])]
    feed = {"image": np.concatenate([x for x, _ in parts]), "label": np.concatenate([y for _, y in parts])}
    exe.run(fleet.main_program if rank >= 0 else main, feed=feed, fetch_list=[loss.name])
scope = fluid.global_scope()
params = {p.name: np.array(scope.find_var(p.name).get_tensor()).ravel()[:16].tolist() for p in main.all_parameters()}
json.dump({"losses": [], "params": params}, open(os.path.join(out, "trainer-%d.json" % max(rank, 0)), "w"))

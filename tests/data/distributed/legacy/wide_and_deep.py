# deep & wide model over fleet's parameter servers
from __future__ import absolute_import, division, print_function
import json
import os
import sys
import logging
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.incubate.fleet.base.role_maker as role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory

logging.basicConfig(level=logging.INFO, format='%(asctime)s - %(levelname)s - %(message)s')
logger = logging.getLogger(__name__)


class Model(object):
    def __init__(self, slots, dim):
        self.dense = fluid.data(name="dense", shape=[None, 6], dtype="float32")
        self.ids = [fluid.data(name="C%d" % i, shape=[None, 1], dtype="int64") for i in range(slots)]
        self.label = fluid.data(name="label", shape=[None, 1], dtype="float32")
        embs = []
        for i, one in enumerate(self.ids):
            emb = fluid.embedding(one, size=[40, dim], is_sparse=True, param_attr=fluid.ParamAttr(
                name="emb_%d" % i, initializer=fluid.initializer.TruncatedNormal(scale=0.1)))
            embs.append(fluid.layers.reshape(emb, [-1, dim]))
        deep = fluid.layers.concat(embs + [self.dense], axis=1)
        for size in (16, 8):
            deep = fluid.layers.fc(deep, size, act='relu', param_attr=fluid.ParamAttr(initializer=fluid.initializer.Normal(scale=1.0 / np.sqrt(deep.shape[1]))))
        wide = fluid.layers.fc(self.dense, 1, param_attr=fluid.ParamAttr(regularizer=fluid.regularizer.L1Decay(1e-3)))
        logit = fluid.layers.elementwise_add(fluid.layers.fc(deep, 1), wide)
        self.loss = fluid.layers.mean(fluid.layers.sigmoid_cross_entropy_with_logits(logit, self.label))
        self.feeds = [self.dense] + self.ids + [self.label]


def batches(worker):
    rng = np.random.RandomState(worker)
    for _ in range(9):
        feed = {"dense": rng.rand(8, 6).astype("float32")}
        for i in range(3):
            feed["C%d" % i] = rng.randint(0, 40, (8, 1)).astype("int64")
        feed["label"] = (feed["dense"].sum(1, keepdims=True) > 3).astype("float32")
        yield feed


def run(out):
    fluid.default_startup_program().random_seed = 3
    role = role_maker.PaddleCloudRoleMaker()
    fleet.init(role)
    model = Model(3, 4)
    strategy = StrategyFactory.create_sync_strategy()
    optimizer = fleet.distributed_optimizer(fluid.optimizer.Adam(1e-2, lazy_mode=True), strategy)
    optimizer.minimize(model.loss)
    if fleet.is_server():
        logger.info("run as server %d of %d", fleet.server_index(), fleet.server_num())
        fleet.init_server()
        fleet.run_server()
    elif fleet.is_worker():
        fleet.init_worker()
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fleet.startup_program)
        losses = []
        for feed in batches(fleet.worker_index()):
            losses.append(float(exe.run(fleet.main_program, feed=feed, fetch_list=[model.loss])[0]))
        names = [p.name for p in fleet.main_program.global_block().all_parameters() if not p.name.startswith("emb_")]
        params = {n: np.array(fluid.global_scope().find_var(n).get_tensor()).tolist() for n in names}
        with open(os.path.join(out, "trainer-%d.json" % fleet.worker_index()), "w") as f:
            json.dump({"losses": losses, "params": params}, f)
        fleet.stop_worker()


if __name__ == "__main__":
    run(sys.argv[1])

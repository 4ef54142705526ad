"""The high-level Trainer, which becomes a server or a trainer by itself from PADDLE_TRAINING_ROLE and friends."""
from __future__ import print_function
import json, os, sys
import numpy as np
import paddle
import paddle.fluid as fluid
try:
    from paddle.fluid.contrib.trainer import *
    from paddle.fluid.contrib.inferencer import *
except ImportError:
    from paddle.fluid.trainer import *

out = sys.argv[1]


def train_program():
    x = fluid.layers.data(name="x", shape=[4], dtype="float32")
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    fluid.default_startup_program().random_seed = 4
    fluid.default_main_program().random_seed = 4
    predict = fluid.layers.fc(input=x, size=1, act=None, param_attr=fluid.ParamAttr(name="w"))
    return fluid.layers.mean(fluid.layers.square_error_cost(input=predict, label=y))


def optimizer_func():
    return fluid.optimizer.SGD(learning_rate=0.1)


def samples():
    rng = np.random.RandomState(int(os.getenv("PADDLE_TRAINER_ID", "0")))
    for _ in range(40):
        x = rng.rand(4).astype("float32")
        yield x, x.sum(keepdims=True)


losses = []


def event_handler(event):
    if isinstance(event, EndStepEvent):
        losses.append(float(np.mean(event.metrics[0])))


trainer = Trainer(train_func=train_program, place=fluid.CPUPlace(), optimizer_func=optimizer_func)
trainer.train(num_epochs=2, event_handler=event_handler, reader=paddle.batch(samples, 8), feed_order=["x", "y"])
if os.getenv("PADDLE_TRAINER_ID") is not None:
    w = np.array(trainer.scope.find_var("w").get_tensor()).tolist()
    json.dump({"losses": losses, "params": {"w": w}}, open(os.path.join(out, "trainer-%s.json" % os.getenv("PADDLE_TRAINER_ID")), "w"))

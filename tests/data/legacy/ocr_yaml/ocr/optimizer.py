from __future__ import absolute_import, division, print_function
import math
import paddle.fluid as fluid
from paddle.fluid.regularizer import L2Decay
from paddle.fluid.layers.learning_rate_scheduler import _decay_step_counter
import paddle.fluid.layers.ops as ops
from .utility import initial_logger
logger = initial_logger()


def cosine_decay_with_warmup(learning_rate, step_each_epoch, epochs=500, warmup_minibatch=1000):
    global_step = _decay_step_counter()
    lr = fluid.layers.create_global_var(shape=[1], value=0.0, dtype='float32', persistable=True, name="learning_rate")
    warmup_minibatch = fluid.layers.fill_constant(shape=[1], dtype='float32', value=float(warmup_minibatch), force_cpu=True)
    with fluid.layers.control_flow.Switch() as switch:
        with switch.case(global_step < warmup_minibatch):
            decayed_lr = learning_rate * (1.0 * global_step / warmup_minibatch)
            fluid.layers.tensor.assign(input=decayed_lr, output=lr)
        with switch.default():
            decayed_lr = learning_rate * (ops.cos((global_step - warmup_minibatch) * (math.pi / (epochs * step_each_epoch))) + 1) / 2
            fluid.layers.tensor.assign(input=decayed_lr, output=lr)
    return lr


def AdamDecay(params, parameter_list=None):
    base_lr, beta1, beta2 = params['base_lr'], params['beta1'], params['beta2']
    l2_decay = params.get("l2_decay", 0.0)
    if 'decay' in params:
        supported_decay_mode = ["cosine_decay", "cosine_decay_warmup", "piecewise_decay"]
        params = params['decay']
        decay_mode = params['function']
        assert decay_mode in supported_decay_mode, "Supported decay mode is {}, but got {}".format(supported_decay_mode, decay_mode)
        base_lr = cosine_decay_with_warmup(learning_rate=base_lr, step_each_epoch=params['step_each_epoch'], epochs=params['total_epoch'], warmup_minibatch=params['warmup_minibatch'])
    return fluid.optimizer.Adam(learning_rate=base_lr, beta1=beta1, beta2=beta2, regularization=L2Decay(regularization_coeff=l2_decay), parameter_list=parameter_list)

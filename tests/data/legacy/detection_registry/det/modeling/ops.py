import math
import paddle.fluid as fluid
from paddle.fluid.layers.learning_rate_scheduler import _decay_step_counter
from paddle.fluid.framework import default_main_program, Variable
from ..core.workspace import serializable


@serializable
class MultiClassNMS(object):
    __op__ = fluid.layers.multiclass_nms
    __append_doc__ = True

    def __init__(self, score_threshold=.05, nms_top_k=-1, keep_top_k=100, nms_threshold=.5, normalized=False, nms_eta=1.0, background_label=0):
        self.score_threshold, self.nms_top_k, self.keep_top_k, self.nms_threshold, self.normalized, self.nms_eta, self.background_label = score_threshold, nms_top_k, keep_top_k, nms_threshold, normalized, nms_eta, background_label

    def __call__(self, bboxes, scores):
        return fluid.layers.multiclass_nms(bboxes=bboxes, scores=scores, **self.__dict__)


@serializable
class PiecewiseDecay(object):
    def __init__(self, gamma=[0.1, 0.01], milestones=[60000, 80000], values=None):
        super(PiecewiseDecay, self).__init__()
        self.gamma = gamma if type(gamma) is list else [gamma / 10 ** i for i in range(len(milestones))]
        self.milestones, self.values = milestones, values

    def __call__(self, base_lr=None, learning_rate=None):
        values = self.values or [base_lr] + [base_lr * g for g in self.gamma]
        return fluid.layers.piecewise_decay(self.milestones, values)


@serializable
class LinearWarmup(object):
    def __init__(self, steps=500, start_factor=1. / 3):
        self.steps, self.start_factor = steps, start_factor

    def __call__(self, base_lr, learning_rate):
        return fluid.layers.linear_lr_warmup(learning_rate=learning_rate, warmup_steps=self.steps, start_lr=base_lr * self.start_factor, end_lr=base_lr)

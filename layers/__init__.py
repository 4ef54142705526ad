"""What a user writes: functions that append ops to the default program.

The folders that begin with an underscore hold the layers by theme; the modules beside them carry Fluid's names.
The table of `fluidio.names` lists what `from fluidio.layers import *` imports.
"""

import sys as _sys

from fluidio.layers import _checks
from fluidio.layers import collective as collective
from fluidio.layers import control_flow as control_flow
from fluidio.layers import detection as detection
from fluidio.layers import device as device
from fluidio.layers import distributions as distributions
from fluidio.layers import io as io
from fluidio.layers import learning_rate_scheduler as learning_rate_scheduler
from fluidio.layers import loss as loss
from fluidio.layers import nn as nn
from fluidio.layers import ops as ops
from fluidio.layers import sequence_lod as sequence_lod
from fluidio.layers import tensor as tensor
from fluidio.layers import utils as utils
from fluidio.layers._control.branches import *
from fluidio.layers._control.callbacks import *
from fluidio.layers._control.if_else import *
from fluidio.layers._control.loops import *
from fluidio.layers._control.tensor_array import *
from fluidio.layers._create.tensors import *
from fluidio.layers._loss.crf import *
from fluidio.layers._loss.losses import *
from fluidio.layers._loss.sampled_loss import *
from fluidio.layers._loss.sampled_softmax import *
from fluidio.layers._math.activation import *
from fluidio.layers._math.dense import *
from fluidio.layers._math.elementwise import *
from fluidio.layers._math.products import *
from fluidio.layers._math.reductions import *
from fluidio.layers._metric.classification import *
from fluidio.layers._norm.inplace_abn import *
from fluidio.layers._norm.normalize import *
from fluidio.layers._random.draws import *
from fluidio.layers._random.integers import *
from fluidio.layers._rnn.beam import *
from fluidio.layers._rnn.cells import *
from fluidio.layers._rnn.decode import *
from fluidio.layers._rnn.decode_helpers import *
from fluidio.layers._rnn.dynamic_rnn import *
from fluidio.layers._rnn.recurrent import *
from fluidio.layers._rnn.static_rnn import *
from fluidio.layers._sequence.sequences import *
from fluidio.layers._shape.lookup import *
from fluidio.layers._shape.manipulate import *
from fluidio.layers._shape.padding import *
from fluidio.layers._shape.pieces import *
from fluidio.layers._shape.selected_rows import *
from fluidio.layers._vision.conv import *
from fluidio.layers._vision.detection import *
from fluidio.layers._vision.image import *
from fluidio.layers._vision.pool import *
from fluidio.layers._vision.regions import *
from fluidio.layers._vision.roi import *
from fluidio.layers._vision.ssd import *
from fluidio.layers._vision.two_stage import *
from fluidio.layers._vision.yolo import *
from fluidio.layers.device import *
from fluidio.layers.distributions import *
from fluidio.layers.io import *
from fluidio.layers.learning_rate_scheduler import *
from fluidio.layers.learning_rate_scheduler import _decay_step_counter as _decay_step_counter
from fluidio.layers.utils import map_structure as map_structure

_checks.add_checks([_sys.modules[__name__], control_flow, detection, io, loss, nn, ops, sequence_lod, tensor])

"""`fluid.layers.nn`: the layers of networks, which live in packages by theme."""

import typing as _typing

from fluidio.errors import not_here as _not_here
from fluidio.layers._control.branches import *
from fluidio.layers._control.callbacks import *
from fluidio.layers._control.if_else import *
from fluidio.layers._control.loops import *
from fluidio.layers._control.tensor_array import *
from fluidio.layers._create.tensors import *
from fluidio.layers._loss.crf import *
from fluidio.layers._loss.losses import *
from fluidio.layers._loss.sampled_loss import *
from fluidio.layers._math.activation import *
from fluidio.layers._math.dense import *
from fluidio.layers._math.elementwise import *
from fluidio.layers._math.products import *
from fluidio.layers._math.reductions import *
from fluidio.layers._metric.classification import *
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
from fluidio.layers._shape.pieces import *
from fluidio.layers._vision.conv import *
from fluidio.layers._vision.detection import *
from fluidio.layers._vision.image import *
from fluidio.layers._vision.pool import *
from fluidio.layers._vision.roi import *
from fluidio.layers._vision.ssd import *
from fluidio.layers._vision.yolo import *
from fluidio.layers.missing import INSTEAD as _INSTEAD

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any:
        """Say what to use for a name that is not here."""
        raise _not_here("fluid.layers.nn", name, globals(), _INSTEAD)

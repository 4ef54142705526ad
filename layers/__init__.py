"""What a user writes: functions that append ops to the default program."""

from fluidio.layers import io, loss, metric, nn, ops, recurrent, sequence_lod, tensor
from fluidio.layers.io import *
from fluidio.layers.loss import *
from fluidio.layers.metric import *
from fluidio.layers.nn import *
from fluidio.layers.ops import *
from fluidio.layers.recurrent import *
from fluidio.layers.sequence_lod import *
from fluidio.layers.tensor import *

__all__ = ["io", "loss", "metric", "nn", "ops", "recurrent", "sequence_lod", "tensor"]
__all__ += io.__all__
__all__ += loss.__all__
__all__ += metric.__all__
__all__ += nn.__all__
__all__ += ops.__all__
__all__ += recurrent.__all__
__all__ += sequence_lod.__all__
__all__ += tensor.__all__

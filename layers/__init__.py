"""What a user writes: functions that append ops to the default program."""

import typing as _typing

from fluidio.errors import not_here as _not_here
from fluidio.layers import (
    activation,
    beam,
    branches,
    cells,
    collective,
    control_flow,
    conv,
    crf,
    decode,
    decode_helpers,
    dense,
    detection,
    device,
    distributions,
    dynamic_rnn,
    if_else,
    image,
    io,
    learning_rate_scheduler,
    lookup,
    loss,
    manipulate,
    metric,
    nn,
    norm,
    ops,
    pool,
    random,
    recurrent,
    reductions,
    roi,
    sampled_loss,
    sequence_lod,
    ssd,
    static_rnn,
    tensor,
    tensor_array,
    user,
    utils,
    yolo,
)
from fluidio.layers.activation import *
from fluidio.layers.beam import *
from fluidio.layers.branches import *
from fluidio.layers.cells import *
from fluidio.layers.control_flow import *
from fluidio.layers.conv import *
from fluidio.layers.crf import *
from fluidio.layers.decode import *
from fluidio.layers.decode_helpers import *
from fluidio.layers.dense import *
from fluidio.layers.detection import *
from fluidio.layers.device import *
from fluidio.layers.distributions import *
from fluidio.layers.dynamic_rnn import *
from fluidio.layers.if_else import *
from fluidio.layers.image import *
from fluidio.layers.io import *
from fluidio.layers.learning_rate_scheduler import *
from fluidio.layers.learning_rate_scheduler import _decay_step_counter as _decay_step_counter
from fluidio.layers.lookup import *
from fluidio.layers.loss import *
from fluidio.layers.manipulate import *
from fluidio.layers.metric import *
from fluidio.layers.missing import INSTEAD as _INSTEAD
from fluidio.layers.norm import *
from fluidio.layers.ops import *
from fluidio.layers.pool import *
from fluidio.layers.random import *
from fluidio.layers.recurrent import *
from fluidio.layers.reductions import *
from fluidio.layers.roi import *
from fluidio.layers.sampled_loss import *
from fluidio.layers.sequence_lod import *
from fluidio.layers.ssd import *
from fluidio.layers.static_rnn import *
from fluidio.layers.tensor import *
from fluidio.layers.tensor_array import *
from fluidio.layers.user import *
from fluidio.layers.utils import map_structure
from fluidio.layers.yolo import *

__all__ = [
    "beam",
    "branches",
    "cells",
    "collective",
    "control_flow",
    "crf",
    "decode",
    "decode_helpers",
    "device",
    "distributions",
    "dynamic_rnn",
    "if_else",
    "io",
    "learning_rate_scheduler",
    "loss",
    "map_structure",
    "metric",
    "nn",
    "ops",
    "recurrent",
    "sampled_loss",
    "sequence_lod",
    "static_rnn",
    "tensor",
    "tensor_array",
    "utils",
]
__all__ += activation.__all__
__all__ += beam.__all__
__all__ += branches.__all__
__all__ += cells.__all__
__all__ += control_flow.__all__
__all__ += conv.__all__
__all__ += crf.__all__
__all__ += decode.__all__
__all__ += decode_helpers.__all__
__all__ += dense.__all__
__all__ += detection.__all__
__all__ += device.__all__
__all__ += distributions.__all__
__all__ += dynamic_rnn.__all__
__all__ += if_else.__all__
__all__ += image.__all__
__all__ += io.__all__
__all__ += learning_rate_scheduler.__all__
__all__ += lookup.__all__
__all__ += loss.__all__
__all__ += manipulate.__all__
__all__ += metric.__all__
__all__ += norm.__all__
__all__ += ops.__all__
__all__ += pool.__all__
__all__ += random.__all__
__all__ += recurrent.__all__
__all__ += reductions.__all__
__all__ += sampled_loss.__all__
__all__ += sequence_lod.__all__
__all__ += roi.__all__
__all__ += ssd.__all__
__all__ += static_rnn.__all__
__all__ += tensor.__all__
__all__ += tensor_array.__all__
__all__ += user.__all__
__all__ += yolo.__all__

if not _typing.TYPE_CHECKING:  # a checker would take every misspelt layer for one that may be there

    def __getattr__(name: str) -> _typing.Any:
        """Say what to use for a name that is not here."""
        raise _not_here("fluid.layers", name, globals(), _INSTEAD)

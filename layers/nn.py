"""`fluid.layers.nn`: the layers of networks, which live in modules by theme."""

import typing as _typing

from fluidio.errors import not_here as _not_here
from fluidio.layers.activation import *
from fluidio.layers.beam import *
from fluidio.layers.conv import *
from fluidio.layers.crf import *
from fluidio.layers.dense import *
from fluidio.layers.image import *
from fluidio.layers.lookup import *
from fluidio.layers.manipulate import *
from fluidio.layers.missing import INSTEAD as _INSTEAD
from fluidio.layers.norm import *
from fluidio.layers.ops import *
from fluidio.layers.pool import *
from fluidio.layers.random import *
from fluidio.layers.recurrent import *
from fluidio.layers.reductions import *
from fluidio.layers.sampled_loss import *
from fluidio.layers.sequence_lod import *
from fluidio.layers.user import *

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any:
        """Say what to use for a name that is not here."""
        raise _not_here("fluid.layers.nn", name, globals(), _INSTEAD)

"""`fluid.layers.tensor`: making tensors."""

import typing as _typing

from fluidio.errors import not_here as _not_here
from fluidio.layers._control.tensor_array import *
from fluidio.layers._create.tensors import *
from fluidio.layers._math.reductions import *
from fluidio.layers.missing import INSTEAD as _INSTEAD

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any:
        """Say what to use for a name that is not here."""
        raise _not_here("fluid.layers.tensor", name, globals(), _INSTEAD)

"""`fluid.layers.sequence_lod`: layers on sequences."""

import typing as _typing

from fluidio.errors import not_here as _not_here
from fluidio.layers._sequence.sequences import *
from fluidio.layers.missing import INSTEAD as _INSTEAD

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any:
        """Say what to use for a name that is not here."""
        raise _not_here("fluid.layers.sequence_lod", name, globals(), _INSTEAD)

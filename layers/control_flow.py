"""`fluid.layers.control_flow`: loops and branches."""

import typing as _typing

from fluidio.errors import not_here as _not_here
from fluidio.layers._control.branches import *
from fluidio.layers._control.callbacks import *
from fluidio.layers._control.if_else import *
from fluidio.layers._control.loops import *
from fluidio.layers._control.tensor_array import *
from fluidio.layers._math.elementwise import *
from fluidio.layers._rnn.dynamic_rnn import *
from fluidio.layers._rnn.static_rnn import *
from fluidio.layers.missing import INSTEAD as _INSTEAD

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any:
        """Say what to use for a name that is not here."""
        raise _not_here("fluid.layers.control_flow", name, globals(), _INSTEAD)

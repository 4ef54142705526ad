"""`fluid.layers.control_flow`: loops and branches."""

from fluidio.layers._control.branches import *
from fluidio.layers._control.branches import ConditionalBlock as ConditionalBlock
from fluidio.layers._control.branches import copy_var_to_parent_block as copy_var_to_parent_block
from fluidio.layers._control.callbacks import *
from fluidio.layers._control.if_else import *
from fluidio.layers._control.loops import *
from fluidio.layers._control.loops import BlockGuard as BlockGuard
from fluidio.layers._control.tensor_array import *
from fluidio.layers._math.elementwise import *
from fluidio.layers._rnn.dynamic_rnn import *
from fluidio.layers._rnn.static_rnn import *

"""`fluid.layers.ops`: activations and elementwise maths."""

from fluidio.layers._math.activation import *
from fluidio.layers._math.elementwise import *
from fluidio.layers._math.reductions import *
from fluidio.layers._random.draws import *

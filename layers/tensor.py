"""`fluid.layers.tensor`: making tensors."""

from fluidio.layers._control.tensor_array import *
from fluidio.layers._create.tensors import *
from fluidio.layers._math.reductions import *

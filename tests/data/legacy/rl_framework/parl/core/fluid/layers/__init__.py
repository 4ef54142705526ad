from paddle.fluid.layers import *
from parl.core.fluid.layers.layer_wrappers import *

"""`fluid.layers.nn`: the layers of networks, which live in modules by theme; those of `ops` are seen here too."""

from fluidio.layers import activation, conv, image, lookup, manipulate, norm, pool, random, reductions, user
from fluidio.layers.activation import *
from fluidio.layers.conv import *
from fluidio.layers.dense import *
from fluidio.layers.image import *
from fluidio.layers.lookup import *
from fluidio.layers.manipulate import *
from fluidio.layers.norm import *
from fluidio.layers.ops import *
from fluidio.layers.pool import *
from fluidio.layers.random import *
from fluidio.layers.reductions import *
from fluidio.layers.user import *

__all__ = ["bilinear_tensor_product", "bmm", "fc", "matmul", "mean", "mul", "scale", "softmax", "topk"]
__all__ += activation.__all__
__all__ += conv.__all__
__all__ += image.__all__
__all__ += lookup.__all__
__all__ += manipulate.__all__
__all__ += norm.__all__
__all__ += pool.__all__
__all__ += random.__all__
__all__ += reductions.__all__
__all__ += user.__all__

"""`fluid.layers.nn`: the layers of networks, which live in modules by theme."""

from fluidio.layers.activation import *
from fluidio.layers.beam import *
from fluidio.layers.conv import *
from fluidio.layers.crf import *
from fluidio.layers.dense import *
from fluidio.layers.image import *
from fluidio.layers.lookup import *
from fluidio.layers.manipulate import *
from fluidio.layers.norm import *
from fluidio.layers.ops import *
from fluidio.layers.pool import *
from fluidio.layers.random import *
from fluidio.layers.recurrent import *
from fluidio.layers.reductions import *
from fluidio.layers.sampled_loss import *
from fluidio.layers.sequence_lod import *
from fluidio.layers.user import *

"""`fluid.layers.loss`: losses."""

from fluidio.layers._loss.crf import *
from fluidio.layers._loss.losses import *
from fluidio.layers._loss.sampled_loss import *
from fluidio.layers._loss.sampled_softmax import *

kIgnoreIndex = -100

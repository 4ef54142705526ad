"""`fluid.layers.detection`: the layers of detectors."""

from fluidio.layers._vision.detection import *
from fluidio.layers._vision.roi import *
from fluidio.layers._vision.ssd import *
from fluidio.layers._vision.yolo import *

"""`fluid.layers.detection`: the layers of detectors."""

from fluidio.layers._vision.detection import *
from fluidio.layers._vision.regions import *
from fluidio.layers._vision.roi import *
from fluidio.layers._vision.ssd import *
from fluidio.layers._vision.two_stage import *
from fluidio.layers._vision.yolo import *

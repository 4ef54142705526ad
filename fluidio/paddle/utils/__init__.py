"""`paddle.utils`: curves and image helpers of old demos."""

from fluidio.paddle.utils import image_util, plot
from fluidio.paddle.utils.plot import Ploter

__all__ = ["Ploter", "image_util", "plot"]

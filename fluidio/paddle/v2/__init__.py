"""`paddle.v2`: the data-set, reader and plot names that Fluid scripts of 2017-2018 still imported from there."""

from fluidio import reader
from fluidio.paddle.v2 import plot
from fluidio.paddle.v2.setup import init
from fluidio.reader import batch

__all__ = ["batch", "init", "plot", "reader"]

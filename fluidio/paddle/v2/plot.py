"""`paddle.v2.plot`."""

from fluidio.paddle.utils.plot import PlotData, Ploter

__all__ = ["PlotData", "Ploter"]

"""The one place that holds fluidio's own version and the Fluid version it answers to."""

__version__ = "1.0.0rc1"
FLUID_VERSION = "1.8.5"  # what `paddle.__version__` says to legacy scripts

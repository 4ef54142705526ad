"""The one place for fluidio's own version and the version of Fluid that it reports to scripts."""

__version__ = "1.0.0rc1"
FLUID_VERSION = "1.8.5"  # `paddle.__version__` in legacy scripts

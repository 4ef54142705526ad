"""`fluid.contrib.slim`: the Compressor trains and evaluates; nothing here shrinks a network."""

from fluidio.contrib.slim.compressor import Compressor

__all__ = ["Compressor"]

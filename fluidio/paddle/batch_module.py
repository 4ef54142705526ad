"""`paddle.batch` is a function and, to a few scripts, a module that holds it."""

from fluidio.reader import batch

__all__ = ["batch"]

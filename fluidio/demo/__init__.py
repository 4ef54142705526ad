"""The data of `fluidio demo`: real handwritten digits that come with the package."""

from fluidio.demo.data import load_digits, split_digits

__all__ = ["load_digits", "split_digits"]

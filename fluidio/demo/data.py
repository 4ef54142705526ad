"""1,797 real handwritten digits, so that a first program needs no download.

"Optical Recognition of Handwritten Digits", E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, 1998,
https://doi.org/10.24432/C50P49, licensed CC BY 4.0 (see README.md beside this file).
"""

from __future__ import annotations

import importlib.resources

import numpy as np
import numpy.typing as npt

__all__ = ["Digits", "load_digits", "split_digits"]

Digits = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]
_DARKEST = 16


def load_digits() -> Digits:
    """Return images (1797, 64) as float32 in 0..1, row by row of 8 x 8 pixels, and labels (1797,) as int64."""
    with importlib.resources.files("fluidio.demo").joinpath("digits.npz").open("rb") as file, np.load(file) as arrays:
        return arrays["images"].astype(np.float32) / _DARKEST, arrays["labels"].astype(np.int64)


def split_digits() -> tuple[Digits, Digits]:
    """Return 1,198 digits to train on and 599 held out: every third one, whatever the version of NumPy."""
    images, labels = load_digits()
    held_out = np.arange(len(labels)) % 3 == 2
    return (images[~held_out], labels[~held_out]), (images[held_out], labels[held_out])

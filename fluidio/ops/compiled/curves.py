"""Activations and their gradients in C: float32 only, in one pass over memory that threads share.

`NUMBERS` has the functions by name, those of gradients end in _grad; it is empty if nothing could be compiled. NumPy
then gives the same to rounding. Losses are functions of a difference, or of X and its label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.ops.threads import thread_count
from fluidio.tensor.array import Array

compiled: Any
NUMBERS: dict[str, int]
try:
    from fluidio.ops.compiled import _curves as compiled

    compiled.instructions(512)
    NUMBERS = {name: number for number, name in enumerate(compiled.NAMES)}
except ImportError:
    compiled = None
    NUMBERS = {}

__all__ = ["ATTRS", "NUMBERS", "curve", "fits", "loss"]

ATTRS: dict[str, tuple[str, ...]] = {
    "brelu": ("t_min", "t_max"),
    "elu": ("alpha",),
    "gelu": ("approximate",),
    "hard_shrink": ("threshold",),
    "hard_sigmoid": ("slope", "offset"),
    "hard_swish": ("threshold", "scale", "offset"),
    "leaky_relu": ("alpha",),
    "relu6": ("threshold",),
    "selu": ("scale", "alpha"),
    "soft_relu": ("threshold",),
    "softshrink": ("lambda",),
    "swish": ("beta",),
    "thresholded_relu": ("threshold",),
}
"""The attributes that functions and their gradients take, in order."""
_SINGLE = np.dtype("float32")
_WORTH_A_THREAD = 1 << 14
"""Elements below which another thread costs more than it saves."""


def fits(x: Any, d: Any = None) -> bool:
    """Return whether `curve` accepts an array, or two of the same shape."""
    if compiled is None or type(x) is not np.ndarray or x.dtype != _SINGLE or not x.flags.c_contiguous:
        return False
    return d is None or (type(d) is np.ndarray and d.dtype == _SINGLE and d.shape == x.shape and d.flags.c_contiguous)


def loss(name: str, x: Array, other: Array | None, attrs: Sequence[float]) -> Array | None:
    """Return a function by its name if C has it and accepts the arrays, else None."""
    number = NUMBERS.get(name)
    return None if number is None or not fits(x, other) else curve(number, x, other, attrs)


def curve(number: int, x: Array, d: Array | None, attrs: Sequence[float], out: Array | None = None) -> Array:
    """Return a function of each element of X, or of X and D, with up to three attributes; `out` may be X or D."""
    result = np.empty_like(x) if out is None else out
    a, b, c = (*attrs, 0.0, 0.0, 0.0)[:3]
    threads = thread_count() if x.size >= 2 * _WORTH_A_THREAD else 1
    compiled.curve(number, x, d, result, a, b, c, _WORTH_A_THREAD, threads)
    return result

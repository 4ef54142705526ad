"""Sums, differences and products of elements, ReLU, dropout, sums of rows in C: float32 only, bit for bit like NumPy.

NumPy on several threads needs the interpreter lock for each block; handing it over takes longer than many blocks.
`compiled` is None if it could not be built.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.threads import thread_count
from fluidio.tensor.array import Array

compiled: Any
try:
    from fluidio.ops.compiled import _elements as compiled

    compiled.instructions(512)
except ImportError:
    compiled = None

__all__ = ["LARGE", "add_rows", "combine", "combine_planes", "fits", "keep", "kind_of", "relu"]

LARGE = 1 << 15
"""Elements below which NumPy is as fast."""
_KINDS: dict[Any, int] = {np.add: 0, np.subtract: 1, np.multiply: 2}
_RELU = 3
_SINGLE = np.dtype("float32")
_WORTH_A_THREAD = 1 << 15
"""Elements below which another thread costs more than it saves."""
_COLUMNS = 256
"""Columns that a thread adds up at least: with fewer, it would skip through memory."""


def kind_of(function: object) -> int | None:
    """Return the number of a function of NumPy for `combine`."""
    return None if compiled is None else _KINDS.get(function)


def fits(*arrays: Any) -> bool:
    """Return whether the functions here accept these arrays."""
    if compiled is None:
        return False
    for a in arrays:  # noqa: SIM110  (a generator would take longer than the checks)
        if type(a) is not np.ndarray or a.dtype != _SINGLE or not a.flags.c_contiguous:
            return False
    return True


def _threads(elements: int) -> int:
    return thread_count() if elements >= 2 * _WORTH_A_THREAD else 1


def combine(kind: int, x: Array, y: Array, out: Array) -> Array:
    """Set `out`, which may be X, to what a function makes of X and Y; Y is like X, or one of its last rows."""
    alike = x.size == y.size
    least = _WORTH_A_THREAD if alike else -(-_WORTH_A_THREAD // y.size)
    compiled.combine(kind, x, y, out, y.size, least, _threads(x.size))
    return out


def combine_planes(kind: int, x: Array, y: Array, out: Array, size: int) -> Array:
    """Do the same where Y has a number for each plane of X, of `size` elements; its numbers take turns."""
    compiled.combine_planes(kind, x, y, out, size, -(-_WORTH_A_THREAD // size), _threads(x.size))
    return out


def relu(x: Array, out: Array) -> Array:
    """Set `out`, which may be X, to X where that is above zero, else to zero."""
    compiled.combine(_RELU, x, None, out, 1, _WORTH_A_THREAD, _threads(x.size))
    return out


def keep(x: Array, mask: Array, divisor: np.float32 | None = None, first: bool = False) -> Array:
    """Return X times a mask of bytes, divided by a number afterwards, or first."""
    out = np.empty_like(x)
    way = 0 if divisor is None else 1 if first else 2
    compiled.keep(way, x, mask, out, divisor or 1.0, _WORTH_A_THREAD, _threads(x.size))
    return out


def add_rows(rows: Array) -> Array:
    """Return the sum of rows, added one after another."""
    out = np.empty(rows.shape[1], np.float32)
    least = max(_COLUMNS, -(-_WORTH_A_THREAD // len(rows)))
    compiled.add_rows(rows, out, len(rows), least, _threads(rows.size))
    return out

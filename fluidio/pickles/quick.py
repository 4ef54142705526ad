"""The usual pickles (arrays of numbers, numbers, text, plain containers) without going through stand-ins.

`_arrays.c` gives the same results as the stand-ins, and gives up on all other pickles. Without it nothing is quicker.
"""

from __future__ import annotations

from typing import Any

import numpy as np

compiled: Any
try:
    from fluidio.pickles import _arrays as compiled
except ImportError:
    compiled = None

__all__ = ["compiled", "read"]

_CODES = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
_DTYPES = {
    (code, order): (np.dtype(order + code), np.dtype(code).itemsize, np.dtype(order + code).isnative)
    for code in _CODES
    for order in ("|" if code.endswith("1") else "<>")
}
"""What picklers write: the code of a dtype and its byte order."""

_CONSTANTS = (0, "C", "F", "copy", "K")


def read(data: bytes) -> tuple[Any] | None:
    """Return the value of a pickle that was scanned, in a tuple; None if it is an unusual one."""
    return None if compiled is None else compiled.read(data, _DTYPES, np.ndarray, _CONSTANTS)

"""Copy arrays whose dims were put in another order, in tiles that stay in the cache.

NumPy skips through memory, which takes ten times as long where rows are a power of two apart. `compiled` is None if it
could not be built; NumPy gives the same.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from fluidio.ops.threads import thread_count
from fluidio.tensor.array import Array, ArrayLibrary

compiled: Any
try:
    from fluidio.ops.compiled import _turn as compiled
except ImportError:
    compiled = None

__all__ = ["row_by_row"]

_LARGE = 1 << 14
"""Elements below which all of them are in the cache anyway."""
_WORTH_A_THREAD = 1 << 16
"""Elements below which another thread costs more than it saves."""


def row_by_row(xp: ArrayLibrary | ModuleType, x: Array) -> Array:
    """Return an array itself if it is stored row by row, else a copy that is."""
    if type(x) is not np.ndarray or x.flags.c_contiguous or x.size < _LARGE or compiled is None:
        return xp.ascontiguousarray(x)
    if x.dtype.kind not in "fiu" or x.dtype.itemsize not in (4, 8) or not x.dtype.isnative:
        return xp.ascontiguousarray(x)
    out = np.empty(x.shape, x.dtype)
    threads = thread_count() if x.size >= 2 * _WORTH_A_THREAD else 1
    if not compiled.copy(x, out, threads):
        out[...] = x
    return out

"""Products of float32 matrices in C, in as many threads as kernels may use; their bits do not depend on the number.

NumPy's BLAS takes small ones, other dtypes, and all of them where `compiled` is None: it could not be built, or the
processor has no wide vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fluidio.ops.threads import share
from fluidio.tensor.array import Array

compiled: Any
try:
    from fluidio.ops.compiled import _products as compiled

    if compiled.instructions(512) < 256:
        compiled = None
except ImportError:
    compiled = None

__all__ = ["compiled", "product", "products"]

_NARROW = 16
"""Rows and columns below which the BLAS is faster."""
_SMALL = 1 << 18
"""Multiplications up to which the BLAS is faster."""
_WORTH_A_THREAD = 1 << 21
"""Multiplications below which another thread costs more than it saves."""
_UNIT = 48
"""Rows or columns that stay together: a multiple of the height of every tile and of most of their widths."""


def product(a: Any, b: Any) -> Any:
    """Return the product of two matrices."""
    if not _fits(a, b, 2):
        return a @ b
    out = np.empty((a.shape[0], b.shape[1]), np.float32)
    work, longer = a.size * b.shape[1], max(out.shape)
    units, least = -(-longer // _UNIT), -(-_WORTH_A_THREAD * longer // (work * _UNIT))
    part = _filling(a, b, out)
    if longer == len(out):
        share(units, least, lambda begin, end: part(begin * _UNIT, end * _UNIT, 0, longer))
    else:
        share(units, least, lambda begin, end: part(0, longer, begin * _UNIT, end * _UNIT))
    return out


def products(a: Any, b: Any) -> Any:
    """Return the products of two batches [N, rows, columns] of matrices."""
    if not _fits(a, b, 3) or len(a) != len(b):
        return np.matmul(a, b)
    out = np.empty((*a.shape[:2], b.shape[2]), np.float32)

    def part(begin: int, end: int) -> None:
        for i in range(begin, end):
            _filling(a[i], b[i], out[i])(0, a.shape[1], 0, b.shape[2])

    share(len(a), -(-_WORTH_A_THREAD // (a[0].size * b.shape[2])), part)
    return out


def _fits(a: Any, b: Any, ndim: int) -> bool:
    """Return whether the C takes both sides, and is worth it."""
    if compiled is None or type(a) is not np.ndarray or type(b) is not np.ndarray or not a.ndim == b.ndim == ndim:
        return False
    rows, depth, columns = *a.shape[-2:], b.shape[-1]
    return (
        rows * depth * columns > _SMALL
        and rows >= _NARROW
        and columns >= _NARROW
        and b.shape[-2] == depth
        and a.dtype == b.dtype == np.float32
        and len(a) > 0
    )


def _filling(a: Array, b: Array, out: Array) -> Callable[[int, int, int, int], None]:
    """Return what computes the rows and columns (from, to) of a product."""
    sizes = (*a.shape, b.shape[1])
    (one, a_turned), (two, b_turned) = _in_memory(a), _in_memory(b)

    def part(top: int, bottom: int, left: int, right: int) -> None:
        compiled.multiply(one, two, out, sizes, (a_turned, b_turned), (top, bottom), (left, right))

    return part


def _in_memory(array: Array) -> tuple[Array, bool]:
    """Return a matrix row by row in memory, and whether it is turned."""
    if array.T.flags.c_contiguous and not array.flags.c_contiguous:
        return array.T, True
    return np.ascontiguousarray(array), False

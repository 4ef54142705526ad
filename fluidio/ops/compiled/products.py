"""Products of float32 matrices in C, on all threads that kernels may use; their number does not change a bit.

NumPy's BLAS computes small ones, other dtypes, and all of them where `compiled` is None because it could not be built
or the processor has no wide vectors. Convolutions with 1 x 1 kernels are products, too: images [N, channels, places]
count as one matrix whose columns are all places of all images.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.threads import share, thread_count
from fluidio.tensor.array import Array

compiled: Any
try:
    from fluidio.ops.compiled import _products as compiled

    if compiled.instructions(512) < 256:
        compiled = None
except ImportError:
    compiled = None

__all__ = ["compiled", "multiply", "product", "products"]

_NARROW = 16
"""Rows and columns below which the BLAS is faster."""
_SMALL = 1 << 18
"""Multiplications up to which the BLAS is faster."""
_WORTH_A_THREAD = 1 << 21
"""Multiplications below which another thread costs more than it saves."""


def multiply(
    a: Array,
    b: Array,
    out: Array,
    sizes: tuple[int, int, int],
    turned: tuple[bool, bool] = (False, False),
    images: tuple[int, int, int] = (1, 1, 1),
) -> Array:
    """Compute a product of (rows, depth, columns); a turned side is stored as its transpose.

    `images` is the number of images in each of the three arrays (in turned ones, as stored).
    """
    compiled.multiply(a, b, out, sizes, turned, images, _WORTH_A_THREAD, thread_count())
    return out


def product(a: Any, b: Any) -> Any:
    """Return the product of two matrices."""
    if a.size * b.shape[-1] <= _SMALL or not _fits(a, b, 2):
        return a @ b
    (one, a_turned), (two, b_turned) = _in_memory(a), _in_memory(b)
    out = np.empty((a.shape[0], b.shape[1]), np.float32)
    return multiply(one, two, out, (*a.shape, b.shape[1]), (a_turned, b_turned))


def products(a: Any, b: Any) -> Any:
    """Return the products of two batches [N, rows, columns] of matrices."""
    if not _fits(a, b, 3) or len(a) != len(b):
        return np.matmul(a, b)
    out = np.empty((*a.shape[:2], b.shape[2]), np.float32)

    sizes = (*a.shape[1:], b.shape[2])

    def part(begin: int, end: int) -> None:
        for i in range(begin, end):
            (one, a_turned), (two, b_turned) = _in_memory(a[i]), _in_memory(b[i])
            compiled.multiply(one, two, out[i], sizes, (a_turned, b_turned), (1, 1, 1), 0, 1)

    share(len(a), -(-_WORTH_A_THREAD // (a[0].size * b.shape[2])), part)
    return out


def _fits(a: Any, b: Any, ndim: int) -> bool:
    """Return whether the C code accepts both sides and is worthwhile."""
    if compiled is None or type(a) is not np.ndarray or type(b) is not np.ndarray or not a.ndim == b.ndim == ndim:
        return False
    rows, depth, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    return (
        rows * depth * columns > _SMALL
        and rows >= _NARROW
        and columns >= _NARROW
        and b.shape[-2] == depth
        and a.dtype == b.dtype == np.float32
        and len(a) > 0
    )


def _in_memory(array: Array) -> tuple[Array, bool]:
    """Return a matrix stored row by row, and whether it is turned."""
    if array.T.flags.c_contiguous and not array.flags.c_contiguous:
        return array.T, True
    return np.ascontiguousarray(array), False

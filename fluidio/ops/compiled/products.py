"""Products of float32 matrices in C, on all threads that kernels may use; their number does not change a bit.

NumPy's BLAS computes small ones, other dtypes, and all of them where `compiled` is None because it could not be built
or the processor has no wide vectors. Convolutions with 1 x 1 kernels are products, too: images [N, channels, places]
count as one matrix whose columns are all places of all images.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from fluidio.ops.compiled.turned import row_by_row
from fluidio.ops.threads import share, thread_count
from fluidio.tensor.array import Array, ArrayLibrary

compiled: Any
try:
    from fluidio.ops.compiled import _products as compiled

    if compiled.instructions(512) < 256:
        compiled = None
except ImportError:
    compiled = None

__all__ = ["are_batches", "by_state", "compiled", "multiply", "product", "products"]

_BATCH_DIMS = 4
_NARROW = 16
"""Rows and columns below which the BLAS is faster."""
_FEW_ROWS = 8
"""The same for rows in the matrices of a batch, and of a state, """
_NARROW_IN_BATCHES = 32
"""and for columns."""
_SMALL = 1 << 18
"""Multiplications up to which the BLAS is faster."""
_PIECE = 256
"""Rows or columns that the BLAS computes together, whatever the number of threads."""
_WORTH_A_THREAD = 1 << 19
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
    if a.size * b.shape[-1] <= _SMALL:
        return a @ b
    if not _fits(a, b):
        return _by_pieces(a, b)
    (one, a_turned), (two, b_turned) = _in_memory(a), _in_memory(b)
    out = np.empty((a.shape[0], b.shape[1]), np.float32)
    return multiply(one, two, out, (*a.shape, b.shape[1]), (a_turned, b_turned))


def _by_pieces(a: Array, b: Array) -> Array:
    """Return the product of two matrices; the BLAS computes pieces of the longer side, which threads share."""
    rows, columns = a.shape[0], b.shape[-1]
    each = a.shape[-1] * min(rows, columns) * _PIECE
    if not _can_share(a, b) or max(rows, columns) * each < 2 * _PIECE * _WORTH_A_THREAD:
        return a @ b
    out = np.empty((rows, columns), a.dtype)

    def part(begin: int, end: int) -> None:
        for i in range(begin * _PIECE, min(end * _PIECE, max(rows, columns)), _PIECE):
            if rows >= columns:
                np.matmul(a[i : i + _PIECE], b, out=out[i : i + _PIECE])
            else:
                np.matmul(a, b[:, i : i + _PIECE], out=out[:, i : i + _PIECE])

    share(-(-max(rows, columns) // _PIECE), -(-_WORTH_A_THREAD // each), part)
    return out


def _can_share(a: Array, b: Array) -> bool:
    return (
        compiled is not None
        and type(a) is type(b) is np.ndarray
        and a.ndim == b.ndim == 2
        and a.dtype == b.dtype
        and a.dtype.kind == "f"
        and a.shape[1] == len(b)
    )


def products(a: Any, b: Any) -> Any:
    """Return the products of two batches [..., rows, columns] of matrices, for which `are_batches` holds."""
    out = np.empty((*a.shape[:-1], b.shape[-1]), np.float32)
    compiled.multiply_each(a, b, out, _WORTH_A_THREAD, thread_count())
    return out


def by_state(xp: ArrayLibrary | ModuleType, state: Array, weights: Array, out: Array) -> Array:
    """Set `out` [count, rows, columns] to the products of a state [rows, depth] with each of `weights`."""
    count, rows, columns = out.shape
    arrays = state, weights, out
    if compiled is None or rows < _FEW_ROWS or columns < _NARROW_IN_BATCHES:
        return xp.matmul(state, weights, out=out)
    for a in arrays:
        if type(a) is not np.ndarray or a.dtype != np.float32 or not a.flags.c_contiguous:
            return xp.matmul(state, weights, out=out)
    return multiply(*arrays, (rows, state.shape[1], count * columns), images=(1, count, count))


def are_batches(a: Any, b: Any) -> bool:
    """Return whether the C code accepts two batches of matrices, and is worthwhile."""
    return (
        compiled is not None
        and type(a) is type(b) is np.ndarray
        and a.dtype == b.dtype == np.float32
        and 2 < a.ndim <= _BATCH_DIMS + 2
        and a.shape[:-2] == b.shape[:-2]
        and a.shape[-1] == b.shape[-2]
        and a.shape[-2] >= _FEW_ROWS
        and b.shape[-1] >= _NARROW_IN_BATCHES
        and a.size > 0 < b.size
    )


def _fits(a: Any, b: Any) -> bool:
    """Return whether the C code accepts two matrices, and is worthwhile."""
    if compiled is None or type(a) is not np.ndarray or type(b) is not np.ndarray or not a.ndim == b.ndim == 2:
        return False
    rows, depth, columns = a.shape[0], a.shape[1], b.shape[1]
    return (
        rows * depth * columns > _SMALL
        and rows >= _NARROW
        and columns >= _NARROW
        and len(b) == depth
        and a.dtype == b.dtype == np.float32
    )


def _in_memory(array: Array) -> tuple[Array, bool]:
    """Return a matrix stored row by row, and whether it is turned."""
    if array.T.flags.c_contiguous and not array.flags.c_contiguous:
        return array.T, True
    return row_by_row(np, array), False

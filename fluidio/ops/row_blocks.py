"""Let a kernel process memory in blocks of rows, which stay in the cache and are shared among threads."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fluidio.ops.compiled import elements
from fluidio.ops.compiled.products import are_batches, product, products
from fluidio.ops.compiled.turned import row_by_row
from fluidio.ops.kernel import Call
from fluidio.ops.threads import share
from fluidio.tensor.array import Array

__all__ = ["are_rows", "by_pieces", "elementwise", "in_blocks", "is_one_block", "row_blocks", "share_products"]

_BLOCK = 1 << 15
"""Elements of a block: a few arrays of them stay in a core's cache."""
_WORTH_A_THREAD = 1 << 17
"""Elements below which another thread costs more than it saves."""
_ONE_THREAD = 1 << 18
"""Multiplications of a matrix product up to which the BLAS uses one thread itself."""
_WORTH_A_SHARE = 1 << 19
"""Multiplications of a batch of products below which another thread costs more than it saves."""


def are_rows(*arrays: Any) -> bool:
    """Return whether arrays are stored row by row, so that `reshape` gives views of their rows."""
    return all(array.flags.c_contiguous for array in arrays)


def is_one_block(array: Any) -> bool:
    """Return whether an array is too small to be divided."""
    return bool(array.size <= _BLOCK)


def row_blocks(k: Call, rows: int, width: int, run: Callable[[int, int], object]) -> None:
    """Call `run(begin, end)` for blocks of rows of `width` elements, on several threads if there are many.

    The rows must not depend on each other. On a GPU there is one block.
    """
    if k.dev.is_gpu or rows * width <= _BLOCK:
        run(0, rows)
        return
    block = max(1, _BLOCK // max(width, 1))

    def part(begin: int, end: int) -> None:
        for start in range(begin, end, block):
            run(start, min(start + block, end))

    share(rows, -(-_WORTH_A_THREAD // max(width, 1)), part)


def elementwise(function: Callable[..., Any], x: Any, y: Any, out: Any = None) -> Any:
    """Return what a function of NumPy makes of each element of two arrays; threads share large ones.

    Y has the shape of X or broadcasts over dims of it; `out` may be X.
    """
    if x.size < elements.LARGE or type(x) is not np.ndarray or type(y) is not np.ndarray:
        return function(x, y, out=out)
    if x.dtype != y.dtype or x.dtype.kind != "f" or not y.size:
        return function(x, y, out=out)
    if x.shape == y.shape and x.flags.c_contiguous != y.flags.c_contiguous:  # in one order, neither skips
        x, y = row_by_row(np, x), row_by_row(np, y)
    if not are_rows(x, y):
        return function(x, y, out=out)
    inner = _inner_size(x.shape, y.shape)
    kind = elements.kind_of(function) if x.dtype == np.float32 else None
    if inner is None or (kind is None and (inner > 1 or x.size < 2 * _WORTH_A_THREAD)):
        return function(x, y, out=out)
    result = np.empty_like(x) if out is None else out
    if kind is not None:
        combine = elements.combine if inner == 1 else elements.combine_planes
        return combine(kind, x, y, result, *(() if inner == 1 else (inner,)))
    alike = y.size == x.size
    width = 1 if alike else y.size
    rows, results, others = (a.reshape(-1, width) for a in (x, result, y))

    def part(begin: int, end: int) -> None:
        function(rows[begin:end], others[begin:end] if alike else others, out=results[begin:end])

    share(len(rows), -(-_WORTH_A_THREAD // width), part)
    return result


def _inner_size(x: tuple[int, ...], y: tuple[int, ...]) -> int | None:
    """Return how many neighbours in X meet one element of Y, if all of Y's dims but leading and trailing ones are X's.

    None: Y is repeated between its dims.
    """
    if x == y:
        return 1
    if len(y) > len(x) or not any(d != 1 for d in y):
        return None
    lead = next(i for i, d in enumerate(y) if d != 1)
    trail = next(i for i, d in enumerate(reversed(y)) if d != 1)
    own = y[lead : len(y) - trail]
    end = len(x) - trail
    return math.prod(x[end:]) if own == x[end - len(own) : end] else None


def in_blocks(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Let an elementwise kernel that keeps the dtype work on large float arrays, and masks for them, in blocks."""

    @functools.wraps(kernel)
    def work(k: Call, first: Any, *others: Any) -> Any:
        if type(first) is not np.ndarray or first.size <= _BLOCK or first.dtype.kind != "f":
            return kernel(k, first, *others)
        arrays = (first, *others)
        dtypes = first.dtype, np.uint8
        alike = all(type(a) is np.ndarray and a.shape == first.shape and a.dtype in dtypes for a in others)
        if not alike or not are_rows(*arrays):
            return kernel(k, *arrays)
        flat, out = [a.reshape(-1) for a in arrays], np.empty(first.size, first.dtype)

        def run(begin: int, end: int) -> None:
            out[begin:end] = kernel(k, *(a[begin:end] for a in flat))

        row_blocks(k, first.size, 1, run)
        return out.reshape(first.shape)

    return work


def share_products(k: Call, a: Array, b: Array) -> Array:
    """Return the matrix products of two batches; threads share a batch of small matrices, unlike in the BLAS."""
    if not k.dev.is_gpu and b.ndim == 2 and 0 < len(b) == a.shape[-1]:
        return product(a.reshape(-1, len(b)), b).reshape(*a.shape[:-1], b.shape[1])
    if not k.dev.is_gpu and are_batches(a, b):
        return products(a, b)
    each = a.shape[-2] * a.shape[-1] * b.shape[-1] if a.ndim > 2 and b.ndim > 2 else 0
    if k.dev.is_gpu or a.shape[:-2] != b.shape[:-2] or not 0 < each <= _ONE_THREAD or a.dtype != b.dtype:
        return k.xp.matmul(a, b)
    out = k.xp.empty((*a.shape[:-1], b.shape[-1]), a.dtype)
    work = each * (a.size // (a.shape[0] * a.shape[-2] * a.shape[-1])) if a.size else 1
    share(
        a.shape[0],
        -(-_WORTH_A_SHARE // max(work, 1)),
        lambda begin, end: k.xp.matmul(a[begin:end], b[begin:end], out=out[begin:end]),
    )
    return out


def by_pieces(k: Call, update: Callable[..., None], *arrays: Array) -> None:
    """Call `update(step, *pieces)` for pieces of arrays of one shape; `step` is work memory like the second piece."""
    like = arrays[1]
    if k.dev.is_gpu or like.size < 4 * _BLOCK or not are_rows(*arrays):
        update(k.scratch("step", like.shape, like.dtype), *arrays)
        return
    flat = [array.reshape(-1) for array in arrays]

    def part(begin: int, end: int) -> None:
        step = k.empty((_BLOCK,), like.dtype)
        for start in range(begin * _BLOCK, min(end * _BLOCK, like.size), _BLOCK):
            pieces = [array[start : start + _BLOCK] for array in flat]
            update(step[: len(pieces[0])], *pieces)

    share(-(-like.size // _BLOCK), _WORTH_A_THREAD // _BLOCK, part)

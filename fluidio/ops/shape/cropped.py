"""The gradients of pad and pad_constant_like: the part of a gradient that was not padding.

Fluid 1.8.5's CPU kernel moves 32 bytes at a time. It takes those at the end of a row to be in one piece where the
padding behind the row is long enough, and the next row begins with gradients of that padding.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from fluidio.era import era
from fluidio.ops.kernel import Call
from fluidio.ops.registry import default_grad_maker
from fluidio.program.op_def import RIGHT_GRADIENT_ATTR, GradOp
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array

__all__ = ["cropped", "cropping"]

_BYTES = 32
_warned = False


def cropping(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    """Return the gradient op, which is right where the era does not mix rows."""
    made = default_grad_maker(forward, no_grad)
    if not era().pads_mix_gradients:
        for grad_op in made:
            grad_op.attrs[RIGHT_GRADIENT_ATTR] = True
    return made


def cropped(k: Call, d: Array, pairs: list[tuple[int, int]]) -> Array:
    """Return d without its borders of pairs (before, after), as 1.8.5 does unless the op wants the right gradient."""
    inner = d[tuple(slice(before, size - after) for size, (before, after) in zip(d.shape, pairs))]
    if k.dev.is_gpu or k.attrs.get(RIGHT_GRADIENT_ATTR) or not any(after for _, after in pairs):
        return inner
    starts, sources = _joined(d.shape, inner.shape, pairs, _BYTES // d.itemsize)
    if not starts.size:
        return inner
    _tell()
    span = np.arange(_BYTES // d.itemsize)
    out = inner.flatten()
    out[starts[:, None] + span] = d.reshape(-1)[sources[:, None] + span]
    return out.reshape(inner.shape)


def _joined(
    full: tuple[int, ...], inner: tuple[int, ...], pairs: list[tuple[int, int]], width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the flat places of the pieces that run over the end of a row, and where 1.8.5 takes them from."""
    starts = np.arange(0, math.prod(inner) // width * width, width)
    rest, sources, whole = starts, np.zeros_like(starts), np.ones(starts.shape, bool)
    for axis, (before, after) in enumerate(pairs):
        row = math.prod(inner[axis + 1 :])
        whole = whole & (rest + width <= (inner[axis] + after) * row)
        place, rest = (rest // row, rest % row) if axis < len(pairs) - 1 else (rest, rest)
        sources = sources + (place + before) * math.prod(full[axis + 1 :])
    wrong = whole & (rest + width > inner[-1]) & (sources + width <= math.prod(full))
    return starts[wrong], sources[wrong]


def _tell() -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "pad: like the CPU kernel of Fluid 1.8.5, fluidio takes gradients of the padding behind a row for those "
            "of the next row's first elements; pad(..., right_gradient=True) and pad_constant_like(..., "
            "right_gradient=True) give the right ones",
            stacklevel=2,
        )

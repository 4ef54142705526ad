"""Ops over whole sequences: pooling and softmax."""

from __future__ import annotations

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.ops.compiled import curves, segments
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import default_grad_maker, gradient, op, same_as
from fluidio.ops.sequence.ragged import last_level, segment_ids, segment_max, segment_sum, sequences
from fluidio.program.infer import InferContext
from fluidio.program.op_def import GradOp
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray

__all__: list[str] = []

_KINDS = ("SUM", "AVERAGE", "SQRT", "MAX", "LAST", "FIRST")


def _infer_pool(c: InferContext) -> None:
    x = c.input("X")
    kind = c.attrs["pooltype"].upper()
    c.check(kind in _KINDS, f"pooltype must be one of {', '.join(_KINDS)}, got {kind!r}")
    c.set("Out", x.shape, x.dtype, max(x.lod_level - 1, 0))
    if kind == "MAX":
        c.set("MaxIndex", x.shape, None, 0)


def _pool_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    """Make the gradient op; as in Fluid, it reads MaxIndex only for the maximum."""
    made = default_grad_maker(forward, no_grad)
    if forward.attrs.get("pooltype", "AVERAGE") != "MAX":
        for grad_op in made:
            grad_op.inputs.pop("MaxIndex", None)
    return made


@op(
    "sequence_pool",
    "X",
    "Out MaxIndex?",
    {"pooltype": "AVERAGE", "pad_value": 0.0, "is_test": False},
    infer=_infer_pool,
    grad=_pool_grad,
    lod="kernel",
)
def sequence_pool(k: Call, x: Array) -> KernelResult:
    """Out = one row for each innermost sequence; an empty one gives pad_value, outer LoD levels are kept."""
    offsets = last_level(k, "X", x.shape[0])
    k.out_lods["Out"] = sequences(k, "X")[:-1]
    kind = k.attrs["pooltype"].upper()
    pad = x.dtype.type(k.attrs["pad_value"])
    if kind == "MAX" and segments.fits(x, offsets):
        return segments.maxima(x, offsets, float(pad))
    if kind == "MAX":
        out = segment_max(k, x, offsets, pad)
        wants = k.wants("MaxIndex") and not k.attrs["is_test"]
        return out, _max_rows(k, x, out, offsets) if wants else None
    if kind not in ("FIRST", "LAST") and segments.fits(x, offsets):
        factors = None if kind == "SUM" else _scale(k, offsets, kind, x)
        return segments.sums(x, offsets, factors, float(pad)), None
    out = _pooled(k, x, offsets, kind)
    empty = offsets[1:] == offsets[:-1]
    if empty.any():
        out[k.dev.upload(np.flatnonzero(empty))] = pad
    return out, None


def _pooled(k: Call, x: Array, offsets: IntArray, kind: str) -> Array:
    if kind in ("FIRST", "LAST"):
        picked = offsets[:-1] if kind == "FIRST" else offsets[1:] - 1
        if not x.shape[0]:
            return k.xp.zeros((picked.size, *x.shape[1:]), x.dtype)
        return x[k.dev.upload(np.clip(picked, 0, x.shape[0] - 1))]
    total = segment_sum(k, x, offsets)
    if kind == "SUM":
        return total
    total *= _scale(k, offsets, kind, x)
    return total


def _scale(k: Call, offsets: IntArray, kind: str, x: Array) -> Array:
    """Return 1/n or 1/sqrt(n) for each sequence, as a column."""
    lengths = np.maximum(offsets[1:] - offsets[:-1], 1).astype(x.dtype)
    factors = 1 / (lengths if kind == "AVERAGE" else np.sqrt(lengths))
    return k.dev.upload(factors.astype(x.dtype).reshape(-1, *(1,) * (x.ndim - 1)))


def _max_rows(k: Call, x: Array, out: Array, offsets: IntArray) -> Array:
    """Return the first row that holds the maximum, for each sequence and column; -1 for an empty sequence."""
    ids = segment_ids(offsets)
    index = k.xp.full(out.shape, -1, np.int32)
    if not x.shape[0]:
        return index
    if k.dev.is_gpu:
        rows = k.xp.arange(x.shape[0], dtype=np.int32).reshape(-1, *(1,) * (x.ndim - 1))
        return -segment_max(k, k.xp.where(x == out[k.dev.upload(ids)], -rows, -np.int32(2**31 - 1)), offsets, 1)
    columns = out[0].size
    largest = np.empty(x.shape, bool)
    for best, start, stop in zip(out, offsets[:-1].tolist(), offsets[1:].tolist()):
        np.equal(x[start:stop], best, out=largest[start:stop])
    hits = np.flatnonzero(largest)[::-1]  # in reverse, so that the first of equal ones is written last
    rows, column = np.divmod(hits, columns)
    index.reshape(-1)[ids[rows] * columns + column] = rows
    return index


@gradient("sequence_pool", "X MaxIndex Out@GRAD", "X@GRAD")
def sequence_pool_grad(k: Call, x: Array, max_rows: Array, dout: Array) -> Array:
    offsets = last_level(k, "X", x.shape[0])
    k.out_lods["X@GRAD"] = k.lod("X")
    kind = k.attrs["pooltype"].upper()
    if kind == "MAX":
        if max_rows is not None and segments.fits(x, offsets) and curves.fits(dout):
            return segments.place(dout, offsets, max_rows)
        return _max_grad(k, x, max_rows, dout)
    if kind in ("FIRST", "LAST"):
        dx = k.xp.zeros_like(x)
        filled = offsets[1:] > offsets[:-1]
        picked = (offsets[:-1] if kind == "FIRST" else offsets[1:] - 1)[filled]
        dx[k.dev.upload(picked)] = dout[k.dev.upload(np.flatnonzero(filled))]
        return dx
    if segments.fits(x, offsets) and curves.fits(dout):
        return segments.repeat(dout, offsets, None if kind == "SUM" else _scale(k, offsets, kind, x))
    if kind != "SUM":
        dout = dout * _scale(k, offsets, kind, x)
    return dout[k.dev.upload(segment_ids(offsets))]


def _max_grad(k: Call, x: Array, max_rows: Array | None, dout: Array) -> Array:
    if max_rows is None:
        raise EnforceNotMet("the gradient of sequence_pool with pool_type max needs is_test=False")
    dx = k.xp.zeros(x.shape, x.dtype)  # not zeros_like: X may be a transposed view, which has no flat view
    if x.size:
        columns = x[0].size
        flat = max_rows.reshape(-1, columns)
        target = flat.astype(np.int64) * columns + k.xp.arange(columns)
        valid = flat >= 0
        slopes = dout.reshape(-1, columns)
        if k.dev.is_gpu:  # without masks, for which CuPy waits: an invalid one adds zero to the first element
            k.dev.scatter_add(dx.reshape(-1), k.xp.where(valid, target, 0).reshape(-1), (slopes * valid).reshape(-1))
        else:
            dx.reshape(-1)[target[valid]] = slopes[valid]
    return dx


@op("sequence_softmax", "X", "Out", {"use_cudnn": False}, infer=same_as("X"), grad=True, lod="kernel")
def sequence_softmax(k: Call, x: Array) -> Array:
    """Out = the softmax over the rows of each innermost sequence; X has one column."""
    offsets = last_level(k, "X", x.shape[0])
    if x.size != x.shape[0]:
        raise EnforceNotMet(f"sequence_softmax takes one number for each row; the shape of X is {list(x.shape)}")
    k.out_lods["Out"] = k.lod("X")
    flat = x.reshape(-1)
    ids = k.dev.upload(segment_ids(offsets))
    shifted = k.xp.exp(k.xp.maximum(flat - segment_max(k, flat, offsets, 0)[ids], x.dtype.type(-64)))
    shifted /= segment_sum(k, shifted, offsets)[ids]
    return shifted.reshape(x.shape)


@gradient("sequence_softmax", "X Out Out@GRAD", "X@GRAD")
def sequence_softmax_grad(k: Call, x: Array, out: Array, dout: Array) -> Array:
    k.out_lods["X@GRAD"] = k.lod("X")
    offsets = last_level(k, "X", x.shape[0])
    ids = k.dev.upload(segment_ids(offsets))
    dots = segment_sum(k, (dout * out).reshape(-1), offsets)
    return (dout - dots[ids].reshape(x.shape)) * out

"""Convert between ragged rows and padded tensors; and ops that change only the LoD."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.ops.sequence.ragged import from_lengths, last_level, padded_rows
from fluidio.program.infer import InferContext
from fluidio.tensor import lod as lod_math
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray, LoD

__all__: list[str] = []


def _infer_pad(c: InferContext) -> None:
    x = c.input("X")
    length = c.attrs["padded_length"]
    c.set("Out", (-1, 1 if length < 0 else length, *x.shape[1:]), x.dtype, 0)  # Fluid: an unknown length counts as 1
    c.set("Length", (-1,), VarType.INT64, 0)


def _padding(k: Call, x: Array) -> tuple[IntArray, Any]:
    offsets = last_level(k, "X", x.shape[0])
    longest = int(np.diff(offsets).max(initial=0))
    width = k.attrs["padded_length"]
    if width >= 0 and width < longest:
        raise EnforceNotMet(f"the longest sequence has {longest} rows, more than maxlen ({width})")
    return padded_rows(offsets, longest if width < 0 else width)


@op("sequence_pad", "X PadValue", "Out Length", {"padded_length": -1}, infer=_infer_pad, grad=True, lod="kernel")
def sequence_pad(k: Call, x: Array, pad_value: Array) -> tuple[Array, Array]:
    """Out[i] = sequence i padded with PadValue; Length = the length of each sequence."""
    rows, valid = _padding(k, x)
    shape = (*rows.shape, *x.shape[1:])
    if pad_value.size != 1 and pad_value.shape != x.shape[1:]:
        raise EnforceNotMet(f"PadValue must have shape [1] or {list(x.shape[1:])}, got {list(pad_value.shape)}")
    out = k.xp.empty(shape, x.dtype)
    out[...] = pad_value.reshape(-1)[0] if pad_value.size == 1 else pad_value
    out.reshape(-1, *x.shape[1:])[_places(k, valid)] = x
    return out, k.dev.upload(valid.sum(axis=1, dtype=np.int64))


@gradient("sequence_pad", "X Out@GRAD", "X@GRAD")
def sequence_pad_grad(k: Call, x: Array, dout: Array) -> Array:
    _, valid = _padding(k, x)
    k.out_lods["X@GRAD"] = k.lod("X")
    return dout.reshape(-1, *x.shape[1:])[_places(k, valid)].reshape(x.shape)


def _places(k: Call, valid: Array) -> Array:
    """Return the positions that hold data; a mask would make CuPy wait."""
    return k.dev.upload(np.flatnonzero(valid))


def _infer_unpad(c: InferContext) -> None:
    x = c.shape("X")
    c.check(len(x) >= 2, f"X must have at least 2 dims, its shape is {list(x)}")
    c.set("Out", (-1, *(x[2:] or (1,))), c.dtype("X"), 1)


def _kept(k: Call, x: Array, length: Array) -> tuple[Any, IntArray]:
    lengths = np.asarray(k.dev.download(length), np.int64).reshape(-1)
    if lengths.size != x.shape[0]:
        raise EnforceNotMet(f"X holds {x.shape[0]} padded sequences, but Length has {lengths.size} entries")
    if lengths.size and (lengths.min() < 0 or lengths.max() > x.shape[1]):
        raise EnforceNotMet(f"Length must lie in 0 ... {x.shape[1]}, found {lengths.min()} ... {lengths.max()}")
    return np.arange(x.shape[1]) < lengths[:, None], lengths


@op("sequence_unpad", "X Length", "Out", infer=_infer_unpad, grad=True, lod="kernel")
def sequence_unpad(k: Call, x: Array, length: Array) -> Array:
    """Out = the first Length[i] entries of every X[i], as sequences."""
    valid, lengths = _kept(k, x, length)
    k.out_lods["Out"] = (from_lengths(lengths),)
    out = x.reshape(-1, *x.shape[2:])[_places(k, valid)]
    return out if x.ndim > 2 else out.reshape(-1, 1)


@gradient("sequence_unpad", "X Length Out@GRAD", "X@GRAD")
def sequence_unpad_grad(k: Call, x: Array, length: Array, dout: Array) -> Array:
    valid, lengths = _kept(k, x, length)
    dx = k.xp.zeros(x.shape, x.dtype)  # not zeros_like: X may be a transposed view, which has no flat view
    dx.reshape(-1, *x.shape[2:])[_places(k, valid)] = dout.reshape(int(lengths.sum()), *x.shape[2:])
    return dx


def _infer_reset(c: InferContext) -> None:
    x = c.input("X")
    given = c.input("Y").lod_level if c.has("Y") else 0
    level = x.lod_level + 1 if c.attrs["append"] and not c.has("Y") else max(given, 1)
    c.set("Out", x.shape, x.dtype, level)


def _new_lod(k: Call, y: Array | None) -> LoD:
    if y is not None:
        if k.lod("Y"):
            return k.lod("Y")
        return (np.asarray(k.dev.download(y), np.int64).reshape(-1),)
    target = k.attrs["target_lod"]
    if len(target) == 0:
        raise EnforceNotMet("lod_reset needs Y or target_lod")
    return (np.asarray(target, np.int64),)


@op("lod_reset", "X Y?", "Out", {"target_lod": [], "append": False}, infer=_infer_reset, grad=True, lod="kernel")
def lod_reset(k: Call, x: Array, y: Array | None) -> Array:
    """Out = X with the LoD of Y, or the offsets in Y, or target_lod; with `append` as one more level."""
    lod = _new_lod(k, y)
    wrong = lod_math.problem(lod, x.shape[0])
    if k.attrs["append"] and not (y is not None and k.lod("Y")):
        lod = (*k.lod("X"), *lod)  # Fluid: the new level counts rows, like the innermost one before
    if wrong:
        raise EnforceNotMet(f"the new LoD does not fit X of {x.shape[0]} rows: {wrong}")
    k.out_lods["Out"] = lod
    return x.copy()


@gradient("lod_reset", "X Out@GRAD", "X@GRAD")
def lod_reset_grad(k: Call, x: Array, dout: Array) -> Array:
    k.out_lods["X@GRAD"] = k.lod("X")
    return dout.copy()

"""Ops that repeat, select, reorder or regroup the rows of sequences."""

from __future__ import annotations

import itertools

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op, same_as
from fluidio.ops.sequence.ragged import from_lengths, last_level, ranges, rows_lod, segment_sum, sequences
from fluidio.program.infer import InferContext
from fluidio.program.op_def import GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array
from fluidio.tensor.lod import NO_LOD, IntArray, LoD

__all__: list[str] = []


def gathered_grad(k: Call, x: Array, rows: IntArray, dout: Array) -> Array:
    """Return the gradient of `x[rows]`, summed over rows used several times."""
    dx = k.xp.zeros_like(x)
    if rows.size:
        k.dev.scatter_add(dx, k.dev.upload(rows), dout.reshape(rows.size, *x.shape[1:]))
    return dx


# -- sequence_expand -----------------------------------------------------------------------------------------------


def _infer_expand(c: InferContext) -> None:
    x = c.input("X")
    c.set("Out", (-1, *x.shape[1:]), x.dtype, x.lod_level)  # Fluid: depends on the LoD at run time


def _infer_expand_as(c: InferContext) -> None:
    x = c.input("X")
    c.set("Out", (-1, *x.shape[1:]), x.dtype, c.input("Y").lod_level)


def _reference(k: Call, x: Array) -> tuple[IntArray, IntArray | None]:
    """Return the offsets of Y's level ref_level, and those of X's sequences (None if X has no LoD)."""
    lod_y = sequences(k, "Y")
    lod_x = k.lod("X")
    level = k.attrs["ref_level"]
    level = len(lod_y) - 1 if level == -1 else level
    if not 0 <= level < len(lod_y):
        raise EnforceNotMet(f"Y has {len(lod_y)} LoD levels and no level {k.attrs['ref_level']} (ref_level)")
    if len(lod_x) > 1:
        raise EnforceNotMet(f"sequence_expand takes X with at most one LoD level, it has {len(lod_x)}")
    count = lod_x[0].size - 1 if lod_x else x.shape[0]
    if count != lod_y[level].size - 1:
        raise EnforceNotMet(
            f"X has {count} {'sequences' if lod_x else 'rows'}, "
            f"but level {level} of Y's LoD has {lod_y[level].size - 1}"
        )
    return lod_y[level], lod_x[0] if lod_x else None


def _expansion(offsets: IntArray, groups: IntArray) -> tuple[IntArray, IntArray]:
    """Return the rows of X in their new order and the lengths of the result's sequences."""
    times = offsets[1:] - offsets[:-1]
    order = np.repeat(np.arange(times.size), times)
    lengths = np.diff(groups)[order]
    return ranges(groups[order], lengths), lengths


@op("sequence_expand", "X Y", "Out", {"ref_level": -1}, infer=_infer_expand, grad=True, lod="kernel")
def sequence_expand(k: Call, x: Array, y: Array) -> Array:
    """Out = each row (or sequence) of X as often as the sequence of Y at ref_level is long."""
    offsets, groups = _reference(k, x)
    if groups is None:
        k.out_lods["Out"] = NO_LOD  # Fluid: rows without LoD get none
        return _repeated(k, x, offsets)
    rows, lengths = _expansion(offsets, groups)
    k.out_lods["Out"] = (from_lengths(lengths),)
    return x[k.dev.upload(rows)]


def _repeated(k: Call, x: Array, offsets: IntArray) -> Array:
    """Return row i as often as sequence i is long."""
    if k.dev.is_gpu:
        return x[k.dev.upload(np.repeat(np.arange(x.shape[0]), offsets[1:] - offsets[:-1]))]
    return x.repeat(offsets[1:] - offsets[:-1], axis=0)


@gradient("sequence_expand", "X Y Out@GRAD", "X@GRAD")
def sequence_expand_grad(k: Call, x: Array, y: Array, dout: Array) -> Array:
    k.out_lods["X@GRAD"] = k.lod("X")
    offsets, groups = _reference(k, x)
    if groups is None:
        return segment_sum(k, dout.reshape(-1, *x.shape[1:]), offsets)
    return gathered_grad(k, x, _expansion(offsets, groups)[0], dout)


@op("sequence_expand_as", "X Y", "Out", infer=_infer_expand_as, grad=True, lod="kernel")
def sequence_expand_as(k: Call, x: Array, y: Array) -> Array:
    """Out = row i of X as often as sequence i of Y is long."""
    offsets = _as_offsets(k, x)
    k.out_lods["Out"] = (offsets,)
    return _repeated(k, x, offsets)


def _as_offsets(k: Call, x: Array) -> IntArray:
    lod_y = sequences(k, "Y")
    if len(lod_y) != 1:
        raise EnforceNotMet(f"sequence_expand_as takes Y with one LoD level, it has {len(lod_y)}")
    if lod_y[0].size - 1 != x.shape[0]:
        raise EnforceNotMet(f"X has {x.shape[0]} rows, but Y has {lod_y[0].size - 1} sequences")
    return lod_y[0]


@gradient("sequence_expand_as", "X Y Out@GRAD", "X@GRAD")
def sequence_expand_as_grad(k: Call, x: Array, y: Array, dout: Array) -> Array:
    k.out_lods["X@GRAD"] = k.lod("X")
    return segment_sum(k, dout.reshape(-1, *x.shape[1:]), _as_offsets(k, x))


# -- reverse, concat, slice ----------------------------------------------------------------------------------------


def _reversed_rows(offsets: IntArray) -> IntArray:
    rows = np.arange(offsets[-1], dtype=np.int64)
    return np.repeat(offsets[:-1] + offsets[1:] - 1, np.diff(offsets)) - rows


def _reverse_back(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    inputs = {"X": [grad_name(forward.output("Y")[0])], "Like": [x]}
    return [GradOp("sequence_reverse", inputs, {"Y": [grad_name(x)]})]


@op("sequence_reverse", "X Like?", "Y", infer=same_as("X", "Y"), grad=_reverse_back, lod="kernel")
def sequence_reverse(k: Call, x: Array, like: Array) -> Array:
    """Y = X with the rows of each innermost sequence in reverse order; Like has the LoD where X has none."""
    k.out_lods["Y"] = k.lods["X"] = k.lod("X") or k.lod("Like")
    return x[k.dev.upload(_reversed_rows(last_level(k, "X", x.shape[0])))]


def _infer_concat(c: InferContext) -> None:
    first = c.inputs("X")[0]
    rows = [v.shape[0] for v in c.inputs("X")]
    c.set(
        "Out",
        (sum(rows) if min(rows) >= 0 else -1, *first.shape[1:]),
        first.dtype,
        max(v.lod_level for v in c.inputs("X")),
    )


def _woven(k: Call, xs: list[Array]) -> tuple[IntArray, LoD]:
    """Return the number of each output row in the concatenated inputs, and the LoD of the result."""
    lods = k.lods["X"]
    for lod, name in zip(lods, k.op.input("X")):
        if not lod:
            raise EnforceNotMet(f"input X ({name}) has no LoD, but sequence_concat works on sequences")
    counts = {lod[-1].size - 1 for lod in lods}
    if len(counts) > 1:
        raise EnforceNotMet(
            f"the inputs of sequence_concat must have the same number of sequences, got {sorted(counts)}"
        )
    base = np.cumsum([0, *(x.shape[0] for x in xs[:-1])])
    starts = np.stack([lod[-1][:-1] + b for lod, b in zip(lods, base)], axis=1)
    lengths = np.stack([np.diff(lod[-1]) for lod in lods], axis=1)
    return ranges(starts.reshape(-1), lengths.reshape(-1)), (from_lengths(lengths.sum(axis=1)),)


@op("sequence_concat", "X*", "Out", infer=_infer_concat, grad=True, lod="kernel")
def sequence_concat(k: Call, xs: list[Array]) -> Array:
    """Out = sequence i of every input joined, for each i."""
    rows, lod = _woven(k, xs)
    k.out_lods["Out"] = lod
    return k.xp.concatenate(xs)[k.dev.upload(rows)]


@gradient("sequence_concat", "X Out@GRAD", "X@GRAD")
def sequence_concat_grad(k: Call, xs: list[Array], dout: Array) -> KernelResult:
    rows, _ = _woven(k, xs)
    k.out_lods["X@GRAD"] = list(k.lods["X"])
    whole = k.xp.empty_like(dout)
    whole[k.dev.upload(rows)] = dout
    edges = np.cumsum([0, *(x.shape[0] for x in xs)])
    return [whole[a:b].copy() for a, b in itertools.pairwise(edges)]


def _infer_rows(c: InferContext) -> None:
    c.set("Out", c.shape("X"), c.dtype("X"), c.input("X").lod_level)


def _infer_slice(c: InferContext) -> None:
    c.set("Out", c.shape("X"), c.dtype("X"), 0)  # Fluid: declared without LoD


def _slice_rows(k: Call, x: Array, offset: Array, length: Array) -> tuple[IntArray, LoD]:
    offsets = last_level(k, "X", x.shape[0])
    begin = np.asarray(k.dev.download(offset), np.int64).reshape(-1)
    count = np.asarray(k.dev.download(length), np.int64).reshape(-1)
    have = np.diff(offsets)
    if begin.size != have.size or count.size != have.size:
        raise EnforceNotMet(f"X has {have.size} sequences, Offset {begin.size} and Length {count.size} entries")
    bad = np.flatnonzero((begin < 0) | (count < 0) | (begin + count > have))
    if bad.size:
        i = int(bad[0])
        raise EnforceNotMet(
            f"sequence {i} has {have[i]} rows; offset {begin[i]} with length {count[i]} reaches outside it"
        )
    return ranges(offsets[:-1] + begin, count), (from_lengths(count),)


@op("sequence_slice", "X Offset Length", "Out", infer=_infer_slice, grad=True, lod="kernel")
def sequence_slice(k: Call, x: Array, offset: Array, length: Array) -> Array:
    """Out = Length[i] rows of sequence i from Offset[i] on."""
    rows, lod = _slice_rows(k, x, offset, length)
    k.out_lods["Out"] = lod
    return x[k.dev.upload(rows)]


@gradient("sequence_slice", "X Offset Length Out@GRAD", "X@GRAD")
def sequence_slice_grad(k: Call, x: Array, offset: Array, length: Array, dout: Array) -> Array:
    rows, _ = _slice_rows(k, x, offset, length)
    k.out_lods["X@GRAD"] = k.lod("X")
    dx = k.xp.zeros_like(x)
    dx[k.dev.upload(rows)] = dout
    return dx


# -- reshape, enumerate, erase -------------------------------------------------------------------------------------


def _infer_reshape(c: InferContext) -> None:
    c.set("Out", (-1, c.attrs["new_dim"]), c.dtype("X"), 1)


@op("sequence_reshape", "X", "Out", {"new_dim": 1}, infer=_infer_reshape, grad=True, lod="kernel")
def sequence_reshape(k: Call, x: Array) -> Array:
    """Out = X with rows of new_dim elements; each sequence keeps its elements."""
    offsets = last_level(k, "X", x.shape[0])
    new, old = k.attrs["new_dim"], int(np.prod(x.shape[1:]))
    numbers = offsets * old
    if (numbers % new).any():
        i = int(np.flatnonzero(np.diff(numbers) % new)[0])
        raise EnforceNotMet(f"sequence {i} holds {np.diff(numbers)[i]} numbers, which cannot form rows of {new}")
    k.out_lods["Out"] = (numbers // new,)
    return x.reshape(-1, new)[:]


@gradient("sequence_reshape", "X Out@GRAD", "X@GRAD")
def sequence_reshape_grad(k: Call, x: Array, dout: Array) -> Array:
    k.out_lods["X@GRAD"] = k.lod("X")
    return dout.reshape(x.shape)[:]


def _infer_enumerate(c: InferContext) -> None:
    c.set("Out", (c.shape("X")[0], c.attrs["win_size"]), c.dtype("X"), c.input("X").lod_level)


@op("sequence_enumerate", "X", "Out", {"win_size": 1, "pad_value": 0}, infer=_infer_enumerate, grad=False, lod="kernel")
def sequence_enumerate(k: Call, x: Array) -> Array:
    """Out = the win_size ids from each position on, with pad_value after the end of the sequence."""
    offsets = last_level(k, "X", x.shape[0])
    k.out_lods["Out"] = k.lod("X")
    count, size, pad = x.shape[0], k.attrs["win_size"], x.dtype.type(k.attrs["pad_value"])
    flat, out = x.reshape(-1), k.xp.full((count, size), pad, x.dtype)
    left = k.dev.upload(np.repeat(offsets[1:], offsets[1:] - offsets[:-1]) - np.arange(count))  # rows up to the end
    for step in range(min(size, count)):
        out[: count - step, step] = k.xp.where(left[: count - step] > step, flat[step:], pad)
    return out


@op("sequence_erase", "X", "Out", {"tokens": []}, infer=_infer_rows, grad=False, lod="kernel")
def sequence_erase(k: Call, x: Array) -> Array:
    """Out = X without the rows that hold one of the tokens."""
    lod = sequences(k, "X")
    ids = np.asarray(k.dev.download(x)).reshape(-1)
    kept = np.ones(ids.size, bool)
    for token in k.attrs["tokens"]:
        kept &= ids != token
    counts = from_lengths(kept)
    k.out_lods["Out"] = (*lod[:-1], counts[lod[-1]])
    return k.dev.upload(ids[kept].reshape(-1, 1))


# -- scatter, mask -------------------------------------------------------------------------------------------------


def _infer_scatter(c: InferContext) -> None:
    c.set("Out", c.shape("X"), c.dtype("X"), 0)


def _infer_scatter_grad(c: InferContext) -> None:
    for slot in ("X", "Updates"):
        c.set(f"{slot}@GRAD", c.shape(slot), c.dtype(slot), 0)


@op("sequence_scatter", "X Ids Updates", "Out", infer=_infer_scatter, grad=True, lod="kernel")
def sequence_scatter(k: Call, x: Array, ids: Array, updates: Array) -> Array:
    """Out = X with sequence i of Updates added to row i at the columns of sequence i of Ids; X's sequences are lost."""
    out = x.copy()
    k.dev.scatter_add(out.reshape(-1), _scatter_at(k, x, ids), updates.reshape(-1))
    return out


def _scatter_at(k: Call, x: Array, ids: Array) -> Array:
    offsets = rows_lod(sequences(k, "Ids"), 0)
    if offsets.size - 1 != x.shape[0]:
        raise EnforceNotMet(f"X has {x.shape[0]} rows, but Ids has {offsets.size - 1} sequences")
    rows = k.dev.upload(np.repeat(np.arange(x.shape[0]), np.diff(offsets)))
    columns = ids.reshape(-1).astype(np.int64)
    if not k.dev.is_gpu and columns.size and (columns.min() < 0 or columns.max() >= x.shape[1]):
        raise EnforceNotMet(f"Ids must lie in 0 ... {x.shape[1] - 1}, found {columns.min()} ... {columns.max()}")
    return rows * x.shape[1] + columns


@gradient("sequence_scatter", "X Ids Updates Out@GRAD", "X@GRAD Updates@GRAD", infer=_infer_scatter_grad)
def sequence_scatter_grad(k: Call, x: Array, ids: Array, updates: Array, dout: Array) -> tuple[Array, Array]:
    return dout.copy(), dout.reshape(-1)[_scatter_at(k, x, ids)].reshape(updates.shape)


def _infer_mask(c: InferContext) -> None:
    longest = c.attrs["maxlen"] if not c.has("MaxLenTensor") else -1
    c.set("Y", (*c.shape("X"), longest if longest > 0 else -1), c.attrs["out_dtype"], 0)


@op(
    "sequence_mask",
    "X MaxLenTensor?",
    "Y",
    {"maxlen": -1, "out_dtype": VarType.INT64},
    infer=_infer_mask,
    grad=False,
    lod="none",
)
def sequence_mask(k: Call, x: Array, longest: Array | None) -> Array:
    """Y[..., j] = 1 where j < X; maxlen columns, or as many as the largest X."""
    from fluidio.dtypes import to_numpy

    width = k.attrs["maxlen"]
    if longest is not None:
        width = int(k.dev.download(longest).reshape(-1)[0])
    if width < 0:
        width = int(k.dev.download(x).max(initial=0))
    return (k.xp.arange(width) < x[..., None]).astype(to_numpy(k.attrs["out_dtype"]))

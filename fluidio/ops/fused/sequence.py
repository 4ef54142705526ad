"""Sequence ops fused with their neighbours. Inference only."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.fused.dense import activated
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_conv(c: InferContext) -> None:
    c.set("Out", (c.shape("X")[0], c.shape("Filter")[1]), c.dtype("X"), c.input("X").lod_level)
    c.set("ColMat", (c.shape("X")[0], c.attrs["contextLength"] * c.shape("X")[1]), c.dtype("X"))


@op(
    "fusion_seqconv_eltadd_relu",
    "X Filter Bias",
    "Out ColMat?",
    {"contextLength": 1, "contextStart": 0, "contextStride": 1},
    infer=_infer_conv,
    grad=False,
    lod="kernel",
)
def fusion_seqconv_eltadd_relu(k: Call, x: Array, weight: Array, bias: Array) -> tuple[Array, Array]:
    """Out = relu of a convolution over the rows around each row of a sequence, plus Bias."""
    xp, a, ends = k.xp, k.attrs, k.lod("X")[-1]
    rows = np.arange(x.shape[0])
    owner = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    start, stop = np.asarray(ends)[owner], np.asarray(ends)[owner + 1]
    parts = []
    for step in range(a["contextLength"]):
        place = rows + a["contextStart"] + step
        inside = (place >= start) & (place < stop)
        parts.append(x[xp.asarray(np.where(inside, place, 0))] * xp.asarray(inside)[:, None].astype(x.dtype))
    columns = xp.concatenate(parts, axis=1)
    k.out_lods["Out"] = k.lod("X")
    return xp.maximum(columns @ weight + bias.reshape(-1), 0), columns


def _infer_expand(c: InferContext) -> None:
    first = c.inputs("X")[0]
    c.set("Out", (first.shape[0], c.shape("FCWeight")[1]), first.dtype, first.lod_level)


@op(
    "fusion_seqexpand_concat_fc",
    "X* FCWeight FCBias?",
    "Out FCOut?",
    {"fc_activation": "identity"},
    infer=_infer_expand,
    grad=False,
    lod="kernel",
)
def fusion_seqexpand_concat_fc(
    k: Call, parts: list[Array], weight: Array, bias: Array | None
) -> tuple[Array | None, Array | None]:
    """Out = fc of the rows of the first X, each joined with the single row of its sequence in the other inputs."""
    xp, lod = k.xp, k.lods["X"][0]
    owner = xp.asarray(np.repeat(np.arange(len(lod[-1]) - 1), np.diff(lod[-1])))
    joined = xp.concatenate([parts[0], *(part[owner] for part in parts[1:])], axis=1)
    out = joined @ weight
    if bias is not None:
        out += bias.reshape(-1)
    k.out_lods["Out"] = lod
    return activated(xp, out, k.attrs["fc_activation"]), None


def _pooled(k: Call, x: Array, lod: Any) -> Array:
    """Return one row for each sequence: the sum of its rows, perhaps divided by their number or its square root."""
    lengths = np.diff(lod[-1])
    owner = k.xp.asarray(np.repeat(np.arange(lengths.size), lengths))
    out = k.xp.zeros((lengths.size, x.shape[1]), x.dtype)
    k.dev.scatter_add(out, owner, x)
    kind = k.attrs["pooltype"]
    if kind == "SUM":
        return out
    count = lengths if kind == "AVERAGE" else np.sqrt(lengths)
    return out / k.xp.asarray(np.maximum(count, 1).astype(x.dtype))[:, None]


def _infer_pool(c: InferContext) -> None:
    inputs = c.inputs("X")
    level = inputs[0].lod_level if c.op.type == "fusion_seqpool_concat" else None
    c.set("Out", (-1, sum(v.shape[-1] for v in inputs)), inputs[0].dtype, level)


def _end_of_pool(k: Call, rows: int) -> None:
    k.out_lods["Out"] = (np.arange(rows + 1, dtype=np.int64),)


@op(
    "fusion_seqpool_concat",
    "X*",
    "Out",
    {"pooltype": "SUM", "axis": 1},
    infer=_infer_pool,
    grad=False,
    lod="kernel",
)
def fusion_seqpool_concat(k: Call, parts: list[Array]) -> Array:
    """Out = the pooled sequences of several inputs, side by side."""
    out = k.xp.concatenate([_pooled(k, x, lod) for x, lod in zip(parts, k.lods["X"])], axis=1)
    _end_of_pool(k, out.shape[0])
    return out


@op(
    "fusion_seqpool_cvm_concat",
    "X* CVM",
    "Out",
    {"pooltype": "SUM", "axis": 1, "use_cvm": True},
    infer=_infer_pool,
    grad=False,
    lod="kernel",
)
def fusion_seqpool_cvm_concat(k: Call, parts: list[Array], counts: Array) -> Array:
    """Out = the pooled sequences with logarithms of their show and click counts, side by side."""
    found = []
    for x, lod in zip(parts, k.lods["X"]):
        row = _pooled(k, x, lod)
        shown = k.xp.log(row[:, :1] + 1)
        found += [shown, k.xp.log(row[:, 1:2] + 1) - shown, row[:, 2:]]
    out = k.xp.concatenate(found, axis=1)
    _end_of_pool(k, out.shape[0])
    return out

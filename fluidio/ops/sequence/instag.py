"""filter_by_instag: keep the instances that carry one of the wanted tags."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_ATTRS: dict[str, Any] = {"is_lod": True, "out_val_if_empty": 0}


def _infer(c: InferContext) -> None:
    c.set("Out", (-1, *c.shape("Ins")[1:]), c.dtype("Ins"))
    # Fluid: the layer declares float64, the op produces float32.
    c.set("LossWeight", (-1, 1))
    c.set("IndexMap", (-1, 2), VarType.INT64)


def _bounds(k: Call, slot: str, rows: int) -> Array:
    lod = k.lod(slot)
    return np.asarray(lod[0]) if lod else np.arange(rows + 1)


@op(
    "filter_by_instag",
    "Ins Ins_tag Filter_tag",
    "Out LossWeight IndexMap",
    _ATTRS,
    infer=_infer,
    grad=True,
    lod="kernel",
)
def filter_by_instag(k: Call, ins: Array, tags: Array, wanted: Array) -> tuple[Array, ...]:
    """Out = the sequences of Ins with a tag in Filter_tag; LossWeight = 1 for each, 0 if none is left. On the host."""
    x, tag = k.dev.download(ins), k.dev.download(tags).reshape(-1)
    rows = _bounds(k, "Ins", x.shape[0]) if k.attrs["is_lod"] else np.arange(x.shape[0] + 1)
    owner = _bounds(k, "Ins_tag", tag.size)
    hits = np.isin(tag, k.dev.download(wanted).reshape(-1))
    kept = [i for i in range(owner.size - 1) if hits[owner[i] : owner[i + 1]].any()]
    if not kept:
        return _nothing(k, x)
    lengths = np.array([rows[i + 1] - rows[i] for i in kept], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    out = np.concatenate([x[rows[i] : rows[i + 1]] for i in kept])
    table = np.stack([starts[:-1], rows[kept], lengths], axis=1).astype(np.int64)
    k.out_lods["Out"] = (starts.astype(np.int64),)
    k.out_lods["LossWeight"] = k.out_lods["IndexMap"] = (np.arange(len(kept) + 1, dtype=np.int64),)
    return k.dev.upload(out), k.dev.upload(np.ones((len(kept), 1), np.float32)), k.dev.upload(table)


def _nothing(k: Call, x: Array) -> tuple[Array, ...]:
    one = (np.array([0, 1], np.int64),)
    k.out_lods["Out"] = k.out_lods["LossWeight"] = k.out_lods["IndexMap"] = one
    out = np.full((1, *x.shape[1:]), k.attrs["out_val_if_empty"], x.dtype)
    return k.dev.upload(out), k.dev.upload(np.zeros((1, 1), np.float32)), k.dev.upload(np.array([[0, 1, 1]], np.int64))


@gradient("filter_by_instag", "Ins IndexMap LossWeight Out@GRAD", "Ins@GRAD")
def filter_by_instag_grad(k: Call, ins: Array, table: Array, weight: Array, dout: Array) -> Array:
    d = k.dev.download(dout)
    dx = np.zeros(ins.shape, d.dtype)
    if k.dev.download(weight).any():
        for start, source, length in k.dev.download(table):
            dx[source : source + length] = d[start : start + length]
    return k.dev.upload(dx)

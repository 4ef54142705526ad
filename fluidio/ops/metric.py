"""Top-k and accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext

__all__: list[str] = []


def _infer_top_k(c: InferContext) -> None:
    shape = (*c.shape("X")[:-1], c.attrs["k"])
    c.set("Out", shape, c.dtype("X"), c.input("X").lod_level)
    c.set("Indices", shape, VarType.INT64, c.input("X").lod_level)


@op("top_k", "X K?", "Out Indices", {"k": 1}, infer=_infer_top_k, grad=True)
def top_k(k: Call, x: Any, k_tensor: Any) -> Any:
    """Out, Indices = the k largest entries of each row, largest first; equal ones by lower index."""
    xp = k.xp
    count = k.attrs["k"] if k_tensor is None else int(k.dev.download(k_tensor).reshape(-1)[0])
    if count == 1:
        indices = x.argmax(axis=-1)[..., None]
    else:
        indices = xp.argsort(-x, axis=-1, kind="stable")[..., :count]
    return xp.take_along_axis(x, indices, axis=-1), indices.astype(np.int64)


@gradient("top_k", "X Indices Out@GRAD", "X@GRAD")
def top_k_grad(k: Call, x: Any, indices: Any, dout: Any) -> Any:
    dx = k.xp.zeros_like(x)
    k.xp.put_along_axis(dx, indices, dout, axis=-1)
    return dx


def _infer_accuracy(c: InferContext) -> None:
    c.set("Accuracy", (1,), VarType.FP32, 0)
    c.set("Correct", (1,), VarType.INT32, 0)
    c.set("Total", (1,), VarType.INT32, 0)


@op("accuracy", "Out Indices Label", "Accuracy Correct Total", infer=_infer_accuracy, grad=False, lod="none")
def accuracy(k: Call, out: Any, indices: Any, label: Any) -> Any:
    """Accuracy = share of rows whose label is among the indices."""
    xp = k.xp
    rows = indices.shape[0]
    correct = (indices == label.reshape(-1, 1)).any(axis=-1).sum()
    share = (correct / xp.float32(max(rows, 1))).astype(np.float32).reshape(1)
    return share, correct.astype(np.int32).reshape(1), xp.full(1, rows, np.int32)

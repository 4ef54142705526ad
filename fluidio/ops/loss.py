"""Softmax and losses on probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op, same_as
from fluidio.program.infer import InferContext

__all__: list[str] = []


@op("softmax", "X", "Out", {"axis": -1, "use_cudnn": False, "data_format": "AnyLayout"}, infer=same_as("X"), grad=True)
def softmax(k: Call, x: Any) -> Any:
    """Out = softmax of X along axis.

    Fluid: differences to the maximum are cut at -64 before exp.
    """
    axis = k.attrs["axis"]
    shifted = x - x.max(axis=axis, keepdims=True)
    k.xp.maximum(shifted, x.dtype.type(-64), out=shifted)
    k.xp.exp(shifted, out=shifted)
    shifted /= shifted.sum(axis=axis, keepdims=True)
    return shifted


@gradient("softmax", "Out Out@GRAD", "X@GRAD")
def softmax_grad(k: Call, out: Any, dout: Any) -> Any:
    return (dout - (dout * out).sum(axis=k.attrs["axis"], keepdims=True)) * out


def _rows(c: InferContext) -> None:
    c.set("Y", (*c.shape("X")[:-1], 1), c.dtype("X"), c.input("X").lod_level)


def check_labels(k: Call, label: Any, classes: int, ignore: int) -> None:
    """Refuse labels outside [0, classes); on a GPU the next fetch does, so that the stream does not stop for it."""
    k.dev.check_range(label, classes, ignore, k.op)


def _cross_entropy(k: Call, x: Any, label: Any) -> Any:
    xp, a = k.xp, k.attrs
    if a.get("soft_label"):
        return -(label * _log(xp, x)).sum(axis=-1, keepdims=True)
    flat = x.reshape(-1, x.shape[-1])
    ids = label.reshape(-1)
    ignore = a["ignore_index"]
    check_labels(k, ids, flat.shape[1], ignore)
    picked = flat[xp.arange(flat.shape[0]), xp.where(ids == ignore, 0, ids)]
    losses = -_log(xp, picked)
    losses = xp.where(ids == ignore, losses.dtype.type(0), losses)  # no mask assignment: CuPy waits for it
    return losses.reshape(*x.shape[:-1], 1)


def _log(xp: Any, p: Any) -> Any:
    with np.errstate(divide="ignore"):
        return xp.clip(xp.log(p), -1e20, 1e20)  # Fluid: an infinite loss is cut at 1e20


@op("cross_entropy", "X Label", "Y", {"soft_label": False, "ignore_index": -100}, infer=_rows, grad=True)
def cross_entropy(k: Call, x: Any, label: Any) -> Any:
    """Y = -log of the probability of the label (or the sum over soft labels)."""
    return _cross_entropy(k, x, label)


@gradient("cross_entropy", "X Label Y@GRAD", "X@GRAD")
def cross_entropy_grad(k: Call, x: Any, label: Any, dy: Any) -> Any:
    xp = k.xp
    if k.attrs["soft_label"]:
        return -dy * label / x
    flat = x.reshape(-1, x.shape[-1])
    ids = label.reshape(-1)
    ignored = ids == k.attrs["ignore_index"]
    rows = xp.arange(flat.shape[0])
    ids = xp.where(ignored, 0, ids)
    dx = xp.zeros_like(flat)
    dx[rows, ids] = xp.where(ignored, x.dtype.type(0), -dy.reshape(-1) / flat[rows, ids])
    return dx.reshape(x.shape)

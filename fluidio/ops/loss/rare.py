"""Losses and scores without a layer: bce_loss, nll_loss, modified_huber_loss."""

from __future__ import annotations

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op, same_as
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_LEAST_LOG = -100.0


@op("bce_loss", "X Label", "Out", infer=same_as("X"), grad=True)
def bce_loss(k: Call, x: Array, label: Array) -> Array:
    """Out = the cross entropy of probabilities X; logarithms are at least -100."""
    xp = k.xp
    with np.errstate(divide="ignore"):
        yes, no = xp.maximum(xp.log(x), _LEAST_LOG), xp.maximum(xp.log(1 - x), _LEAST_LOG)
    return ((label - 1) * no - label * yes).astype(x.dtype, copy=False)


@gradient("bce_loss", "X Label Out@GRAD", "X@GRAD")
def bce_loss_grad(k: Call, x: Array, label: Array, dout: Array) -> Array:
    return dout * (x - label) / k.xp.maximum((1 - x) * x, x.dtype.type(1e-12))


def _infer_nll(c: InferContext) -> None:
    batch, _, *places = c.shape("X")
    c.set("Out", (batch, *places) if c.attrs["reduction"] == "none" else (1,), c.dtype("X"))
    c.set("Total_weight", (1,), c.dtype("X"))


def _nll_weights(k: Call, x: Array, label: Array, weight: Array | None) -> tuple[Array, Array]:
    """Return the class of each element (0 if ignored) and its weight."""
    xp = k.xp
    counts = label != k.attrs["ignore_index"]
    chosen = xp.where(counts, label, 0)
    each = xp.ones(label.shape, x.dtype) if weight is None else weight[chosen]
    return chosen, each * counts


@op(
    "nll_loss",
    "X Label Weight?",
    "Out Total_weight",
    {"ignore_index": -100, "reduction": "mean"},
    infer=_infer_nll,
    grad=True,
    lod="none",
)
def nll_loss(k: Call, x: Array, label: Array, weight: Array) -> tuple[Array, Array]:
    """Out = minus the log-probability of each label times its weight: one by one, summed, or averaged by weight."""
    xp = k.xp
    chosen, each = _nll_weights(k, x, label, weight)
    losses = -xp.take_along_axis(x, chosen[:, None], axis=1)[:, 0] * each
    total = each.sum()
    if k.attrs["reduction"] == "none":
        return losses, xp.zeros(1, x.dtype)
    value = losses.sum()
    if k.attrs["reduction"] == "mean":
        value = value / xp.where(total == 0, 1, total)
    return xp.asarray(value, x.dtype).reshape(1), xp.asarray(total, x.dtype).reshape(1)


@gradient("nll_loss", "X Label Weight Total_weight Out@GRAD", "X@GRAD", lod="none")
def nll_loss_grad(k: Call, x: Array, label: Array, weight: Array, total: Array, dout: Array) -> Array:
    xp = k.xp
    chosen, each = _nll_weights(k, x, label, weight)
    pull = -each * dout
    if k.attrs["reduction"] == "mean":
        pull = pull / xp.where(total == 0, 1, total)
    classes = xp.arange(x.shape[1]).reshape(1, -1, *(1,) * (x.ndim - 2))
    return (pull[:, None] * (chosen[:, None] == classes)).astype(x.dtype, copy=False)


def _infer_huber(c: InferContext) -> None:
    c.set("IntermediateVal", c.shape("X"), c.dtype("X"))
    c.set("Out", (c.shape("X")[0], 1), c.dtype("X"))


@op("modified_huber_loss", "X Y", "IntermediateVal Out", infer=_infer_huber, grad=True)
def modified_huber_loss(k: Call, x: Array, y: Array) -> tuple[Array, Array]:
    """Out = max(0, 1 - m)^2, or -4 * m below -1, of the margin m = X * (2 * Y - 1)."""
    xp = k.xp
    margin = x * (2 * y - 1)
    return margin, xp.where(margin < -1, -4 * margin, xp.where(margin < 1, (1 - margin) ** 2, 0)).astype(x.dtype)


@gradient("modified_huber_loss", "Y IntermediateVal Out@GRAD", "X@GRAD")
def modified_huber_loss_grad(k: Call, y: Array, margin: Array, dout: Array) -> Array:
    xp = k.xp
    sign = 2 * y - 1
    slope = xp.where(margin < -1, -4 * sign, xp.where(margin < 1, -2 * (1 - margin) * sign, 0))
    return (slope * dout).astype(dout.dtype, copy=False)

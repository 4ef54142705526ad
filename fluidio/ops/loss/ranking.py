"""Losses that compare: rank, margin_rank, hinge, bpr and cosine similarity."""

from __future__ import annotations

import math
from types import ModuleType

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.loss.cross_entropy import check_labels
from fluidio.ops.math.activation import sigmoid, softplus
from fluidio.ops.math.elementwise import reduced
from fluidio.ops.registry import gradient, op, same_as
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


@op("rank_loss", "Label Left Right", "Out", infer=same_as("Label"), grad=True)
def rank_loss(k: Call, label: Array, left: Array, right: Array) -> Array:
    """Out = log(1 + exp(d)) - label * d with d = left - right, pair by pair; [n] and [n, 1] may be mixed."""
    d = left.reshape(label.shape) - right.reshape(label.shape)
    return softplus(k.xp, d) - label * d


@gradient("rank_loss", "Label Left Right Out@GRAD", "Left@GRAD Right@GRAD")
def rank_loss_grad(k: Call, label: Array, left: Array, right: Array, dout: Array) -> KernelResult:
    slope = dout * (sigmoid(k.xp, left.reshape(label.shape) - right.reshape(label.shape)) - label)
    return (
        slope.reshape(left.shape) if k.wants("Left@GRAD") else None,
        -slope.reshape(right.shape) if k.wants("Right@GRAD") else None,
    )


@op(
    "margin_rank_loss",
    "Label X1 X2",
    "Activated Out",
    {"margin": 0.0},
    infer=same_as("X1", "Activated", "Out"),
    grad=True,
)
def margin_rank_loss(k: Call, label: Array, x1: Array, x2: Array) -> tuple[Array, Array]:
    """Out = max(0, margin - label * (x1 - x2))."""
    out = k.xp.maximum(k.attrs["margin"] - label * (x1 - x2), 0)
    return (out > 0).astype(x1.dtype), out


@gradient("margin_rank_loss", "Label Activated Out@GRAD", "X1@GRAD X2@GRAD")
def margin_rank_loss_grad(k: Call, label: Array, active: Array, dout: Array) -> KernelResult:
    slope = dout * label * active
    return -slope if k.wants("X1@GRAD") else None, slope if k.wants("X2@GRAD") else None


@op("hinge_loss", "Logits Labels", "Loss", infer=same_as("Logits", "Loss"), grad=True)
def hinge_loss(k: Call, x: Array, label: Array) -> Array:
    """Loss = max(0, 1 - (2 * label - 1) * x)."""
    return k.xp.maximum(1 - (2 * label - 1) * x, 0)


@gradient("hinge_loss", "Logits Labels Loss@GRAD", "Logits@GRAD")
def hinge_loss_grad(k: Call, x: Array, label: Array, dloss: Array) -> Array:
    side = 2 * label - 1
    return -dloss * side * (side * x < 1)


def _infer_rows(c: InferContext) -> None:
    x, label = c.shape("X"), c.shape("Label")
    c.check(len(x) == len(label), f"X {list(x)} and Label {list(label)} must have the same number of dims")
    c.set("Y", (*c.shape("X")[:-1], 1), c.dtype("X"), c.input("X").lod_level)


def _bpr_parts(k: Call, x: Array, label: Array) -> tuple[Array, Array, Array]:
    rows, ids = x.reshape(-1, x.shape[-1]), label.reshape(-1)
    check_labels(k, ids, rows.shape[1], -100)
    at = k.xp.arange(rows.shape[0])
    return rows - rows[at, ids][:, None], at, ids


@op("bpr_loss", "X Label", "Y", infer=_infer_rows, grad=True)
def bpr_loss(k: Call, x: Array, label: Array) -> Array:
    """Y = mean over the other classes j of -log sigmoid(x[label] - x[j])."""
    lead, at, ids = _bpr_parts(k, x, label)
    losses = softplus(k.xp, lead)
    losses[at, ids] = 0
    return (losses.sum(axis=1) / (x.shape[-1] - 1)).reshape(*x.shape[:-1], 1)


@gradient("bpr_loss", "X Label Y@GRAD", "X@GRAD")
def bpr_loss_grad(k: Call, x: Array, label: Array, dy: Array) -> Array:
    lead, at, ids = _bpr_parts(k, x, label)
    slope = sigmoid(k.xp, lead) * (dy.reshape(-1, 1) / (x.shape[-1] - 1))
    slope[at, ids] = 0
    slope[at, ids] = -slope.sum(axis=1)
    return slope.reshape(x.shape)


def _infer_cos_sim(c: InferContext) -> None:
    x, y = c.shape("X"), c.shape("Y")
    c.check(y[0] in (1, -1) or x[0] in (y[0], -1), f"Y must have one row or the {x[0]} rows of X, it has {y[0]}")
    c.set("Out", (x[0], 1), c.dtype("X"), c.input("X").lod_level)
    c.set("XNorm", (x[0], 1), c.dtype("X"))
    c.set("YNorm", (y[0], 1), c.dtype("X"))


def _row_norms(xp: ArrayLibrary | ModuleType, rows: Array) -> Array:
    """Return the norm of each row, at least 1e-4 as in Fluid: a row of zeros has the cosine 0."""
    return xp.maximum(xp.sqrt((rows * rows).sum(axis=1, keepdims=True)), rows.dtype.type(1e-4))


@op("cos_sim", "X Y", "Out XNorm YNorm", infer=_infer_cos_sim, grad=True)
def cos_sim(k: Call, x: Array, y: Array) -> tuple[Array, ...]:
    """Out = the cosine of the angle between each row of X and of Y (or Y's only row)."""
    xs, ys = x.reshape(x.shape[0], math.prod(x.shape[1:])), y.reshape(y.shape[0], math.prod(y.shape[1:]))
    xn, yn = _row_norms(k.xp, xs), _row_norms(k.xp, ys)
    return (xs * ys).sum(axis=1, keepdims=True) / (xn * yn), xn, yn


@gradient("cos_sim", "X Y Out XNorm YNorm Out@GRAD", "X@GRAD Y@GRAD")
def cos_sim_grad(k: Call, x: Array, y: Array, out: Array, xn: Array, yn: Array, dout: Array) -> KernelResult:
    xs, ys = x.reshape(x.shape[0], math.prod(x.shape[1:])), y.reshape(y.shape[0], math.prod(y.shape[1:]))
    both = xn * yn
    dx = dout * (ys / both - out * xs / (xn * xn)) if k.wants("X@GRAD") else None
    dy = reduced(dout * (xs / both - out * ys / (yn * yn)), ys.shape) if k.wants("Y@GRAD") else None
    return None if dx is None else dx.reshape(x.shape), None if dy is None else dy.reshape(y.shape)

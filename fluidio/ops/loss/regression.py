"""Losses on real numbers: smooth_l1, huber, log_loss, kldiv, and label smoothing."""

from __future__ import annotations

import math

import numpy as np

from fluidio.ops.compiled import curves
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op, same_as
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _check_alike(c: InferContext, first: str, second: str) -> None:
    """Check that two inputs have the same shape, as far as it is known."""
    x, y = c.shape(first), c.shape(second)
    fits = len(x) == len(y) and all(a == b or a < 0 or b < 0 for a, b in zip(x, y))
    c.check(fits, f"{first} {list(x)} and {second} {list(y)} must have the same shape")


def _infer_smooth_l1(c: InferContext) -> None:
    x = c.shape("X")
    _check_alike(c, "X", "Y")
    c.check(len(x) >= 2, f"X must have at least 2 dims, its shape is {list(x)}")
    c.check(c.has("OutsideWeight") or not c.has("InsideWeight"), "InsideWeight needs an OutsideWeight")
    c.same("Diff", "X")
    c.set("Out", (x[0], 1), c.dtype("X"), c.input("X").lod_level)


@op("smooth_l1_loss", "X Y InsideWeight? OutsideWeight?", "Diff Out", {"sigma": 1.0}, infer=_infer_smooth_l1, grad=True)
def smooth_l1_loss(k: Call, x: Array, y: Array, inside: Array | None, outside: Array | None) -> tuple[Array, Array]:
    """Out = the sum over each row of 0.5 * (sigma * d)^2 where |d| < 1/sigma^2, and |d| - 0.5/sigma^2 elsewhere."""
    squared = k.attrs["sigma"] ** 2
    inside, outside = _weights(inside, outside)
    diff = x - y if inside is None else (x - y) * inside
    edge = _reciprocal(squared)
    loss = curves.loss("smooth_l1_loss", diff, None, (0.5 * squared, edge, 0.5 * edge))
    if loss is None:
        size = k.xp.abs(diff)
        loss = k.xp.where(size < edge, 0.5 * squared * diff * diff, size - 0.5 * edge)
    if outside is not None:
        loss = loss * outside
    return diff, loss.reshape(x.shape[0], math.prod(x.shape[1:])).sum(axis=1, keepdims=True)


def _weights(inside: Array | None, outside: Array | None) -> tuple[Array | None, Array | None]:
    """Return the weights. Fluid: an OutsideWeight alone does not count."""
    return (None, None) if inside is None else (inside, outside)


def _reciprocal(squared: float) -> float:
    return 1 / squared if squared else math.inf


@gradient("smooth_l1_loss", "Diff InsideWeight OutsideWeight Out@GRAD", "X@GRAD Y@GRAD")
def smooth_l1_loss_grad(k: Call, diff: Array, inside: Array | None, outside: Array | None, dout: Array) -> KernelResult:
    squared = k.attrs["sigma"] ** 2
    slope = curves.loss("smooth_l1_loss_grad", diff, None, (squared, _reciprocal(squared)))
    if slope is None:
        slope = k.xp.where(k.xp.abs(diff) < _reciprocal(squared), squared * diff, k.xp.sign(diff))
    for weight in _weights(inside, outside):
        if weight is not None:
            slope = slope * weight
    slope = slope * dout.reshape(-1, *(1,) * (diff.ndim - 1))
    return slope if k.wants("X@GRAD") else None, -slope if k.wants("Y@GRAD") else None


def _infer_huber(c: InferContext) -> None:
    _check_alike(c, "X", "Y")
    for slot in ("Residual", "Out"):
        c.set(slot, c.shape("Y"), c.dtype("X"), c.input("X").lod_level)


@op("huber_loss", "X Y", "Residual Out", {"delta": 0.0}, infer=_infer_huber, grad=True)
def huber_loss(k: Call, x: Array, y: Array) -> tuple[Array, Array]:
    """Out = 0.5 * r^2 where |r| <= delta, delta * (|r| - 0.5 * delta) elsewhere, with r = Y - X."""
    delta = k.attrs["delta"]
    residual = y - x
    loss = curves.loss("huber_loss", residual, None, (delta,))
    if loss is None:
        size = k.xp.abs(residual)
        loss = k.xp.where(size <= delta, 0.5 * residual * residual, delta * (size - 0.5 * delta))
    return residual, loss


@gradient("huber_loss", "Residual Out@GRAD", "X@GRAD Y@GRAD")
def huber_loss_grad(k: Call, residual: Array, dout: Array) -> KernelResult:
    delta = residual.dtype.type(k.attrs["delta"])
    slope = curves.loss("huber_loss_grad", residual, dout, (float(delta),))
    if slope is None:
        slope = k.xp.where(k.xp.abs(residual) <= delta, residual, k.xp.sign(residual) * delta) * dout
    return -slope if k.wants("X@GRAD") else None, slope if k.wants("Y@GRAD") else None


@op("log_loss", "Predicted Labels", "Loss", {"epsilon": 1e-4}, infer=same_as("Predicted", "Loss"), grad=True)
def log_loss(k: Call, p: Array, label: Array) -> Array:
    """Loss = -label * log(p + epsilon) - (1 - label) * log(1 - p + epsilon)."""
    e = k.attrs["epsilon"]
    return -label * k.xp.log(p + e) - (1 - label) * k.xp.log(1 - p + e)


@gradient("log_loss", "Predicted Labels Loss@GRAD", "Predicted@GRAD")
def log_loss_grad(k: Call, p: Array, label: Array, dloss: Array) -> Array:
    e = k.attrs["epsilon"]
    return dloss * ((1 - label) / (1 - p + e) - label / (p + e))


def _infer_kldiv(c: InferContext) -> None:
    shape = c.shape("X") if c.attrs["reduction"] == "none" else (1,)
    c.check(
        c.attrs["reduction"] in ("none", "mean", "sum", "batchmean"),
        f"reduction must be 'none', 'mean', 'sum' or 'batchmean', got {c.attrs['reduction']!r}",
    )
    _check_alike(c, "X", "Target")
    c.set("Loss", shape, c.dtype("X"), 0)


@op("kldiv_loss", "X Target", "Loss", {"reduction": "mean"}, infer=_infer_kldiv, grad=True, lod="none")
def kldiv_loss(k: Call, x: Array, target: Array) -> Array:
    """Loss = target * (log target - X), zero where the target is not positive; X holds log probabilities."""
    positive = target > 0
    loss = k.xp.where(positive, target * (k.xp.log(k.xp.where(positive, target, 1)) - x), 0).astype(x.dtype, copy=False)
    kind = k.attrs["reduction"]
    if kind == "none":
        return loss
    total = loss.sum().reshape(1)
    return total / _share(kind, x)


def _share(kind: str, x: Array) -> int:
    shares: dict[str, int] = {"sum": 1, "mean": x.size, "batchmean": x.shape[0]}
    return shares[kind]


@gradient("kldiv_loss", "X Target Loss@GRAD", "X@GRAD")
def kldiv_loss_grad(k: Call, x: Array, target: Array, dloss: Array) -> Array:
    kind = k.attrs["reduction"]
    slope = k.xp.where(target > 0, -target, 0).astype(x.dtype, copy=False)
    return slope * dloss if kind == "none" else slope * (dloss.reshape(()) / _share(kind, x))


@op("label_smooth", "X PriorDist?", "Out", {"epsilon": 0.0}, infer=same_as("X"), grad=True)
def label_smooth(k: Call, x: Array, prior: Array | None) -> Array:
    """Out = (1 - epsilon) * X + epsilon * the prior (uniform by default)."""
    e = k.attrs["epsilon"]
    return _less_one(e) * x + (
        float(np.float32(e) / np.float32(x.shape[-1])) if prior is None else e * prior.reshape(-1)
    )


@gradient("label_smooth", "Out@GRAD", "X@GRAD")
def label_smooth_grad(k: Call, dout: Array) -> Array:
    return dout * _less_one(k.attrs["epsilon"])


def _less_one(epsilon: float) -> float:
    return float(np.float32(1) - np.float32(epsilon))  # Fluid: in 32 bits even for doubles

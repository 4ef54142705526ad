"""Losses for embeddings, rare classes and teachers: center_loss, sigmoid_focal_loss, teacher_student_sigmoid_loss."""

from __future__ import annotations

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.loss.cross_entropy import check_labels
from fluidio.ops.math.activation import sigmoid, softplus
from fluidio.ops.registry import gradient, op, same_as
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_teacher(c: InferContext) -> None:
    for slot in ("X", "Label"):
        c.check(len(c.shape(slot)) == 2, f"{slot} must have 2 dims, it has shape {list(c.shape(slot))}")
    c.set("Y", (c.shape("X")[0], 1), c.dtype("X"), c.input("X").lod_level)


@op(
    "teacher_student_sigmoid_loss",
    "X Label",
    "Y",
    {"soft_max_up_bound": 15.0, "soft_max_lower_bound": -15.0},
    infer=_infer_teacher,
    grad=True,
)
def teacher_student_sigmoid_loss(k: Call, x: Array, label: Array) -> Array:
    """Y = the click's cross entropy plus the teacher's.

    A label encodes both: -2 no click, -1 click; with a teacher's score z, it is z without and 1 + z with a click.
    """
    xp = k.xp
    positive, rest = xp.maximum(x, 0), xp.log1p(xp.exp(-xp.abs(x)))  # together log(1 + exp(x))
    click = (label >= 1) | ((label >= -1) & (label < 0))
    score = xp.where(label >= 1, label - 1, label)
    first = positive - x * click + rest
    return xp.where(label >= 0, first + positive - x * score + rest, first)


@gradient("teacher_student_sigmoid_loss", "X Label Y@GRAD", "X@GRAD")
def teacher_student_sigmoid_loss_grad(k: Call, x: Array, label: Array, dy: Array) -> Array:
    xp = k.xp
    low, high = k.attrs["soft_max_lower_bound"], k.attrs["soft_max_up_bound"]
    prob = sigmoid(xp, xp.clip(x, low, high))
    click = (label >= 1) | ((label >= -1) & (label < 0))
    score = xp.where(label >= 1, label - 1, label)
    slope = prob - click + xp.where(label >= 0, prob - score, 0)
    return (dy * slope * ((x > low) & (x < high))).astype(x.dtype, copy=False)


def _infer_center(c: InferContext) -> None:
    c.same("CentersOut", "Centers")
    c.same("SampleCenterDiff", "X")
    c.set("Loss", (c.shape("X")[0], 1), c.dtype("X"), 0)


@op(
    "center_loss",
    "X Label Centers CenterUpdateRate",
    "CentersOut SampleCenterDiff Loss",
    {"cluster_num": 1, "need_update": True},
    infer=_infer_center,
    grad=True,
    lod="none",
)
def center_loss(k: Call, x: Array, label: Array, centers: Array, rate: Array) -> tuple[Array, ...]:
    """Loss = half the squared distance of each row from the centre of its class, which moves towards the row."""
    rows = label.reshape(-1)
    check_labels(k, rows, centers.shape[0], -1)
    diff = x - centers.take(rows, axis=0)
    loss = (diff * diff).sum(axis=1, keepdims=True) * 0.5
    if k.attrs["need_update"]:
        pull = k.xp.zeros_like(centers)
        k.dev.scatter_add(pull, rows, diff)
        seen = k.xp.bincount(rows, minlength=centers.shape[0]).astype(centers.dtype)
        centers += rate.reshape(-1)[0] * pull / (1 + seen)[:, None]
    return centers, diff, loss


@gradient("center_loss", "SampleCenterDiff Loss@GRAD", "X@GRAD", carried="X")
def center_loss_grad(k: Call, diff: Array, dloss: Array) -> Array:
    return diff * dloss


def _focal_parts(k: Call, x: Array, label: Array, count: Array) -> tuple[Array, Array, Array]:
    """Return where the class is the label, where it is not, and the divisor of the loss."""
    ids = label.reshape(-1, 1)
    classes = k.xp.arange(1, x.shape[1] + 1)[None, :]
    right = ids == classes
    return right, (ids != -1) & ~right, k.xp.maximum(count.reshape(-1)[0], 1).astype(x.dtype)


@op("sigmoid_focal_loss", "X Label FgNum", "Out", {"gamma": 2.0, "alpha": 0.25}, infer=same_as("X"), grad=True)
def sigmoid_focal_loss(k: Call, x: Array, label: Array, count: Array) -> Array:
    """Out = the cross entropy of sigmoid(X), with little weight for easy examples; label 0 is the background."""
    xp, gamma, alpha = k.xp, k.attrs["gamma"], k.attrs["alpha"]
    right, wrong, share = _focal_parts(k, x, label, count)
    p = sigmoid(xp, x)
    near = (1 - p) ** gamma * xp.log(xp.maximum(p, np.finfo(np.float32).tiny))
    far = -(p**gamma) * softplus(xp, x)
    return -(right * near * alpha + wrong * far * (1 - alpha)) / share


@gradient("sigmoid_focal_loss", "X Label FgNum Out@GRAD", "X@GRAD")
def sigmoid_focal_loss_grad(k: Call, x: Array, label: Array, count: Array, dout: Array) -> Array:
    xp, gamma, alpha = k.xp, k.attrs["gamma"], k.attrs["alpha"]
    right, wrong, share = _focal_parts(k, x, label, count)
    p = sigmoid(xp, x)
    near = (1 - p) ** gamma * (1 - p - gamma * p * xp.log(xp.maximum(p, np.finfo(np.float32).tiny)))
    far = -(p**gamma) * (p + gamma * (1 - p) * softplus(xp, x))
    return -dout * (right * near * alpha + wrong * far * (1 - alpha)) / share

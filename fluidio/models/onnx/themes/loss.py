"""Losses and metrics, which test programs compute besides their predictions."""

from __future__ import annotations

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps
from fluidio.models.onnx.themes.activation import log1p, softplus
from fluidio.models.onnx.themes.norm import softmax_parts

__all__: list[str] = []


def _log(k: Op, p: Value) -> Value:
    return k("Clip", k("Log", p), np.asarray(-1e20, p.dtype), np.asarray(1e20, p.dtype))


def _ids(k: Op, label: Value, rank: int) -> Value:
    """Return labels of shape [..., 1]."""
    label = k.g.cast(label, np.int64)
    return label if k.rank(label) == rank else k.g.unsqueeze(label, rank - 1)


def _picked(k: Op, x: Value, ids: Value, axis: int = -1) -> tuple[Value, Value]:
    """Return each row's entry at its label, and which rows are ignored."""
    ignored = k("Equal", ids, int(k.attr("ignore_index")))
    safe = k("Where", ignored, 0, ids)
    return k("GatherElements", x, safe, axis=axis), ignored


@maps("cross_entropy", "cross_entropy2")
def cross_entropy(k: Op, x: Value, label: Value) -> tuple[Value, Value | None]:
    if k.attr("soft_label"):
        loss = k("ReduceSum", k("Mul", label, _log(k, x)), np.array([-1]), keepdims=1)
        return k("Neg", loss), None
    rank = k.rank(x)
    match, ignored = _picked(k, x, _ids(k, label, rank))
    y = k("Where", ignored, k.g.value(0, x), k("Neg", _log(k, match)))
    match = k("Where", ignored, k.g.value(0, x), match)
    if k.rank(label) < rank:
        y, match = k.g.squeeze(y, rank - 1), k.g.squeeze(match, rank - 1)
    return y, match


@maps("softmax_with_cross_entropy")
def softmax_with_cross_entropy(k: Op, logits: Value, label: Value) -> tuple[Value, Value]:
    rank = k.rank(logits)
    axis = k.axis(int(k.attr("axis")), rank)
    shifted, total = softmax_parts(k, logits, axis)
    prob = k("Div", k("Exp", shifted), total)
    logs = k("Sub", shifted, k("Log", total))
    if k.attr("soft_label"):
        return prob, k("Neg", k("ReduceSum", k("Mul", label, logs), np.array([axis]), keepdims=1))
    match, ignored = _picked(k, logs, k.g.cast(label, np.int64), axis)
    return prob, k("Where", ignored, k.g.value(0, logits), k("Neg", match))


@maps("sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(k: Op, x: Value, label: Value) -> Value:
    tail = log1p(k, k("Exp", k("Neg", k("Abs", x))))
    out = k("Add", k("Sub", k("Max", x, 0), k("Mul", x, label)), tail)
    kept = k.g.cast(k("Not", k("Equal", k.g.cast(label, np.int64), int(k.attr("ignore_index")))), x.dtype)
    out = k("Mul", out, kept)
    if k.attr("normalize"):
        away = k("Abs", k("Sub", k.g.cast(label, x.dtype), float(k.attr("ignore_index"))))
        counted = k.g.cast(k("Greater", away, 1e-6), x.dtype)
        out = k("Div", out, k("ReduceSum", counted, keepdims=0))
    return out


@maps("smooth_l1_loss")
def smooth_l1_loss(k: Op, x: Value, y: Value, inside: Value | None, outside: Value | None) -> tuple[Value, Value]:
    squared = float(k.attr("sigma")) ** 2
    diff = k("Sub", x, y)
    if inside is not None:
        diff = k("Mul", diff, inside)
    size = k("Abs", diff)
    small = k("Mul", k("Mul", diff, diff), 0.5 * squared)
    loss = k("Where", k("Less", size, 1 / squared), small, k("Sub", size, 0.5 / squared))
    if outside is not None:
        loss = k("Mul", loss, outside)
    return diff, k("ReduceSum", k.g.flat2(loss), np.array([1]), keepdims=1)


@maps("huber_loss")
def huber_loss(k: Op, x: Value, y: Value) -> tuple[Value, Value]:
    delta = float(k.attr("delta"))
    residual = k("Sub", y, x)
    size = k("Abs", residual)
    small = k("Mul", k("Mul", residual, residual), 0.5)
    large = k("Mul", k("Sub", size, 0.5 * delta), delta)
    return residual, k("Where", k("LessOrEqual", size, delta), small, large)


@maps("log_loss")
def log_loss(k: Op, p: Value, label: Value) -> Value:
    e = float(k.attr("epsilon"))
    yes = k("Mul", label, k("Log", k("Add", p, e)))
    rest = k("Sub", k.g.value(1, p), p)
    no = k("Mul", k("Sub", k.g.value(1, p), label), k("Log", k("Add", rest, e)))
    return k("Neg", k("Add", yes, no))


@maps("bce_loss")
def bce_loss(k: Op, p: Value, label: Value) -> Value:
    one = k.g.value(1, p)
    yes = k("Mul", label, k("Max", k("Log", p), -100.0))
    no = k("Mul", k("Sub", one, label), k("Max", k("Log", k("Sub", one, p)), -100.0))
    return k("Neg", k("Add", yes, no))


@maps("kldiv_loss")
def kldiv_loss(k: Op, x: Value, target: Value) -> Value:
    positive = k("Greater", target, 0)
    logs = k("Log", k("Where", positive, target, k.g.value(1, x)))
    loss = k("Where", positive, k("Mul", target, k("Sub", logs, x)), k.g.value(0, x))
    kind = k.attr("reduction")
    if kind == "none":
        return loss
    total = k("ReduceSum", k.g.flat(loss), keepdims=1)
    if kind == "sum":
        return total
    count = k("Size", x) if kind == "mean" else k.g.scalar(k.g.rows(x))
    return k("Div", total, k.g.cast(count, x.dtype))


@maps("rank_loss")
def rank_loss(k: Op, label: Value, left: Value, right: Value) -> Value:
    shape = k.g.shape(label)
    d = k("Sub", k("Reshape", left, shape), k("Reshape", right, shape))
    d = Value(d.name, d.dtype, label.rank)
    return k("Sub", softplus(k, d), k("Mul", label, d))


@maps("margin_rank_loss")
def margin_rank_loss(k: Op, label: Value, x1: Value, x2: Value) -> tuple[Value, Value]:
    apart = k("Mul", label, k("Sub", x1, x2))
    out = k("Max", k("Sub", k.g.value(float(k.attr("margin")), x1), apart), 0)
    return k.g.cast(k("Greater", out, 0), x1.dtype), out


@maps("hinge_loss")
def hinge_loss(k: Op, x: Value, label: Value) -> Value:
    sign = k("Sub", k("Mul", label, 2.0), 1.0)
    return k("Max", k("Sub", k.g.value(1, x), k("Mul", sign, x)), 0)


@maps("bpr_loss")
def bpr_loss(k: Op, x: Value, label: Value) -> Value:
    ids = k.g.reshape(k.g.cast(label, np.int64), [-1, 1])
    rows = k("Reshape", x, np.array([-1, k.dims("X")[-1]]), rank=2)
    lead = k("Sub", rows, k("GatherElements", rows, ids, axis=1))
    classes = k.g.arange(k.g.dim(rows, 1))
    other = k("Not", k("Equal", ids, k.g.unsqueeze(classes, 0)))
    losses = k("Where", other, softplus(k, lead), k.g.value(0, x))
    mean = k("Div", k("ReduceSum", losses, np.array([1]), keepdims=1), float(k.dims("X")[-1] - 1))
    rank = k.rank(x)
    if rank == 2:
        return mean
    dims = k.g("Concat", k.g("Shape", x, start=0, end=rank - 1), np.array([1]), axis=0, rank=1)
    return k("Reshape", mean, dims, rank=rank)


@maps("accuracy")
def accuracy(k: Op, out: Value, indices: Value, label: Value) -> tuple[Value, Value, Value]:
    hits = k("Equal", k.g.cast(indices, np.int64), k.g.reshape(k.g.cast(label, np.int64), [-1, 1]))
    rows = k("ReduceMax", k.g.cast(hits, np.int32), np.array([1]), keepdims=0)
    correct = k("ReduceSum", rows, keepdims=1)
    total = k.g.cast(k.g.rows(indices), np.int32)
    share = k("Div", k.g.cast(correct, np.float32), k("Max", k.g.cast(total, np.float32), 1.0))
    return share, correct, total


@maps("mean_iou")
def mean_iou(
    k: Op, predictions: Value, labels: Value, wrongs: list[Value], corrects: list[Value], means: list[Value]
) -> tuple[Value, Value, Value]:
    classes = int(k.attr("num_classes"))
    guess, truth = (k.g.reshape(k.g.cast(each, np.int64), [-1, 1]) for each in (predictions, labels))
    rows = np.arange(classes).reshape(1, -1)
    told, real = (k.g.cast(k("Equal", each, rows), np.int32) for each in (guess, truth))
    right = k.g.cast(k("Equal", guess, truth), np.int32)
    both = k("ReduceSum", k("Mul", real, right), np.array([0]), keepdims=0)
    every = k("ReduceSum", k("Add", told, real), np.array([0]), keepdims=0)
    wrong = k("Sub", k("Sub", every, both), both)
    for part in wrongs:
        wrong = k("Add", wrong, part)
    for part in corrects:
        both = k("Add", both, part)
    union = k("Add", wrong, both)
    seen = k("ReduceSum", k.g.cast(k("Greater", union, 0), np.float32), keepdims=1)
    shares = k("Div", k.g.cast(both, np.float32), k.g.cast(k("Max", union, 1), np.float32))
    mean = k("Div", k("ReduceSum", shares, keepdims=1), k("Max", seen, 1.0))
    for part in means:
        mean = k("Add", mean, k.g.flat(part))
    return mean, wrong, both

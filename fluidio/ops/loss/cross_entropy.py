"""Cross entropies of probabilities and of logits."""

from __future__ import annotations

import math
import warnings
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.ops.compiled import curves
from fluidio.ops.compiled import softmax as compiled
from fluidio.ops.compiled.turned import row_by_row
from fluidio.ops.kernel import Call
from fluidio.ops.math.activation import sigmoid
from fluidio.ops.registry import gradient, op
from fluidio.ops.row_blocks import are_rows, row_blocks
from fluidio.program.infer import InferContext
from fluidio.program.op_def import RIGHT_GRADIENT_ATTR, GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []

_warned = False


def check_labels(k: Call, label: Array, classes: int, ignore: int) -> None:
    """Refuse labels outside [0, classes); on a GPU the next fetch does, so that the stream need not wait."""
    k.dev.check_range(label, classes, ignore, k.op)


def _infer_rows(c: InferContext) -> None:
    x, label = c.shape("X"), c.shape("Label")
    soft = bool(c.attrs.get("soft_label"))
    flat = len(label) == len(x) - 1 and not soft  # ids without a last dim of 1
    c.check(
        len(x) == len(label) or flat,
        f"X has {len(x)} dims and Label {len(label)}; Label must have as many, or one less if it holds ids",
    )
    fits = all(a == b or a < 0 or b < 0 for a, b in zip(x[:-1], label))
    c.check(fits, f"X {list(x)} and Label {list(label)} must be equal in all dims but the last")
    if soft:
        c.check(
            x[-1] == label[-1] or -1 in (x[-1], label[-1]),
            f"soft labels must have the {x[-1]} classes of X, but have {label[-1]}",
        )
    elif not flat:
        c.check(label[-1] in (1, -1), f"the last dim of Label must be 1, got {label[-1]}")
    rows = tuple(label) if flat else (*label[:-1], 1)  # Fluid: the rows are those of the labels
    c.set("Y", rows, c.dtype("X"), c.input("X").lod_level)
    c.set("MatchX", (*x[:-1], 1), c.dtype("X"), c.input("X").lod_level)
    c.set("XShape", (*x, 0), c.dtype("X"), c.input("X").lod_level)


def _log(xp: ArrayLibrary | ModuleType, p: Array) -> Array:
    with np.errstate(divide="ignore"):
        return xp.clip(xp.log(p), -1e20, 1e20)  # Fluid: an infinite loss is capped at 1e20


def _may_ignore(k: Call, ids: Array, classes: int) -> bool:
    """Return whether any label may be ignored; the usual answer, no, is cheap."""
    ignore = k.attrs["ignore_index"]
    if 0 <= ignore < classes or k.dev.is_gpu or not ids.size:
        return True
    return bool(ids.min() < 0 if ignore < 0 else ids.max() >= classes)


def _picked(k: Call, x: Array, label: Array) -> tuple[Any, Any]:
    """Return the probability of each row's label (1 if ignored), and which rows are ignored (or None)."""
    xp, ignore = k.xp, k.attrs["ignore_index"]
    flat, ids = x.reshape(-1, x.shape[-1]), label.reshape(-1)
    check_labels(k, ids, flat.shape[1], ignore)
    if _may_ignore(k, ids, flat.shape[1]):
        ignored = ids == ignore
        chosen = flat[xp.arange(flat.shape[0]), xp.where(ignored, 0, ids)]
        return xp.where(ignored, x.dtype.type(1), chosen), ignored
    return flat[xp.arange(flat.shape[0]), ids], None


@op("cross_entropy", "X Label", "Y", {"soft_label": False, "ignore_index": -100}, infer=_infer_rows, grad=True)
def cross_entropy(k: Call, x: Array, label: Array) -> Array:
    """Y = -log of the probability of the label (or the sum over soft labels)."""
    if k.attrs["soft_label"]:
        return -(label * _log(k.xp, x)).sum(axis=-1, keepdims=True)
    match, _ = _picked(k, x, label)
    return (0 - _log(k.xp, match)).reshape(label.shape)


def _spread(k: Call, shape: tuple[int, ...], label: Array, match: Array, dy: Array) -> Array:
    """Return zeros of `shape` with -dy / match at each row's label unless it is ignored."""
    xp = k.xp
    ids, kind = label.reshape(-1), match.dtype
    ignored = ids == k.attrs["ignore_index"]
    dx = xp.zeros((math.prod(shape[:-1]), shape[-1]), kind)
    slopes = xp.where(ignored, kind.type(0), -dy.reshape(-1) / xp.where(ignored, kind.type(1), match.reshape(-1)))
    dx[xp.arange(dx.shape[0]), xp.where(ignored, 0, ids)] = slopes
    return dx.reshape(shape)


@gradient("cross_entropy", "X Label Y@GRAD", "X@GRAD")
def cross_entropy_grad(k: Call, x: Array, label: Array, dy: Array) -> Array:
    if k.attrs["soft_label"]:
        return -dy * label / x
    return _spread(k, x.shape, label, _picked(k, x, label)[0], dy)


def _cross_entropy2_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    inputs = {
        "Y@GRAD": [grad_name(forward.output("Y")[0])],
        "Label": list(forward.input("Label")),
        "MatchX": list(forward.output("MatchX")),
        "XShape": list(forward.output("XShape")),
    }
    attrs = {"ignore_index": forward.attr("ignore_index")}
    return [GradOp("cross_entropy_grad2", inputs, {"X@GRAD": [grad_name(x)]}, attrs)]


@op(
    "cross_entropy2", "X Label", "Y MatchX XShape", {"ignore_index": -100}, infer=_infer_rows, grad=_cross_entropy2_grad
)
def cross_entropy2(k: Call, x: Array, label: Array) -> tuple[Array, ...]:
    """Y = -log of the probability of the label; the gradient needs only MatchX and XShape."""
    match, ignored = _picked(k, x, label)
    y = (0 - _log(k.xp, match)).reshape(label.shape)
    if ignored is not None:
        match = k.xp.where(ignored, x.dtype.type(0), match)
    return y, match.reshape(label.shape), k.xp.empty((*x.shape, 0), x.dtype)


def _infer_cross_entropy_grad2(c: InferContext) -> None:
    c.set("X@GRAD", c.shape("XShape")[:-1], c.dtype("MatchX"), c.input("MatchX").lod_level)


@op(
    "cross_entropy_grad2",
    "Y@GRAD Label MatchX XShape",
    "X@GRAD",
    {"ignore_index": -100},
    infer=_infer_cross_entropy_grad2,
    grad=False,
)
def cross_entropy_grad2(k: Call, dy: Array, label: Array, match: Array, x_shape: Array) -> Array:
    """X@GRAD = -Y@GRAD / MatchX at the label, zero elsewhere."""
    return _spread(k, x_shape.shape[:-1], label, match, dy)


def _infer_swce(c: InferContext) -> None:
    shape = list(c.shape("Logits"))
    label = list(c.shape("Label"))
    axis = c.attrs["axis"]
    c.check(-len(shape) <= axis < len(shape), f"Logits has {len(shape)} dims and no dim {axis}")
    axis %= len(shape)
    c.check(len(label) == len(shape), f"Logits has {len(shape)} dims and Label {len(label)}; they must have as many")
    for i, (a, b) in enumerate(zip(shape, label)):
        c.check(i == axis or a == b or a < 0 or b < 0, f"Logits {shape} and Label {label} must be equal in dim {i}")
    if c.attrs["soft_label"]:
        c.check(
            shape[axis] == label[axis] or -1 in (shape[axis], label[axis]),
            f"soft labels must have the {shape[axis]} classes of Logits, but have {label[axis]}",
        )
    else:
        c.check(label[axis] in (1, -1), f"dim {axis} of Label must be 1, got {label[axis]}")
    c.same("Softmax", "Logits")
    shape[axis] = 1
    c.set("Loss", shape, c.dtype("Logits"), c.input("Logits").lod_level)


def _class_rows(k: Call, x: Array) -> tuple[Any, bool]:
    """Return X as rows of classes, and whether its class axis was moved."""
    axis = k.attrs["axis"] % x.ndim
    if axis == x.ndim - 1:
        return x.reshape(-1, x.shape[-1]), False
    return k.xp.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]), True


def _row_starts(k: Call, rows: int, columns: int) -> Array:
    held = k.state.get("row_starts")
    if held is None or held[0] != (rows, columns):
        held = k.state["row_starts"] = ((rows, columns), np.arange(0, rows * columns, columns))
    return held[1]


def _exponentials(k: Call, logits: Array) -> tuple[Array, Array, Array]:
    """Return the logits minus their maximum along the axis, their softmax, and its denominator."""
    xp, axis = k.xp, k.attrs["axis"] % logits.ndim
    shifted, prob = xp.empty_like(logits), xp.empty_like(logits)
    total = xp.empty((*logits.shape[:axis], 1, *logits.shape[axis + 1 :]), logits.dtype)

    last = axis == logits.ndim - 1 and logits.shape[axis] and are_rows(logits)
    arrays = [a.reshape(total.size, -1) if last else a for a in (logits, shifted, prob, total)]
    over = 1 if last else axis

    def run(begin: int | None, end: int | None) -> None:
        x, below, out, sums = (array[begin:end] for array in arrays)
        xp.subtract(x, x.max(axis=over, keepdims=True), out=below)
        xp.maximum(below, x.dtype.type(-64), out=below)
        xp.exp(below, out=out)
        out.sum(axis=over, keepdims=True, out=sums)
        out /= sums

    if last:
        row_blocks(k, total.size, logits.shape[axis], run)
    else:
        run(None, None)
    return shifted, prob, total


@op(
    "softmax_with_cross_entropy",
    "Logits Label",
    "Softmax Loss",
    {"soft_label": False, "ignore_index": -100, "numeric_stable_mode": True, "axis": -1},
    infer=_infer_swce,
    grad=True,
)
def softmax_with_cross_entropy(k: Call, logits: Array, label: Array) -> tuple[Array, Array]:
    """Softmax, Loss = the softmax of Logits along axis, and its cross entropy with Label."""
    xp, axis = k.xp, k.attrs["axis"]
    if not k.attrs["soft_label"] and axis % logits.ndim == logits.ndim - 1 and compiled.fits(logits):
        return _in_c(k, logits, label)
    shifted, prob, total = _exponentials(k, logits)
    if k.attrs["soft_label"]:
        return prob, (label * (xp.log(total) - shifted)).sum(axis=axis, keepdims=True)
    rows, _ = _class_rows(k, shifted)
    ids, ignore = label.reshape(-1), k.attrs["ignore_index"]
    check_labels(k, ids, rows.shape[1], ignore)
    if not _may_ignore(k, ids, rows.shape[1]):
        loss = xp.log(total).reshape(-1)
        loss -= rows.reshape(-1).take(_row_starts(k, *rows.shape) + ids)
        return prob, loss.reshape(label.shape)
    ignored = ids == ignore
    loss = xp.log(total).reshape(-1) - rows[xp.arange(rows.shape[0]), xp.where(ignored, 0, ids)]
    return prob, xp.where(ignored, loss.dtype.type(0), loss).reshape(label.shape)  # CuPy waits for mask assignments


def _in_c(k: Call, logits: Array, label: Array) -> tuple[Array, Array]:
    """Do the same for ids along the last axis without an array of differences from the maximum."""
    prob, largest, total = compiled.softmax(logits)
    ids, classes, ignore = label.reshape(-1), logits.shape[-1], k.attrs["ignore_index"]
    check_labels(k, ids, classes, ignore)
    ignored = ids == ignore if _may_ignore(k, ids, classes) else None
    at = _row_starts(k, ids.size, classes) + (ids if ignored is None else np.where(ignored, 0, ids))
    below = logits.reshape(-1).take(at) - largest.reshape(-1)
    loss = np.log(total).reshape(-1) - np.maximum(below, np.float32(-64))
    if ignored is not None:
        loss[ignored] = 0
    return prob, loss.reshape(label.shape)


@gradient("softmax_with_cross_entropy", "Label Softmax Loss@GRAD", "Logits@GRAD")
def softmax_with_cross_entropy_grad(k: Call, label: Array, prob: Array, dloss: Array) -> Array:
    xp = k.xp
    if k.attrs["soft_label"]:
        return (prob - label) * dloss
    axis = k.attrs["axis"] % prob.ndim
    classes, inner = prob.shape[axis], math.prod(prob.shape[axis + 1 :])
    factors = dloss.reshape(label.shape)
    dx = _scaled_rows(k, prob, factors) if axis == prob.ndim - 1 else row_by_row(xp, prob * factors)
    ids, d = label.reshape(-1), dloss.reshape(-1)
    rows = xp.arange(ids.size)
    starts = rows if classes == 1 else rows // inner * (classes * inner) + rows % inner
    if not _may_ignore(k, ids, classes):
        dx.reshape(-1)[starts + ids * inner] -= d
        return dx
    ignored = ids == k.attrs["ignore_index"]
    if k.attrs.get(RIGHT_GRADIENT_ATTR):
        dx *= ~ignored.reshape(label.shape)
        d = d * ~ignored
    else:
        _tell_of_ignored_rows(k, ignored, d)
    inside = (ids >= 0) & (ids < classes)
    dx.reshape(-1)[starts + xp.where(inside, ids, 0) * inner] -= d * inside
    if not k.dev.is_gpu and not k.attrs.get(RIGHT_GRADIENT_ATTR):
        # Fluid: the CPU kernel uses a label as an offset from the start of its row, even if that leads to another row.
        places = (starts + ids * inner)[~inside]
        met = (places >= 0) & (places < dx.size)
        np.subtract.at(dx.reshape(-1), places[met], d[~inside][met])
    return dx


def _scaled_rows(k: Call, x: Array, factors: Array) -> Array:
    """Return X times one factor for each row of it, where rows are the last dim."""
    rows = factors.size
    if k.dev.is_gpu or not rows or not x.size or factors.dtype != x.dtype or not are_rows(x, factors):
        return row_by_row(k.xp, x * factors)
    out = np.empty_like(x)
    arrays = [array.reshape(rows, -1) for array in (x, factors, out)]

    def part(begin: int, end: int) -> None:
        some, each, target = (array[begin:end] for array in arrays)
        np.multiply(some, each, out=target)

    row_blocks(k, rows, x.shape[-1], part)
    return out


def _tell_of_ignored_rows(k: Call, ignored: Array, d: Array) -> None:
    global _warned
    if _warned or k.dev.is_gpu or not (ignored & (d != 0)).any():
        return
    _warned = True
    warnings.warn(
        "softmax_with_cross_entropy: like the CPU kernel of Fluid 1.8.5, fluidio gives the logits of ignored "
        "labels a gradient; softmax_with_cross_entropy(..., right_gradient=True) gives them none",
        stacklevel=2,
    )


def _infer_sigmoid(c: InferContext) -> None:
    x, label = c.shape("X"), c.shape("Label")
    fits = len(x) == len(label) and all(a == b or a < 0 or b < 0 for a, b in zip(x, label))
    c.check(fits, f"X {list(x)} and Label {list(label)} must have the same shape")
    c.same("Out", "X")


@op(
    "sigmoid_cross_entropy_with_logits",
    "X Label",
    "Out",
    {"ignore_index": -100, "normalize": False},
    infer=_infer_sigmoid,
    grad=True,
)
def sigmoid_cross_entropy_with_logits(k: Call, x: Array, label: Array) -> Array:
    """Out = the cross entropy of sigmoid(X) with Label, element by element."""
    out = curves.loss("sigmoid_loss", x, label, (k.attrs["ignore_index"],))
    if out is not None:
        return _shared(k, out, label)
    xp = k.xp
    out = xp.maximum(x, 0) - x * label + xp.log1p(xp.exp(-xp.abs(x)))
    return _counted(k, out, label)


def _counted(k: Call, out: Array, label: Array) -> Array:
    """Drop ignored elements; divide by the number of the others if requested."""
    kept = label.astype(np.int64) != k.attrs["ignore_index"]  # Fluid: the integer part of a soft label counts
    out *= kept
    return _shared(k, out, label)


def _shared(k: Call, out: Array, label: Array) -> Array:
    """If requested, divide by the number of elements that count."""
    if k.attrs["normalize"]:
        # Fluid: a soft label counts unless it equals the index; if none counts, NaN on the CPU
        counted = (k.xp.abs(label - k.attrs["ignore_index"]) > 1e-6).sum()
        count = k.xp.maximum(counted, 1e-5 if k.dev.is_gpu else 0).astype(out.dtype)
        with np.errstate(invalid="ignore"):
            out /= count
    return out


@gradient("sigmoid_cross_entropy_with_logits", "X Label Out@GRAD", "X@GRAD")
def sigmoid_cross_entropy_with_logits_grad(k: Call, x: Array, label: Array, dout: Array) -> Array:
    slope = curves.loss("sigmoid_loss_grad", x, label, (k.attrs["ignore_index"],))
    if slope is not None:
        slope *= dout
        return _shared(k, slope, label)
    return _counted(k, (sigmoid(k.xp, x) - label) * dout, label)

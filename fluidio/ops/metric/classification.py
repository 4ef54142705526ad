"""Accuracy, area under the curve, mean intersection over union."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []

_FEW_CLASSES = 128
"""Classes of which all pairs can be counted."""


def _infer_accuracy(c: InferContext) -> None:
    c.set("Accuracy", (1,), VarType.FP32, 0)
    c.set("Correct", (1,), VarType.INT32, 0)
    c.set("Total", (1,), VarType.INT32, 0)


@op("accuracy", "Out Indices Label", "Accuracy Correct Total", infer=_infer_accuracy, grad=False, lod="none")
def accuracy(k: Call, out: Array, indices: Array, label: Array) -> tuple[Array, ...]:
    """Accuracy = the fraction of rows whose label is among the indices."""
    xp = k.xp
    rows = indices.shape[0]
    correct = (indices[:, : out.shape[-1]] == label.reshape(-1, 1)).any(axis=-1).sum()
    share = (correct / xp.float32(max(rows, 1))).astype(np.float32).reshape(1)
    return share, correct.astype(np.int32).reshape(1), xp.full(1, rows, np.int32)


def _infer_auc(c: InferContext) -> None:
    c.set("AUC", (1,), VarType.FP64, 0)
    buckets, slides = c.attrs["num_thresholds"] + 1, c.attrs["slide_steps"]
    for slot in ("StatPosOut", "StatNegOut"):
        c.set(slot, ((slides + 1) * buckets + 1,) if slides else (1, buckets), VarType.INT64)


@op(
    "auc",
    "Predict Label StatPos StatNeg",
    "AUC StatPosOut StatNegOut",
    {"curve": "ROC", "num_thresholds": 8191, "slide_steps": 1},
    infer=_infer_auc,
    grad=False,
    lod="none",
)
def auc(k: Call, predict: Array, label: Array, pos: Array, neg: Array) -> tuple[Array, ...]:
    """AUC = the area under the ROC curve of all batches so far, or of the last slide_steps batches.

    The statistics count positives and negatives in each bucket of scores. With sliding, they are one row for each of
    the last slide_steps batches, their sum, and the number of batches; without, one row.
    """
    buckets = k.attrs["num_thresholds"] + 1
    slides = k.attrs["slide_steps"]
    scores = k.dev.download(predict)[:, -1].astype(np.float64)
    if scores.size and not (scores.min() >= 0 and scores.max() <= 1):
        raise EnforceNotMet(f"a prediction must be a probability from 0 to 1, got {scores.min()} ... {scores.max()}")
    place = (scores * k.attrs["num_thresholds"]).astype(np.int64)
    positive = k.dev.download(label).reshape(-1).astype(bool)
    new_pos = np.bincount(place[positive], minlength=buckets)
    new_neg = np.bincount(place[~positive], minlength=buckets)
    pos, pos_sum = _slide(k.dev.download(pos), new_pos, buckets, slides)
    neg, neg_sum = _slide(k.dev.download(neg), new_neg, buckets, slides)
    return k.dev.upload(_area(pos_sum, neg_sum)), k.dev.upload(pos), k.dev.upload(neg)


def _slide(stat: Array, new: Array, buckets: int, slides: int) -> tuple[Array, Array]:
    """Return the statistics including the new batch, and the counts to use now."""
    flat = stat.reshape(-1).copy()
    if slides == 0:
        total = flat[:buckets] + new
        return total.reshape(1, buckets), total  # Fluid: the variable gets this shape, whatever it held before
    rows, count = flat[: (slides + 1) * buckets].reshape(slides + 1, buckets), flat[(slides + 1) * buckets :]
    if not count.size:  # without a count of batches, the first row is the oldest
        rows[:slides] = np.roll(rows[:slides], -1, axis=0)
    oldest = int(count[0]) % slides if count.size else slides - 1
    rows[slides] += new
    rows[slides] -= rows[oldest]
    rows[oldest] = new
    count += 1
    return flat, rows[slides]


def _area(pos: Array, neg: Array) -> Array:
    ups, rights = np.cumsum(pos[::-1]).astype(np.float64), np.cumsum(neg[::-1]).astype(np.float64)
    area = (rights[0] * ups[0] + np.dot(neg[-2::-1], ups[1:] + ups[:-1])) / 2
    whole = ups[-1] * rights[-1]
    return np.array([area / whole if whole > 0 else area], np.float64)


def _counts(xp: ArrayLibrary | ModuleType, guess: Array, truth: Array, classes: int) -> tuple[Array, Array]:
    """Return for each class how many elements are it in one of both arrays, and in both."""
    if xp is np and classes <= _FEW_CLASSES and guess.size and min(guess.min(), truth.min()) >= 0:
        pairs = np.bincount(guess * classes + truth, minlength=classes * classes).reshape(classes, classes)
        correct = np.diagonal(pairs)
        return pairs.sum(axis=0) + pairs.sum(axis=1) - 2 * correct, correct
    right = guess == truth
    correct = xp.bincount(truth[right], minlength=classes)
    return xp.bincount(guess[~right], minlength=classes) + xp.bincount(truth[~right], minlength=classes), correct


def _infer_mean_iou(c: InferContext) -> None:
    c.set("OutMeanIou", (1,), VarType.FP32, 0)
    c.set("OutWrong", (c.attrs["num_classes"],), VarType.INT32, 0)
    c.set("OutCorrect", (c.attrs["num_classes"],), VarType.INT32, 0)


@op(
    "mean_iou",
    "Predictions Labels InWrongs*? InCorrects*? InMeanIou*?",
    "OutMeanIou OutWrong OutCorrect",
    {"num_classes": 2},
    infer=_infer_mean_iou,
    grad=False,
    lod="none",
)
def mean_iou(
    k: Call, predictions: Array, labels: Array, in_wrongs: Array, in_corrects: Array, in_means: Array
) -> tuple[Array, ...]:
    """OutMeanIou = the intersection over union, averaged over the classes that occur."""
    xp, classes = k.xp, k.attrs["num_classes"]
    guess, truth = predictions.reshape(-1), labels.reshape(-1)
    if not k.dev.is_gpu and guess.size and max(guess.max(), truth.max()) >= classes:
        raise EnforceNotMet(
            f"class {max(guess.max(), truth.max())} is out of range: num_classes is {classes}, so classes are "
            f"0 ... {classes - 1}"
        )
    wrong, correct = _counts(xp, guess, truth, classes)
    for part in in_wrongs:
        wrong = wrong + part
    for part in in_corrects:
        correct = correct + part
    union = wrong + correct
    seen = union > 0
    mean = (correct / xp.maximum(union, 1)).sum() / xp.maximum(seen.sum(), 1)
    for part in in_means:
        mean = mean + part.reshape(-1)[0]
    return mean.astype(np.float32).reshape(1), wrong.astype(np.int32), correct.astype(np.int32)

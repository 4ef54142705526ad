"""Scores without a layer: positive_negative_pair, precision_recall. On the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_pairs(c: InferContext) -> None:
    for slot in ("PositivePair", "NegativePair", "NeutralPair"):
        c.set(slot, (1,), c.dtype("Score"))


@op(
    "positive_negative_pair",
    "Score Label QueryID AccumulatePositivePair? AccumulateNegativePair? AccumulateNeutralPair? Weight?",
    "PositivePair NegativePair NeutralPair",
    {"column": 0},  # Fluid: documented as -1, but it is not
    infer=_infer_pairs,
    grad=False,
    lod="none",
)
def positive_negative_pair(
    k: Call,
    score: Array,
    label: Array,
    query: Array,
    positive: Array,
    negative: Array,
    neutral: Array,
    weight: Array | None,
) -> KernelResult:
    """Count the pairs with different labels within a query whose scores are ordered right, wrong, or equal."""
    s, y, q = (k.dev.download(v) for v in (score, label, query))
    value, y, q = s[:, k.attrs["column"]], y.reshape(-1), q.reshape(-1)
    w = np.ones(y.size, s.dtype) if weight is None else k.dev.download(weight).reshape(-1)
    i, j = np.triu_indices(y.size, 1)
    counted = (q[i] == q[j]) & (y[i] != y[j])
    i, j = i[counted], j[counted]
    share = (w[i] + w[j]) * s.dtype.type(0.5)
    same, ordered = value[i] == value[j], (value[i] - value[j]) * (y[i] - y[j]) > 0
    # Fluid: a tie counts as both neutral and wrong.
    found = (share[ordered].sum(), share[~ordered].sum(), share[same].sum())
    before = [0 if v is None else k.dev.download(v).reshape(-1)[0] for v in (positive, negative, neutral)]
    return tuple(k.dev.upload(np.array([n + b], s.dtype)) for n, b in zip(found, before))


def _infer_precision(c: InferContext) -> None:
    c.set("BatchMetrics", (6,), "float64")
    c.set("AccumMetrics", (6,), "float64")
    c.set("AccumStatesInfo", (c.attrs["class_number"], 4), "float32")


def _ratio(part: Array, rest: Any) -> Array:
    total = part + rest
    return np.where(total > 0, part / np.where(total > 0, total, 1), 1).astype(part.dtype)


def _f1(precision: Array, recall: Array) -> Any:
    total = precision + recall
    return precision.dtype.type(2) * precision * recall / total if total > 0 else precision.dtype.type(0)


def _metrics(states: Any) -> Array:
    """Return precision, recall and F1: averaged over classes, and of the sums over classes."""
    tp, fp, _, fn = states.T
    precision, recall = _ratio(tp, fp).mean(), _ratio(tp, fn).mean()
    all_precision, all_recall = _ratio(tp.sum(), fp.sum()), _ratio(tp.sum(), fn.sum())
    found = (precision, recall, _f1(precision, recall), all_precision, all_recall, _f1(all_precision, all_recall))
    return np.array(found, np.float64)


@op(
    "precision_recall",
    "MaxProbs Indices Labels Weights? StatesInfo?",
    "BatchMetrics AccumMetrics AccumStatesInfo",
    {"class_number": 1},
    infer=_infer_precision,
    grad=False,
    lod="none",
)
def precision_recall(
    k: Call, probs: Array, indices: Array, labels: Array, weights: Array | None, before: Array | None
) -> KernelResult:
    """Compute precision, recall and F1 of a batch and since the start; states are TP, FP, TN, FN of each class."""
    guess, truth = (k.dev.download(v).reshape(-1) for v in (indices, labels))
    dtype = k.dev.download(probs).dtype
    w = np.ones(guess.size, dtype) if weights is None else k.dev.download(weights).reshape(-1)
    states = np.zeros((k.attrs["class_number"], 4), dtype)
    for g, t, share in zip(guess, truth, w):
        states[:, 2] += share
        if g == t:
            states[g, 0] += share
            states[g, 2] -= share
        else:
            states[t, 3] += share
            states[g, 1] += share
            states[[g, t], 2] -= share
    total = states if before is None else states + k.dev.download(before)
    return tuple(k.dev.upload(v) for v in (_metrics(states), _metrics(total), total))

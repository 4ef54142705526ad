"""Match predictions with ground truth: bipartite_match, target_assign, mine_hard_examples. On the host."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_TINY = 1e-6


def _infer_match(c: InferContext) -> None:
    shape = c.shape("DistMat")
    c.set("ColToRowMatchIndices", shape, VarType.INT32, 0)
    c.set("ColToRowMatchDist", shape, c.dtype("DistMat"), 0)


@op(
    "bipartite_match",
    "DistMat",
    "ColToRowMatchIndices ColToRowMatchDist",
    {"match_type": "bipartite", "dist_threshold": 0.5},
    infer=_infer_match,
    grad=False,
    lod="kernel",
)
def bipartite_match(k: Call, distances: Array) -> tuple[Array, Array]:
    """Match each column with a row (-1: none), largest distances first.

    With match_type "per_prediction", each unmatched column gets its nearest row if that is above dist_threshold.
    """
    table = k.dev.download(distances)
    lod = k.lod("DistMat")
    starts = lod[-1] if lod else np.array([0, table.shape[0]])
    indices = np.full((len(starts) - 1, table.shape[1]), -1, np.int32)
    found = np.zeros(indices.shape, table.dtype)
    for i, (start, stop) in enumerate(pairwise(starts)):
        part = table[start:stop]
        if not part.size:
            continue
        _match(part, indices[i], found[i])
        if k.attrs["match_type"] == "per_prediction":
            best = part.argmax(axis=0)
            value = part[best, np.arange(part.shape[1])]
            free = (indices[i] == -1) & (value >= k.attrs["dist_threshold"]) & (value >= _TINY)
            indices[i][free], found[i][free] = best[free], value[free]
    return k.dev.upload(indices), k.dev.upload(found)


def _match(part: Array, indices: Array, found: Array) -> None:
    """Match pairs in order of decreasing distance, each row and column once; of equal pairs the first."""
    left = np.where(np.isnan(part), -1, part)
    columns = left.argmax(axis=1)
    values = left[np.arange(len(left)), columns]
    for _ in range(min(part.shape)):
        row = int(values.argmax())
        column = int(columns[row])
        if values[row] < _TINY:
            return
        indices[column], found[column] = row, part[row, column]
        left[:, column], values[row] = -1, -1
        for stale in np.flatnonzero((columns == column) & (values >= _TINY)):
            columns[stale] = left[stale].argmax()
            values[stale] = left[stale, columns[stale]]


def _infer_assign(c: InferContext) -> None:
    matches = c.shape("MatchIndices")
    c.check(len(c.shape("X")) == 3, f"X must have 3 dims, its shape is {list(c.shape('X'))}")
    c.set("Out", (*matches[:2], c.shape("X")[-1]), c.dtype("X"), 0)
    c.set("OutWeight", (*matches[:2], 1), VarType.FP32, 0)


@op(
    "target_assign",
    "X MatchIndices NegIndices?",
    "Out OutWeight",
    {"mismatch_value": 0},
    infer=_infer_assign,
    grad=False,
    lod="kernel",
)
def target_assign(k: Call, x: Array, matches: Array, negatives: Array | None) -> tuple[Array, Array]:
    """Out = the row of X matched with each prediction, else mismatch_value; OutWeight says which count."""
    rows, match = k.dev.download(x), k.dev.download(matches)
    lod = k.lod("X")
    if not lod:
        raise EnforceNotMet("X must be a LoDTensor in which the targets of each image are one sequence")
    rows = rows.reshape(rows.shape[0], -1, rows.shape[-1])
    starts = lod[-1][:-1].astype(np.int64)
    hit = match > -1
    mismatch = rows.dtype.type(k.attrs["mismatch_value"])
    if rows.size:
        parts = rows.shape[1]
        places = (match + starts[:, None]) * parts
        if parts > 1:
            places += np.arange(match.shape[1]) % parts
        out = rows.reshape(-1, rows.shape[2]).take(places, axis=0, mode="clip")
        out[~hit] = mismatch
    else:
        out = np.full((*match.shape, rows.shape[2]), mismatch, rows.dtype)
    weight = hit.astype(np.float32)[..., None]
    if negatives is not None:
        ids = k.dev.download(negatives).reshape(-1)
        ends = k.lod("NegIndices")[-1]
        for i in range(match.shape[0]):
            picked = ids[ends[i] : ends[i + 1]]
            out[i, picked], weight[i, picked] = mismatch, 1
    return k.dev.upload(out), k.dev.upload(weight)


def _infer_mine(c: InferContext) -> None:
    c.set("NegIndices", (-1, 1), VarType.INT32, 0)
    c.set("UpdatedMatchIndices", c.shape("MatchIndices"), c.dtype("MatchIndices"), 0)


@op(
    "mine_hard_examples",
    "ClsLoss LocLoss? MatchIndices MatchDist",
    "NegIndices UpdatedMatchIndices",
    {"neg_pos_ratio": 1.0, "neg_dist_threshold": 0.5, "sample_size": 0, "mining_type": "max_negative"},
    infer=_infer_mine,
    grad=False,
    lod="kernel",
)
def mine_hard_examples(
    k: Call, class_loss: Array, place_loss: Array | None, matches: Array, distances: Array
) -> tuple[Array, Array]:
    """NegIndices = the negatives of each image with the largest losses, a few for each positive."""
    a = k.attrs
    loss, match, distance = (k.dev.download(v) for v in (class_loss, matches, distances))
    hard = a["mining_type"] == "hard_example"
    if hard and place_loss is not None:
        loss = loss + k.dev.download(place_loss)
    loss = loss.astype(np.float32)  # Fluid: losses are compared as float32, whatever they are
    updated = match.copy()
    chosen: list[Any] = []
    for i in range(match.shape[0]):
        if hard:
            candidates = np.arange(match.shape[1])
            count = min(a["sample_size"], candidates.size)
        else:
            candidates = np.flatnonzero((match[i] == -1) & (distance[i] < a["neg_dist_threshold"]))
            positives = int((match[i] != -1).sum())
            count = min(int(positives * a["neg_pos_ratio"]), candidates.size)
        order = candidates[np.argsort(-loss[i, candidates], kind="stable")[:count]]
        if hard:
            updated[i][(match[i] > -1) & ~np.isin(np.arange(match.shape[1]), order)] = -1
            order = order[match[i, order] == -1]
        chosen.append(np.sort(order))
    ids = np.concatenate(chosen).astype(np.int32).reshape(-1, 1)
    k.out_lods["NegIndices"] = (np.cumsum([0, *(c.size for c in chosen)]).astype(np.int64),)
    return k.dev.upload(ids), k.dev.upload(updated)

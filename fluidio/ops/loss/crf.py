"""Linear-chain conditional random fields: cost, and the best path.

Transition weights are [tags + 2, tags]: row 0 for the first tag, row 1 for the last, then from tag to tag.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import NEVER, Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.ops.sequence.ragged import from_lengths, last_level, padded_rows, segment_ids, segment_sum
from fluidio.ops.sequence.time_major import time_major
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray

compiled: Any
try:
    from fluidio.ops.compiled import _decode as compiled
except ImportError:
    compiled = None

__all__: list[str] = []


def _infer_crf(c: InferContext) -> None:
    emission, transition = c.input("Emission"), c.shape("Transition")
    tags = emission.shape[-1]
    c.check(
        -1 in (tags, *transition) or transition == (tags + 2, tags),
        f"{tags} tags need Transition of shape [{tags + 2}, {tags}], got {list(transition)}",
    )
    c.set("Alpha", emission.shape, emission.dtype, 0)
    c.set("EmissionExps", emission.shape, emission.dtype, 0)
    c.set("TransitionExps", transition, emission.dtype, 0)
    c.set("LogLikelihood", (emission.shape[0], 1), emission.dtype, 0)  # Fluid: one for each row


class _Rows:
    """The emission rows of sequences, given by LoD or by the lengths of a padded batch."""

    def __init__(self, k: Call, emission: Array, length: Array | None) -> None:
        self.k = k
        self.at: Any = None
        if length is None:
            self.offsets: IntArray = last_level(k, "Emission", emission.shape[0])
            return
        lengths = np.asarray(k.dev.download(length), np.int64).reshape(-1)
        if emission.ndim != 3 or lengths.size != emission.shape[0] or (lengths > emission.shape[1]).any():
            raise EnforceNotMet(
                f"with Length, Emission is [batch, time, tags] and Length has an entry <= time for each row; got "
                f"{list(emission.shape)} and lengths {lengths.tolist()[:10]}"
            )
        self.offsets = from_lengths(lengths)
        self.at = k.dev.upload(np.flatnonzero(padded_rows(self.offsets, emission.shape[1])[1]))
        self.places = emission.shape[0] * emission.shape[1]

    def take(self, array: Array, width: int) -> Array:
        """Return the rows of a batch without padding."""
        flat = array.reshape(-1, width)
        return flat if self.at is None else flat[self.at]

    def put(self, rows: Array, shape: tuple[int, ...]) -> Array:
        """Undo take(); padding becomes zero."""
        if self.at is None:
            return rows.reshape(shape)
        out = self.k.xp.zeros((self.places, rows.shape[-1]), rows.dtype)
        out[self.at] = rows
        return out.reshape(shape)


def _labels(k: Call, label: Array, rows: _Rows, tags: int) -> Array:
    ids = rows.take(label, 1).reshape(-1)
    if ids.size != rows.offsets[-1]:
        raise EnforceNotMet(f"Emission has {rows.offsets[-1]} rows, but Label has {ids.size}")
    if k.dev.is_gpu:
        k.dev.check_range(ids, tags, NEVER, k.op)
    elif ids.size and (ids.min() < 0 or ids.max() >= tags):
        raise EnforceNotMet(f"labels must lie in 0 ... {tags - 1}, found {ids.min()} ... {ids.max()}")
    return ids


@op(
    "linear_chain_crf",
    "Emission Transition Label Length?",
    "Alpha EmissionExps TransitionExps LogLikelihood",
    infer=_infer_crf,
    grad=True,
    lod="kernel",
)
def linear_chain_crf(
    k: Call, emission: Array, transition: Array, label: Array, length: Array | None
) -> tuple[Array, ...]:
    """LogLikelihood = the cost of the labels: the log of the sum over all paths minus the score of the given path."""
    xp = k.xp
    tags = emission.shape[-1]
    rows = _Rows(k, emission, length)
    offsets = rows.offsets
    x = rows.take(emission, tags)
    highest = x.max(axis=1, keepdims=True) if x.shape[0] else x[:, :1]
    weights = xp.exp(x - highest)
    moves = xp.exp(transition)
    batches = time_major(offsets)
    at = k.dev.upload(batches.rows)
    sorted_weights = weights[at]
    alpha = xp.empty_like(sorted_weights)
    norms = xp.empty(batches.total, x.dtype)
    before: Any = None
    for step, (start, stop) in enumerate(batches.steps):
        reach = moves[0] if step == 0 else before[: stop - start] @ moves[2:]
        current = xp.multiply(sorted_weights[start:stop], reach, out=alpha[start:stop])
        norms[start:stop] = current.sum(axis=1)
        current /= norms[start:stop, None]
        before = current
    by_row, log_norms = xp.empty_like(alpha), xp.empty_like(norms)
    by_row[at] = alpha
    log_norms[at] = xp.log(norms)
    ids = _labels(k, label, rows, tags)
    cost = segment_sum(k, log_norms + highest[:, 0], offsets)
    cost -= _path_scores(k, x, transition, ids, offsets)
    filled = np.flatnonzero(np.diff(offsets))
    ends = k.dev.upload(offsets[1:][filled] - 1)
    cost[k.dev.upload(filled)] += xp.log(by_row[ends] @ moves[1])
    shape = emission.shape
    if length is not None:  # Fluid: padding has exponents, too
        weights = xp.exp(emission - emission.max(axis=-1, keepdims=True))
    return rows.put(by_row, shape), weights.reshape(shape), moves, cost.reshape(-1, 1)


def _path_scores(k: Call, x: Array, transition: Array, ids: Array, offsets: IntArray) -> Array:
    """Return the score of the given tags of each sequence."""
    xp = k.xp
    picked = x[xp.arange(x.shape[0]), ids]
    firsts, lasts, inner = _edges(offsets)
    firsts, lasts, inner = k.dev.upload(firsts), k.dev.upload(lasts), k.dev.upload(inner)
    picked = picked.copy()
    picked[firsts] += transition[0, ids[firsts]]
    picked[lasts] += transition[1, ids[lasts]]
    picked[inner] += transition[ids[inner - 1] + 2, ids[inner]]
    return segment_sum(k, picked, offsets)


def _edges(offsets: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the rows that begin a sequence, those that end one, and those that follow another of the same sequence."""
    filled = np.diff(offsets) > 0
    firsts = offsets[:-1][filled]
    follows = np.ones(int(offsets[-1]), bool)
    follows[firsts] = False
    return firsts, offsets[1:][filled] - 1, np.flatnonzero(follows)


@gradient(
    "linear_chain_crf",
    "Emission Transition Label Length Alpha EmissionExps TransitionExps LogLikelihood@GRAD",
    "Emission@GRAD Transition@GRAD",
)
def linear_chain_crf_grad(
    k: Call,
    emission: Array,
    transition: Array,
    label: Array,
    length: Array,
    alpha: Array,
    weights: Array,
    moves: Array,
    dcost: Array,
) -> KernelResult:
    xp = k.xp
    tags = emission.shape[-1]
    rows = _Rows(k, emission, length)
    offsets = rows.offsets
    alpha, weights = rows.take(alpha, tags), rows.take(weights, tags)
    ids = _labels(k, label, rows, tags)
    batches = time_major(offsets)
    at = k.dev.upload(batches.rows)
    sorted_weights = weights[at]
    beta = xp.empty_like(alpha)
    ahead: Any = None
    for start, stop in reversed(batches.steps):
        current = xp.empty((stop - start, tags), alpha.dtype)
        current[...] = moves[1]
        if ahead is not None:
            n = ahead.shape[0]
            current[:n] = (ahead * sorted_weights[stop : stop + n]) @ moves[2:].T
        current /= current.sum(axis=1, keepdims=True)
        beta[at[start:stop]] = current
        ahead = current
    share = dcost.reshape(-1)[k.dev.upload(segment_ids(offsets))]
    marginal = alpha * beta
    marginal /= marginal.sum(axis=1, keepdims=True)
    marginal[xp.arange(alpha.shape[0]), ids] -= 1
    marginal *= share[:, None]
    firsts, lasts, inner = (k.dev.upload(part) for part in _edges(offsets))
    dtransition = None
    if k.wants("Transition@GRAD"):
        dtransition = xp.empty_like(transition)
        dtransition[0] = marginal[firsts].sum(axis=0)
        dtransition[1] = marginal[lasts].sum(axis=0)
        behind, front = alpha[inner - 1], weights[inner] * beta[inner]
        scale = share[inner] / ((behind @ moves[2:]) * front).sum(axis=1)
        pairs = ((behind * scale[:, None]).T @ front) * moves[2:]
        counts = xp.zeros(tags * tags, transition.dtype)
        k.dev.scatter_add(counts, ids[inner - 1] * tags + ids[inner], share[inner])
        dtransition[2:] = pairs - counts.reshape(tags, tags)
    k.out_lods["Emission@GRAD"] = k.lod("Emission")
    return rows.put(marginal, emission.shape), dtransition


def _infer_decode(c: InferContext) -> None:
    emission = c.input("Emission")
    shape = (*emission.shape[:-1],) if c.has("Length") else (emission.shape[0], 1)
    c.set("ViterbiPath", shape, VarType.INT64, emission.lod_level)


@op("crf_decoding", "Emission Transition Label? Length?", "ViterbiPath", infer=_infer_decode, grad=False, lod="kernel")
def crf_decoding(k: Call, emission: Array, transition: Array, label: Array | None, length: Array | None) -> Array:
    """ViterbiPath = the best tags; with Label, 1 where they match it."""
    tags = emission.shape[-1]
    rows = _Rows(k, emission, length)
    x = rows.take(emission, tags)
    single = all(type(a) is np.ndarray and a.dtype == np.float32 for a in (x, transition))
    if compiled is not None and single:
        out = np.empty(x.shape[0], np.int64)
        offsets = np.ascontiguousarray(rows.offsets, np.int64)
        compiled.tags(np.ascontiguousarray(x), np.ascontiguousarray(transition), offsets, out)
    else:
        out = _best_path(k, x, transition, rows.offsets)
    if label is not None:
        out = (out == rows.take(label, 1).reshape(-1)).astype(np.int64)
    k.out_lods["ViterbiPath"] = k.lod("Emission")
    return rows.put(out.reshape(-1, 1), emission.shape[:-1] if length is not None else (out.size, 1))


def _best_path(k: Call, x: Array, transition: Array, offsets: IntArray) -> Array:
    """Return the best tag of each row."""
    xp, tags = k.xp, x.shape[1]
    batches = time_major(offsets)
    at = k.dev.upload(batches.rows)
    sorted_x = x[at]
    back = xp.zeros((batches.total, tags), np.int64)
    scores: Any = None
    # Scores of all steps are kept: a sequence's last one says where its path begins.
    history = xp.empty_like(sorted_x)
    for step, (start, stop) in enumerate(batches.steps):
        if step == 0:
            scores = sorted_x[start:stop] + transition[0]
        else:
            reach = scores[: stop - start, :, None] + transition[2:]
            best = reach.argmax(axis=1)
            back[start:stop] = best
            scores = xp.take_along_axis(reach, best[:, None, :], axis=1)[:, 0] + sorted_x[start:stop]
        history[start:stop] = scores
    path = xp.zeros(batches.total, np.int64)
    chosen: Any = None
    for start, stop in reversed(batches.steps):
        current = (history[start:stop] + transition[1]).argmax(axis=1)
        if chosen is not None:
            n = chosen.shape[0]
            current[:n] = back[stop : stop + n][xp.arange(n), chosen]
        path[start:stop] = current
        chosen = current
    out = xp.empty(x.shape[0], np.int64)
    out[at] = path
    return out

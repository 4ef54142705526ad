"""Connectionist temporal classification: loss and greedy decoding."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.ops.sequence.ragged import from_lengths, last_level, padded_rows, segment_ids
from fluidio.ops.threads import thread_count
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray

compiled: Any
try:
    from fluidio.ops.compiled import _ctc as compiled
except ImportError:
    compiled = None

__all__: list[str] = []


def _infer_ctc(c: InferContext) -> None:
    logits = c.input("Logits")
    c.set("Loss", (-1, 1), logits.dtype, 0)
    c.set("WarpCTCGrad", dtype=logits.dtype)  # Fluid: known only at run time


class _Ctc:
    """The rows of scores and the labels of one call: step t of sequence n is row first[n] + t * stride."""

    def __init__(self, k: Call, logits: Array, label: Array, logit_lengths: Array | None, label_lengths: Array) -> None:
        self.k = k
        self.padded = logit_lengths is not None
        host, flat = np.asarray(k.dev.download(logits)), np.asarray(k.dev.download(label), np.int64)
        if self.padded:
            self.times = np.asarray(k.dev.download(logit_lengths), np.int64).reshape(-1)
            self.label_offsets = from_lengths(np.asarray(k.dev.download(label_lengths), np.int64).reshape(-1))
            flat = flat.reshape(self.times.size, -1)
            flat = flat[padded_rows(self.label_offsets, flat.shape[1])[1]]
            self.first, self.stride = np.arange(self.times.size), host.shape[1]
        else:
            offsets = last_level(k, "Logits", logits.shape[0])
            self.label_offsets = last_level(k, "Label", label.shape[0])
            if offsets.size != self.label_offsets.size:
                raise EnforceNotMet(
                    f"Logits holds {offsets.size - 1} sequences, but Label holds {self.label_offsets.size - 1}"
                )
            self.times, self.first, self.stride = np.diff(offsets), offsets[:-1], 1
        self.rows = host.reshape(-1, host.shape[-1])
        self.used = flat.reshape(-1)[: self.label_offsets[-1]]
        classes, blank, used = self.rows.shape[1], k.attrs["blank"], self.used
        if not 0 <= blank < classes:
            raise EnforceNotMet(f"blank must be one of the classes 0 ... {classes - 1}, got {blank}")
        if used.size and (used.min() < 0 or used.max() >= classes):
            raise EnforceNotMet(f"labels must lie in 0 ... {classes - 1}, found {used.min()} ... {used.max()}")
        self.sizes = np.diff(self.label_offsets)

    def places(self) -> tuple[Any, Any]:
        """Return the row of each step [batch, longest], and a mask of those that exist; the others are row 0."""
        steps = np.arange(int(self.times.max(initial=0)))
        valid = steps < self.times[:, None]
        return np.where(valid, self.first[:, None] + steps * self.stride, 0), valid

    def by_time(self, gradient: Array, like: Array) -> Array:
        """Return the gradient of rows as [time, batch, classes], as long as the padded Logits."""
        if self.padded:
            return self.k.dev.upload(gradient.reshape(like.shape))
        rows, valid = self.places()
        out = np.zeros((rows.shape[1], rows.shape[0], gradient.shape[1]), like.dtype)
        out[valid.T] = gradient[rows.T[valid.T]]
        return self.k.dev.upload(out)


def _padded(flat: Array, offsets: IntArray) -> Array:
    rows, valid = padded_rows(offsets)
    if not flat.size:
        return np.zeros(rows.shape, np.int64)
    return np.where(valid, flat[rows], 0)


def _log_add(a: Array, b: Array) -> Array:
    return np.logaddexp(a, b)


def _alphas(log_p: Array, states: Any, jump: Any) -> Array:
    """Return log alpha [time, batch, states]: the weight of all prefixes that end in a state."""
    batch, time, _ = log_p.shape
    count = states.shape[1]
    alpha = np.full((time, batch, count), -np.inf)
    emitted = np.take_along_axis(log_p, np.broadcast_to(states[:, None, :], (batch, time, count)), axis=2)
    alpha[:1, :, :2] = emitted[:, :1, :2].transpose(1, 0, 2)
    for t in range(1, time):
        before = alpha[t - 1]
        reach = before.copy()
        reach[:, 1:] = _log_add(reach[:, 1:], before[:, :-1])
        reach[:, 2:] = np.where(jump[:, 2:], _log_add(reach[:, 2:], before[:, :-2]), reach[:, 2:])
        alpha[t] = reach + emitted[:, t]
    return alpha


def _loss_and_grad(ctc: _Ctc, blank: int) -> tuple[Array, Array]:
    """Return the loss of each sequence, and the gradient of the rows."""
    if compiled is not None and ctc.rows.dtype == np.float32:
        shifted = ctc.rows - ctc.rows.max(axis=1, keepdims=True, initial=-np.inf)
        chances = np.exp(shifted)
        totals = chances.sum(axis=1, keepdims=True)
        if np.isfinite(totals).all():
            return _in_c(ctc, blank, np.subtract(shifted, np.log(totals), out=shifted), chances / totals)
    return _in_numpy(ctc, blank)


def _in_c(ctc: _Ctc, blank: int, scores: Array, chances: Array) -> tuple[Array, Array]:
    loss, shares = np.empty(ctc.times.size, np.float32), np.zeros_like(scores)
    arrays = (np.ascontiguousarray(a, np.int64) for a in (ctc.first, ctc.times, ctc.used, ctc.label_offsets))
    first, times, labels, label_at = arrays
    classes, threads = scores.shape[1], thread_count()
    compiled.paths(scores, classes, first, ctc.stride, times, labels, label_at, blank, shares, loss, threads)
    chances -= shares
    impossible = np.isnan(loss)
    if impossible.any() or ctc.padded:
        rows, valid = ctc.places()
        counts = np.zeros(len(chances), bool)
        counts[rows[valid & ~impossible[:, None]]] = True
        chances[~counts] = 0
    return np.where(impossible, np.float32(0), loss), chances


def _in_numpy(ctc: _Ctc, blank: int) -> tuple[Array, Array]:
    """Do the same in float64, for all sequences at once."""
    places, valid = ctc.places()
    flat = ctc.rows if len(ctc.rows) else np.zeros((1, ctc.rows.shape[1]))
    scores: Any = flat[places].astype(np.float64)
    labels = _padded(ctc.used, ctc.label_offsets)
    batch, time, _classes = scores.shape
    shifted = scores - scores.max(axis=2, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=2, keepdims=True))
    count = 2 * labels.shape[1] + 1
    states = np.full((batch, count), blank)
    states[:, 1::2] = labels
    exists = np.arange(count) < (2 * ctc.sizes + 1)[:, None]
    jump = np.zeros((batch, count), bool)
    jump[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        alpha = _alphas(log_p, states, jump)
        rows = np.arange(batch)
        last = np.maximum(ctc.times - 1, 0)
        ends = alpha[last, rows, 2 * ctc.sizes] if time else np.zeros(batch)
        inner = alpha[last, rows, np.maximum(2 * ctc.sizes - 1, 0)] if time else ends
        total = np.where(ctc.sizes > 0, _log_add(ends, inner), ends)
        total = np.where(ctc.times > 0, total, np.where(ctc.sizes > 0, -np.inf, 0.0))
        occupied = _occupied(log_p, states, jump, exists, alpha, ctc, total)
    gradient = np.exp(log_p)
    index = np.broadcast_to(states[:, None, :], occupied.shape)
    expected = np.zeros_like(gradient)
    batch_at = np.broadcast_to(np.arange(batch)[:, None, None], occupied.shape)
    time_at = np.broadcast_to(np.arange(time)[None, :, None], occupied.shape)
    np.add.at(expected, (batch_at, time_at, index), occupied)
    gradient -= expected
    impossible = np.isneginf(total)
    gradient[impossible] = 0
    by_row = np.zeros(ctc.rows.shape, ctc.rows.dtype)
    by_row[places[valid]] = gradient[valid]
    return np.where(impossible, 0.0, -total), by_row


def _occupied(log_p: Array, states: Any, jump: Any, exists: Array, alpha: Array, ctc: _Ctc, total: Array) -> Array:
    """Return the fraction [batch, time, states] of all paths that are in a state at a time."""
    batch, time, _ = log_p.shape
    count = states.shape[1]
    emitted = np.take_along_axis(log_p, np.broadcast_to(states[:, None, :], (batch, time, count)), axis=2)
    final = np.full((batch, count), -np.inf)
    rows = np.arange(batch)
    final[rows, 2 * ctc.sizes] = 0.0
    some = ctc.sizes > 0
    final[rows[some], 2 * ctc.sizes[some] - 1] = 0.0
    beta = np.full((batch, count), -np.inf)
    share = np.zeros((batch, time, count))
    for t in range(time - 1, -1, -1):
        if t + 1 < time:
            ahead = beta + emitted[:, t + 1]
            reach = ahead.copy()
            reach[:, :-1] = _log_add(reach[:, :-1], ahead[:, 1:])
            reach[:, :-2] = np.where(jump[:, 2:], _log_add(reach[:, :-2], ahead[:, 2:]), reach[:, :-2])
            beta = reach
        beta = np.where((ctc.times - 1 == t)[:, None], final, beta)
        log_share = alpha[t] + beta - np.where(np.isfinite(total), total, 0.0)[:, None]
        share[:, t] = np.where(exists, np.exp(log_share), 0.0)
    return share


@op(
    "warpctc",
    "Logits Label LogitsLength? LabelLength?",
    "WarpCTCGrad Loss",
    {"blank": 0, "norm_by_times": False},
    infer=_infer_ctc,
    grad=True,
    lod="kernel",
)
def warpctc(k: Call, logits: Array, label: Array, logit_lengths: Array, label_lengths: Array) -> tuple[Array, Array]:
    """Loss = -log of the probability of all paths that spell the label; an impossible label gives 0."""
    ctc = _Ctc(k, logits, label, logit_lengths, label_lengths)
    loss, gradient = _loss_and_grad(ctc, k.attrs["blank"])
    return ctc.by_time(gradient, logits), k.dev.upload(loss.astype(ctc.rows.dtype).reshape(-1, 1))


@gradient("warpctc", "Logits LogitsLength WarpCTCGrad Loss@GRAD", "Logits@GRAD")
def warpctc_grad(k: Call, logits: Array, logit_lengths: Array | None, stored: Array, dloss: Array) -> Array:
    xp = k.xp
    scale = dloss.reshape(-1)
    if logit_lengths is None:
        offsets = last_level(k, "Logits", logits.shape[0])
        if k.attrs["norm_by_times"]:
            scale = scale / k.dev.upload(np.maximum(np.diff(offsets), 1).astype(logits.dtype))
        k.out_lods["Logits@GRAD"] = k.lod("Logits")
        sequence = segment_ids(offsets)
        step = k.dev.upload(np.arange(sequence.size) - offsets[sequence])
        sequence = k.dev.upload(sequence)
        return stored[step, sequence] * scale[sequence][:, None]
    if k.attrs["norm_by_times"]:
        scale = scale / xp.maximum(logit_lengths.reshape(-1), 1).astype(logits.dtype)
    return stored * scale[None, :, None]


def _infer_align(c: InferContext) -> None:
    padded = c.has("InputLength")
    c.set("Output", c.shape("Input"), c.dtype("Input"), 0 if padded else None)
    c.set("OutputLength", (c.shape("Input")[0], 1), c.dtype("Input"), 0)


@op(
    "ctc_align",
    "Input InputLength?",
    "Output OutputLength?",
    {"blank": 0, "merge_repeated": True, "padding_value": 0},
    infer=_infer_align,
    grad=False,
    lod="kernel",
)
def ctc_align(k: Call, tokens: Array, length: Array | None) -> KernelResult:
    """Output = the tokens without repeats (if merge_repeated) and blanks."""
    host = np.asarray(k.dev.download(tokens))
    if length is not None:
        offsets = from_lengths(np.asarray(k.dev.download(length), np.int64).reshape(-1))
        flat = host.reshape(offsets.size - 1, host.shape[1])[padded_rows(offsets, host.shape[1])[1]]
    else:
        offsets = last_level(k, "Input", host.shape[0])
        flat = host.reshape(-1)
    kept = flat != k.attrs["blank"]
    if k.attrs["merge_repeated"]:
        same = np.zeros(flat.size, bool)
        same[1:] = flat[1:] == flat[:-1]
        same[offsets[:-1][np.diff(offsets) > 0]] = False
        kept &= ~same
    counts = from_lengths(kept)[offsets]
    if length is not None:
        sizes = np.diff(counts)
        out = np.full((sizes.size, host.shape[1]), k.attrs["padding_value"], host.dtype)
        out[np.arange(host.shape[1]) < sizes[:, None]] = flat[kept]
        return k.dev.upload(out), k.dev.upload(sizes.reshape(-1, 1).astype(host.dtype))
    k.out_lods["Output"] = (counts,)
    if not kept.any():
        return k.dev.upload(np.full((1, 1), -1, host.dtype)), None  # Fluid: an empty result is a single -1
    return k.dev.upload(flat[kept].reshape(-1, 1)), None

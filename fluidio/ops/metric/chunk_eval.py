"""Compare tagged chunks (named entities, phrases) as CoNLL does."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import op
from fluidio.ops.sequence.ragged import from_lengths, last_level, padded_rows
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray

compiled: Any
try:
    from fluidio.ops.compiled import _decode as compiled
except ImportError:
    compiled = None

__all__: list[str] = []

# scheme -> number of tags for each type, and the tags for begin, inside, end and single (-1: none)
_SCHEMES = {"IOB": (2, 0, 1, -1, -1), "IOE": (2, -1, 0, 1, -1), "IOBES": (4, 0, 1, 2, 3), "plain": (1, -1, -1, -1, -1)}


def _infer(c: InferContext) -> None:
    scheme = c.attrs["chunk_scheme"]
    c.check(scheme in _SCHEMES, f"chunk_scheme must be one of {', '.join(_SCHEMES)}, got {scheme!r}")
    for slot in ("Precision", "Recall", "F1-Score"):
        c.set(slot, (1,), VarType.FP32, 0)
    for slot in ("NumInferChunks", "NumLabelChunks", "NumCorrectChunks"):
        c.set(slot, (1,), VarType.INT64, 0)


def _chunks(ids: Array, offsets: Array, scheme: str, types: int) -> tuple[Array, Array, Array]:
    """Return the first row, last row and type of every chunk."""
    count, begin, _inside, end, single = _SCHEMES[scheme]
    kind, tag = np.divmod(ids, count)
    other = kind >= types
    first = np.zeros(ids.size, bool)
    first[offsets[:-1][np.diff(offsets) > 0]] = True
    before_kind, before_tag, before_other = np.roll(kind, 1), np.roll(tag, 1), np.roll(other, 1) | first
    changed = before_other | (kind != before_kind)
    after_end = np.isin(before_tag, [t for t in (end, single) if t >= 0])
    fresh = np.isin(tag, [t for t in (begin, single) if t >= 0])
    starts = ~other & (changed | fresh | after_end)
    # A chunk ends before a row that starts another, before a row outside chunks, and at the end of its sequence.
    stops = np.ones(ids.size, bool)
    stops[:-1] = starts[1:] | other[1:] | first[1:]
    stops &= ~other
    at = np.flatnonzero(starts)
    return at, np.flatnonzero(stops), kind[at]


def _counts(a: dict[str, Any], guessed: Array, truth: Array, offsets: IntArray) -> tuple[int, int, int]:
    """Return the number of chunks guessed, that of chunks there, and of those that are both."""
    scheme, types = a["chunk_scheme"], a["num_chunk_types"]
    excluded = np.asarray(a["excluded_chunk_types"], np.int64)
    lists = [np.ascontiguousarray(ids, np.int64) for ids in (guessed, truth)]
    if compiled is not None and all(ids.min(initial=0) >= 0 for ids in lists) and types >= 0:
        count, begin, _inside, end, single = _SCHEMES[scheme]
        left_out, counts = np.isin(np.arange(types), excluded), np.zeros(3, np.int64)
        compiled.chunks(*lists, np.ascontiguousarray(offsets), left_out, (count, begin, end, single), counts)
        inferred, labelled, correct = counts.tolist()
        return inferred, labelled, correct
    found = []
    for ids in lists:
        starts, stops, kinds = _chunks(ids, offsets, scheme, types)
        kept = ~np.isin(kinds, excluded)
        found.append({*zip(starts[kept].tolist(), stops[kept].tolist(), kinds[kept].tolist())})
    return len(found[0]), len(found[1]), len(found[0] & found[1])


@op(
    "chunk_eval",
    "Inference Label SeqLength?",
    "Precision Recall F1-Score NumInferChunks NumLabelChunks NumCorrectChunks",
    {"num_chunk_types": 1, "chunk_scheme": "IOB", "excluded_chunk_types": []},
    infer=_infer,
    grad=False,
    lod="kernel",
)
def chunk_eval(k: Call, inference: Array, label: Array, length: Array | None) -> KernelResult:
    """Compute Precision, Recall, F1-Score and the counts behind them."""
    a = k.attrs
    guessed, truth = np.asarray(k.dev.download(inference)), np.asarray(k.dev.download(label))
    if length is not None:
        offsets = from_lengths(np.asarray(k.dev.download(length), np.int64).reshape(-1))
        valid = padded_rows(offsets, guessed.shape[1])[1]
        guessed, truth = guessed.reshape(valid.shape)[valid], truth.reshape(valid.shape)[valid]
    else:
        offsets = last_level(k, "Label", truth.shape[0])
        guessed, truth = guessed.reshape(-1), truth.reshape(-1)
    if guessed.size != truth.size:
        raise EnforceNotMet(f"Inference has {guessed.size} tags, but Label has {truth.size}")
    inferred, labelled, correct = _counts(a, guessed, truth, offsets)
    precision = correct / inferred if inferred else 0.0
    recall = correct / labelled if labelled else 0.0
    f1 = 2 * precision * recall / (precision + recall) if correct else 0.0
    shares = [k.dev.upload(np.array([v], np.float32)) for v in (precision, recall, f1)]
    return (*shares, *(k.dev.upload(np.array([v], np.int64)) for v in (inferred, labelled, correct)))

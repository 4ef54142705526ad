"""Beam search over LoD rows: one step, and reading the sentences back from all steps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.frame import Frame
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.ops.sequence.ragged import from_lengths, ranges, rows_lod, segment_ids
from fluidio.program.infer import InferContext
from fluidio.tensor import LoDTensorArray
from fluidio.tensor.array import Array
from fluidio.tensor.lod import LoD

compiled: Any
try:
    from fluidio.ops.compiled import _decode as compiled
except ImportError:
    compiled = None

__all__: list[str] = []


def _infer_step(c: InferContext) -> None:
    rows = c.shape("pre_ids")[0]
    c.set("selected_ids", (rows, 1), VarType.INT64, None)
    c.set("selected_scores", (c.shape("pre_scores")[0], 1), c.dtype("pre_scores"), None)
    c.set("parent_idx", (rows,), VarType.INT32, 0)


@op(
    "beam_search",
    "pre_ids pre_scores ids? scores",
    "selected_ids selected_scores parent_idx?",
    {"level": 0, "beam_size": 1, "end_id": 0, "is_accumulated": True},
    infer=_infer_step,
    grad=False,
    lod="kernel",
)
def beam_search(k: Call, pre_ids: Array, pre_scores: Array, ids: Array | None, scores: Array) -> tuple[Array, ...]:
    """Select the beam_size best continuations of each source sentence.

    The LoD of the result has two levels: the prefixes of each source, and the continuations of each prefix. A source
    whose beams have all ended gets none.
    """
    a = k.attrs
    lod = k.lod("ids") or k.lod("scores") or k.lod("pre_ids")
    if len(lod) <= a["level"]:
        raise EnforceNotMet(
            f"beam_search needs a LoD of at least {a['level'] + 1} levels on ids or scores, got {len(lod)}; "
            "start with init_ids and init_scores of two levels"
        )
    sources = rows_lod(lod, a["level"])
    score = np.asarray(k.dev.download(scores))
    score = score.reshape(score.shape[0], -1)
    if sources[-1] != score.shape[0]:
        raise EnforceNotMet(f"the LoD covers {sources[-1]} prefixes, but scores has {score.shape[0]} rows")
    before = np.asarray(k.dev.download(pre_ids)).reshape(-1)
    before_score = np.asarray(k.dev.download(pre_scores)).reshape(-1)
    word = np.broadcast_to(np.arange(score.shape[1]), score.shape) if ids is None else np.asarray(k.dev.download(ids))
    word = word.reshape(score.shape)
    ended = before == a["end_id"]
    total = score if a["is_accumulated"] else before_score[:, None] + np.log(score)
    # A prefix that has ended competes once, with its unchanged score.
    total = np.where(ended[:, None], before_score[:, None], total)
    word = np.where(ended[:, None], a["end_id"], word)
    picked_rows, picked_columns = _best(total, sources, a["beam_size"], word, ended, a["end_id"])
    k.out_lods["selected_ids"] = k.out_lods["selected_scores"] = (
        sources.copy(),
        from_lengths(np.bincount(picked_rows, minlength=score.shape[0])),
    )
    return (
        k.dev.upload(word[picked_rows, picked_columns].astype(np.int64).reshape(-1, 1)),
        k.dev.upload(total[picked_rows, picked_columns].astype(score.dtype).reshape(-1, 1)),
        k.dev.upload(picked_rows.astype(np.int32)),
    )


def _best(total: Array, sources: Any, beam: int, word: Array, ended: Array, end: int) -> tuple[Array, Array]:
    """Return the rows and columns selected, by row and within a row by score."""
    rows, columns, counts = _all_leaders(total, sources, beam, ended)
    if not rows.size:
        return rows, columns
    source = np.repeat(np.arange(counts.size), counts)
    over = ended[rows] & (word[rows, columns] == end)
    going = np.bincount(source[~over], minlength=counts.size) > 0  # beams of the others have all ended
    kept = np.flatnonzero(going[source])
    kept = kept[np.argsort(rows[kept], kind="stable")]
    return rows[kept], columns[kept]


def _all_leaders(total: Array, sources: Any, beam: int, ended: Array) -> tuple[Array, Array, Array]:
    """Return rows and columns of the best candidates of each source, best first, and their numbers."""
    if compiled is not None and beam > 0:
        count = len(sources) - 1
        rows, columns = np.empty((2, count, beam), np.int64)
        counts = np.empty(count, np.int64)
        starts = np.ascontiguousarray(sources, np.int64)
        compiled.leaders(np.ascontiguousarray(total, np.float64), ended, starts, beam, rows, columns, counts)
        found = np.arange(beam) < counts[:, None]
        return rows[found], columns[found], counts
    competes = ~ended[:, None] | (np.arange(total.shape[1]) == 0)
    picked = [
        [(row + start, column) for _, row, column in _leaders(total[start:stop], competes[start:stop], beam)]
        for start, stop in pairwise(sources.tolist())
    ]
    flat = np.array([item for items in picked for item in items], np.int64).reshape(-1, 2)
    return flat[:, 0], flat[:, 1], np.array([len(items) for items in picked], np.int64)


def _leaders(total: Array, competes: Array, beam: int) -> list[tuple[float, int, int]]:
    """Return (score, row, column) of the best candidates, best first.

    Fluid: among equal scores the later row wins; within a row the latest one takes the last place.
    """
    scores = total[competes]
    least = np.partition(scores, -beam)[-beam] if scores.size > beam else -np.inf
    rows, columns = np.nonzero(competes & (total >= least))
    best: list[tuple[float, int, int]] = []
    for item in zip(total[rows, columns].tolist(), rows.tolist(), columns.tolist()):
        if len(best) < beam:
            best.append(item)
        elif item[:2] < best[-1][:2]:
            continue
        place = len(best) - 1
        while place and best[place - 1][:2] < item[:2]:
            best[place] = best[place - 1]
            place -= 1
        best[place] = item
    return best


def _infer_decode(c: InferContext) -> None:
    """Fluid: no shapes, no LoD levels."""
    c.set("SentenceIds", dtype=VarType.INT64)
    c.set("SentenceScores", dtype=VarType.FP32)


@op(
    "beam_search_decode",
    "Ids Scores",
    "SentenceIds SentenceScores",
    {"beam_size": 1, "end_id": 0},
    infer=_infer_decode,
    grad=False,
    raw=True,
)
def beam_search_decode(k: Call, f: Frame) -> None:
    """SentenceIds = the sentences of each source, best first, traced back from the last step to the first."""
    steps, step_scores = f.values[k.ins["Ids"][0]], f.values[k.ins["Scores"][0]]
    if not isinstance(steps, LoDTensorArray) or not len(steps):
        raise EnforceNotMet("beam_search_decode: Ids must be an array with at least one step")
    traced = _Traced(steps[0].levels[0].size - 1)
    for step in range(len(steps) - 1, -1, -1):
        lod = steps[step].levels
        if len(lod) != 2:
            raise EnforceNotMet(f"step {step} of Ids has {len(lod)} LoD level(s), expected 2")
        ids = np.asarray(k.dev.download(steps[step].array)).reshape(-1)
        scores = np.asarray(k.dev.download(step_scores[step].array)).reshape(-1)
        traced.add(ids, scores, lod, k.attrs["end_id"])
    words, scored, lod = traced.sentences(step_scores[0].array.dtype)
    f.set(k.outs["SentenceIds"][0], k.dev.upload(words), lod)
    f.set(k.outs["SentenceScores"][0], k.dev.upload(scored), lod)


class _Traced:
    """All hypotheses being traced back together: their sources, rows in the current step, and words, last first."""

    def __init__(self, sources: int) -> None:
        self.sources = sources
        self.source = self.row = np.zeros(0, np.int64)
        self.spoke = np.zeros(0, bool)
        self.steps: list[tuple[Array, Array, Array]] = []
        """For each step: which hypotheses have a word there, the words, their scores. Later ones are not in it."""

    def add(self, ids: Array, scores: Array, lod: LoD, end: int) -> None:
        """Go one step back. A source begins at the last step in which it has rows."""
        begun = np.isin(np.arange(self.sources), self.source)
        firsts, lasts = lod[1][lod[0][:-1]], lod[1][lod[0][1:]]
        counts = np.where(begun, 0, lasts - firsts)
        self.source = np.concatenate([self.source, np.repeat(np.arange(self.sources), counts)])
        self.row = np.concatenate([self.row, ranges(firsts, counts)])
        self.spoke = np.concatenate([self.spoke, np.zeros(self.row.size - self.spoke.size, bool)])
        speaks = (ids[self.row] != end) | ~self.spoke
        self.steps.append((speaks, ids[self.row], scores[self.row]))
        self.spoke |= speaks
        self.row = segment_ids(lod[1])[self.row]

    def sentences(self, dtype: Any) -> tuple[Array, Array, LoD]:
        """Return words and scores of all hypotheses, best first in each source, and their LoD."""
        count, last = self.source.size, np.zeros(self.source.size)
        spoken, words, scores = (np.zeros((count, len(self.steps)), kind) for kind in (bool, np.int64, dtype))
        for at, (speaks, ids, values) in enumerate(reversed(self.steps)):
            for table, column in ((spoken, speaks), (words, ids), (scores, values)):
                table[: column.size, at] = column
        for speaks, _, values in reversed(self.steps):
            last[: values.size] = np.where(speaks, values, last[: values.size])
        order = np.lexsort((-last, self.source))
        spoken, lengths = spoken[order], np.zeros(self.sources, np.int64)
        np.add.at(lengths, self.source, 1)
        sizes = spoken.sum(axis=1)
        # Fluid: a source without a sentence gets an empty one.
        sizes = np.insert(sizes, np.cumsum(lengths)[lengths == 0], 0)
        lod = (from_lengths(np.maximum(lengths, 1)), from_lengths(sizes))
        return words[order][spoken], scores[order][spoken], lod


def _infer_tree(c: InferContext) -> None:
    ids, parents = c.shape("Ids"), c.shape("Parents")
    c.check(ids == parents, f"Ids {list(ids)} and Parents {list(parents)} must have the same shape")
    c.same("Out", "Ids")


@op("gather_tree", "Ids Parents", "Out", infer=_infer_tree, grad=False, lod="none")
def gather_tree(k: Call, ids: Array, parents: Array) -> Array:
    """Out = the ids [time, batch, beam] of full paths, traced through Parents from the last step to the first."""
    xp = k.xp
    out = xp.empty_like(ids)
    count, beams = ids.shape[0], ids.shape[1] * ids.shape[2]
    words, before = ids.reshape(count, beams), parents.reshape(count, beams)
    first = xp.repeat(xp.arange(ids.shape[1]) * ids.shape[2], ids.shape[2])
    flat, at = out.reshape(count, beams), xp.arange(beams)
    for step in range(count - 1, -1, -1):
        flat[step] = words[step].take(at)
        at = first + before[step].take(at)
    return out

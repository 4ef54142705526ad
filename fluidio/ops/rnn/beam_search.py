"""Beam search over LoD rows: one step, and reading the sentences back from all steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.frame import Frame
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.ops.sequence.ragged import from_lengths, rows_lod
from fluidio.program.infer import InferContext
from fluidio.tensor import LoDTensorArray
from fluidio.tensor.array import Array

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
    competes = ~ended[:, None] | (np.arange(total.shape[1]) == 0)
    rows, columns = [], []
    for start, stop in zip(sources[:-1].tolist(), sources[1:].tolist()):
        picked = _leaders(total[start:stop], competes[start:stop], beam)
        row, column = (np.array([item[part] for item in picked], np.int64) for part in (1, 2))
        row = row + start
        if row.size and (ended[row] & (word[row, column] == end)).all():
            continue  # no beam of this source continues
        by_row = np.argsort(row, kind="stable")
        rows.append(row[by_row])
        columns.append(column[by_row])
    if not rows:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return np.concatenate(rows), np.concatenate(columns)


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
    count = steps[0].levels[0].size - 1
    sentences: list[list[_Sentence]] = [[] for _ in range(count)]
    for step in range(len(steps) - 1, -1, -1):
        lod = steps[step].levels
        if len(lod) != 2:
            raise EnforceNotMet(f"step {step} of Ids has {len(lod)} LoD level(s), expected 2")
        ids = np.asarray(k.dev.download(steps[step].array)).reshape(-1)
        scores = np.asarray(k.dev.download(step_scores[step].array)).reshape(-1)
        parent = np.repeat(np.arange(lod[1].size - 1), np.diff(lod[1]))
        for source in range(count):
            found = sentences[source]
            if not found:
                first, last = lod[1][lod[0][source]], lod[1][lod[0][source + 1]]
                found += [_Sentence(row) for row in range(int(first), int(last))]
            for sentence in found:
                row = sentence.row
                if ids[row] != k.attrs["end_id"] or not sentence.words:
                    sentence.words.append(int(ids[row]))
                    sentence.scores.append(float(scores[row]))
                sentence.row = int(parent[row])
    for found in sentences:
        found.sort(key=lambda sentence: -sentence.scores[0])
        found += [] if found else [_Sentence(0)]  # Fluid: a source without a sentence gets an empty one
    flat = [sentence for found in sentences for sentence in found]
    lod = (from_lengths([len(found) for found in sentences]), from_lengths([len(s.words) for s in flat]))
    words = np.array([w for s in flat for w in reversed(s.words)], np.int64)
    scored = np.array([v for s in flat for v in reversed(s.scores)], step_scores[0].array.dtype)
    f.set(k.outs["SentenceIds"][0], k.dev.upload(words), lod)
    f.set(k.outs["SentenceScores"][0], k.dev.upload(scored), lod)


class _Sentence:
    """One hypothesis being traced back: its row in the current step, and its words and scores, last first."""

    __slots__ = ("row", "scores", "words")

    def __init__(self, row: int) -> None:
        self.row = row
        self.words: list[int] = []
        self.scores: list[float] = []


def _infer_tree(c: InferContext) -> None:
    ids, parents = c.shape("Ids"), c.shape("Parents")
    c.check(ids == parents, f"Ids {list(ids)} and Parents {list(parents)} must have the same shape")
    c.same("Out", "Ids")


@op("gather_tree", "Ids Parents", "Out", infer=_infer_tree, grad=False, lod="none")
def gather_tree(k: Call, ids: Array, parents: Array) -> Array:
    """Out = the ids [time, batch, beam] of full paths, traced through Parents from the last step to the first."""
    xp = k.xp
    out = xp.empty_like(ids)
    beam = xp.broadcast_to(xp.arange(ids.shape[2]), ids.shape[1:])
    for step in range(ids.shape[0] - 1, -1, -1):
        out[step] = xp.take_along_axis(ids[step], beam, axis=1)
        beam = xp.take_along_axis(parents[step], beam, axis=1)
    return out

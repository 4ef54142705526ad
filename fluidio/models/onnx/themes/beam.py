"""Beam search: one step over rows with a LoD of two levels, and reading the sentences back from all steps."""

from __future__ import annotations

import numpy as np

from fluidio.models.onnx.context import Lod, Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.sequences import Segments, offsets_from_lengths
from fluidio.models.onnx.table import Refused, maps

__all__: list[str] = []

_NEVER = -3e38


def _in_rows(k: Op, lod: Lod, level: int) -> Value:
    """Return the offsets of a level counted in rows."""
    offsets = lod[level]
    for below in lod[level + 1 :]:
        offsets = k("Gather", below, offsets)
    return offsets


@maps("beam_search")
def beam_search(
    k: Op, pre_ids: Value, pre_scores: Value, ids: Value | None, scores: Value
) -> tuple[Value, Value, Value]:
    lod = k.lod("ids") or k.lod("scores") or k.lod("pre_ids")
    level = int(k.attr("level"))
    if len(lod) <= level:
        k.refuse(f"ids or scores need a LoD of {level + 1} levels")
    s = Segments(k.g, _in_rows(k, lod, level), scores)
    end = int(k.attr("end_id"))
    score = k("Flatten", scores, axis=1, rank=2)
    ended = k("Equal", k.g.flat(k.g.cast(pre_ids, np.int64)), end)
    total, word = _continuations(k, score, ids, k.g.flat(pre_scores), ended, end)
    row, column, kept = _best(k, s, total, ended)
    cells = k("Concat", k.g.unsqueeze(row, 1), k.g.unsqueeze(column, 1), axis=1)
    picked = k("Compress", cells, kept, axis=0, rank=2)
    rows = k.g.squeeze(k.g.slice(picked, 1, 0, 1), 1)
    zeros = k.g.filled(s.rows, 0, np.int64)
    ones = k.g.filled(k.g.shape(rows), 1, np.int64)
    counts = k("ScatterElements", zeros, rows, ones, axis=0, reduction="add", rank=1)
    lods = (s.offsets, offsets_from_lengths(k.g, counts))
    k.out_lods["selected_ids"] = k.out_lods["selected_scores"] = lods
    k.out_lods["parent_idx"] = ()
    found = [k.g.unsqueeze(k("GatherND", each, picked, rank=1), 1) for each in (word, total)]
    return found[0], found[1], k.g.cast(rows, np.int32)


def _continuations(
    k: Op, score: Value, ids: Value | None, before: Value, ended: Value, end: int
) -> tuple[Value, Value]:
    """Return scores and words of all continuations; a prefix that has ended competes once, with its own score."""
    g = k.g
    columns = g.unsqueeze(g.arange(g.dim(score, 1)), 0)
    over, own = g.unsqueeze(ended, 1), g.unsqueeze(before, 1)
    total = score if k.attr("is_accumulated") else k("Add", own, k("Log", score))
    stays = k("Where", k("Equal", columns, 0), own, g.value(_NEVER, score))
    if ids is None:
        word = k("Expand", columns, g.shape(score), rank=2)
    else:
        word = k("Flatten", g.cast(ids, np.int64), axis=1, rank=2)
    return k("Where", over, stays, total), k("Where", over, g.value(end, word), word)


def _best(k: Op, s: Segments, total: Value, ended: Value) -> tuple[Value, Value, Value]:
    """Return the rows and columns of each source's best candidates, by row, and which of them count."""
    g = k.g
    wide = s.padded(total, g.constant(np.asarray(_NEVER, total.dtype)), s.steps)  # [sources, prefixes, words]
    flat = k("Flatten", wide, axis=1, rank=2)
    count = k("Min", g.dim(flat, 1), int(k.attr("beam_size")))
    best, place = g.node("TopK", flat, count, dtypes=[None, None], axis=1, largest=1, sorted=1)
    words = g.dim(total, 1)
    within, column = k("Div", place, words), k("Mod", place, words)
    last = k("Sub", s.rows, 1)
    row = k("Min", k("Add", within, g.unsqueeze(s.starts, 1)), last)
    real = k("Greater", best, _NEVER)
    still = k("And", real, k("Not", k("Gather", ended, row)))
    alive = k("ReduceMax", g.cast(still, np.int32), np.array([1]), keepdims=1)
    kept = k("And", real, k("Greater", alive, 0))
    key = k("Add", k("Mul", within, count), g.unsqueeze(g.arange(count), 0))
    _, order = g.node("TopK", key, count, dtypes=[None, None], axis=1, largest=0, sorted=1)
    sorted_ = [k("GatherElements", each, order, axis=1) for each in (row, column, g.cast(kept, np.int32))]
    return g.flat(sorted_[0]), g.flat(sorted_[1]), g.cast(g.flat(sorted_[2]), np.bool_)


@maps("beam_search_decode", raw=True)
def beam_search_decode(k: Op) -> None:
    names = [k.op.input(slot)[0] for slot in ("Ids", "Scores")]
    ids, scores = (k.frame.value(name) for name in names)
    levels = k.frame.lod(names[0])
    if not ids.many or len(levels) != 2:
        raise Refused(f"{names[0]} must be an array of steps with a LoD of two levels")
    g = k.g
    first = g("SequenceAt", levels[0], np.asarray(0), rank=1)
    sources = g("Sub", g.rows(first), 1)
    shape = g.join([sources, int(k.attr("beam_size"))])
    words, scored, taken = _walk_back(k, ids, scores, levels, shape)
    _put_out(k, words, scored, taken)


def _walk_back(k: Op, ids: Value, scores: Value, levels: Lod, shape: Value) -> tuple[Value, Value, Value]:
    """Return words, scores and whether they count as [steps, sources, beams], last step first."""
    g = k.g
    count = g("SequenceLength", ids, rank=0)
    b = g.child()
    turn, going = b.given("turn", np.int64, 0), b.given("going", np.bool_, 0)
    row, begun = b.given("row", np.int64, 2), b.given("begun", np.bool_, 2)
    step = b("Sub", b("Sub", count, 1), turn)
    inner, outer = b("SequenceAt", levels[1], step, rank=1), b("SequenceAt", levels[0], step, rank=1)
    word = b.flat(b("SequenceAt", ids, step, rank=2))
    score = b.flat(b("SequenceAt", scores, step, rank=2))
    edges = b("Gather", inner, outer)
    start, stop = (b.unsqueeze(each, 1) for each in (b.slice(edges, 0, 0, -1), b.slice(edges, 0, 1, 2**62)))
    fresh = b("Add", start, b.unsqueeze(b.arange(b.dim(row, 1)), 0))
    none_yet = b("Equal", b("ReduceMax", b.cast(begun, np.int32), np.array([1]), keepdims=1), 0)
    begins = b("And", none_yet, b("Less", fresh, stop))
    now = b("Or", begun, begins)
    at = b("Where", begins, fresh, row)
    safe = b("Where", now, at, 0)
    # If a step has no rows at all, an unused one keeps the indices valid.
    words = b("Gather", b("Concat", word, np.zeros(1, np.int64), axis=0), safe, axis=0)
    values = b("Gather", b("Concat", score, np.zeros(1, scores.dtype), axis=0), safe, axis=0)
    over = b("And", b("Equal", words, int(k.attr("end_id"))), begun)
    taken = b("And", now, b("Not", over))
    parents = b("Concat", Segments(b, inner, word).number, np.zeros(1, np.int64), axis=0)
    body = b.body(
        "back",
        [turn, going, row, begun],
        [going, b("Gather", parents, safe, axis=0), now, words, values, taken],
    )
    made = g.node(
        "Loop",
        count,
        g.constant(np.asarray(True)),
        g.filled(shape, 0, np.int64),
        g.filled(shape, False, np.bool_),
        dtypes=[np.int64, np.bool_, np.int64, scores.dtype, np.bool_],
        ranks=[2, 2, 3, 3, 3],
        body=body,
    )
    return made[2], made[3], made[4]


def _put_out(k: Op, words: Value, scored: Value, taken: Value) -> None:
    """Sort the sentences of each source by the score of their last word and join them."""
    g = k.g
    flags = g.cast(taken, np.int32)
    last = g("ArgMax", flags, axis=0, keepdims=1)  # the first step that counts, from the end
    final = g.squeeze(g("GatherElements", scored, last, axis=0), 0)
    is_there = g("Greater", g("ReduceMax", flags, np.array([0]), keepdims=0), 0)
    final = g("Where", is_there, final, g.value(_NEVER, scored))
    _, order = g.node("TopK", final, g.dim(final, 1), dtypes=[None, None], axis=1, largest=1, sorted=1)
    wide = g("Expand", g.unsqueeze(order, 0), g.shape(words), rank=3)

    def arranged(value: Value) -> Value:
        picked = g("GatherElements", value, wide, axis=2)
        forward = g("Slice", picked, np.array([-1]), np.array([-(2**62)]), np.array([0]), np.array([-1]))
        return g("Transpose", forward, perm=[1, 2, 0])  # [sources, beams, steps]

    kept = arranged(flags)
    cells = g("Transpose", g("NonZero", kept), perm=[1, 0])
    lengths = g("ReduceSum", g.cast(kept, np.int64), np.array([2]), keepdims=0)
    some = g("Greater", lengths, 0)
    outer = offsets_from_lengths(g, g("ReduceSum", g.cast(some, np.int64), np.array([1]), keepdims=0))
    inner = offsets_from_lengths(g, g("Compress", g.flat(lengths), g.flat(some), axis=0, rank=1))
    for slot, value in (("SentenceIds", words), ("SentenceScores", scored)):
        out = g("GatherND", arranged(value), cells, rank=1)
        k.frame.set(k.op.output(slot)[0], out, (outer, inner))

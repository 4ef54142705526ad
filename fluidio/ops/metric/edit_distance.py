"""Edit distances between sequences of tokens."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
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

__all__ = ["distances"]


def _infer_distance(c: InferContext) -> None:
    c.set("Out", c.shape("Refs"), None, 0)  # Fluid: declared like Refs
    c.set("SequenceNum", (1,), VarType.INT64, 0)


def distances(guesses: Array, guess_at: IntArray, truths: Array, truth_at: IntArray) -> Array:
    """Return the Levenshtein distance of each pair of sequences, whose tokens begin at the given offsets."""
    if compiled is None:
        return _by_lines(_parts(guesses, guess_at), _parts(truths, truth_at))
    found = np.empty(guess_at.size - 1, np.int64)
    compiled.distances(*(np.ascontiguousarray(a, np.int64) for a in (guesses, guess_at, truths, truth_at)), found)
    return found


def _by_lines(guesses: list[Array], truths: list[Array]) -> Array:
    """Do the same in NumPy; all tables grow together, one row per token of the guesses."""
    lengths = np.array([guess.size for guess in guesses], np.int64)
    order = np.argsort(-lengths, kind="stable")
    lengths = lengths[order]
    tokens, others = (_padded([side[i] for i in order.tolist()]) for side in (guesses, truths))
    steps = np.arange(others.shape[1] + 1)
    lines = np.tile(steps, (len(order), 1))
    for number in range(1, tokens.shape[1] + 1):
        line = lines[: np.searchsorted(-lengths, -number, side="right")]  # guesses of this length
        best = np.empty_like(line)
        best[:, 0] = number
        unlike = others[: len(line)] != tokens[: len(line), number - 1, None]
        best[:, 1:] = np.minimum(line[:, :-1] + unlike, line[:, 1:] + 1)
        # Insertions along the row: best[j] = min over i <= j of best[i] + (j - i).
        line[...] = np.minimum.accumulate(best - steps, axis=1) + steps
    found = np.empty(len(order), np.int64)
    found[order] = lines[np.arange(len(order)), [truths[i].size for i in order.tolist()]]
    return found


def _padded(rows: list[Array]) -> Array:
    out = np.zeros((len(rows), max((row.size for row in rows), default=0)), rows[0].dtype if rows else np.int64)
    for target, row in zip(out, rows):
        target[: row.size] = row
    return out


def _parts(tokens: Array, offsets: IntArray) -> list[Array]:
    return [tokens[a:b] for a, b in itertools.pairwise(offsets.tolist())]


@op(
    "edit_distance",
    "Hyps Refs HypsLength? RefsLength?",
    "SequenceNum Out",
    {"normalized": False},
    infer=_infer_distance,
    grad=False,
    lod="kernel",
)
def edit_distance(k: Call, guesses: Any, truths: Any, guess_lengths: Any, truth_lengths: Any) -> Any:
    """Out = the number of edits between each guess and its reference, optionally divided by the reference's length."""
    sides: list[Array] = []
    for slot, value, lengths in (("Hyps", guesses, guess_lengths), ("Refs", truths, truth_lengths)):
        host = np.asarray(k.dev.download(value))
        if lengths is not None:
            offsets = from_lengths(np.asarray(k.dev.download(lengths), np.int64).reshape(-1))
            rows = host.reshape(offsets.size - 1, -1)
            sides += [rows[padded_rows(offsets, rows.shape[1])[1]], offsets]
        else:
            sides += [host.reshape(-1), last_level(k, slot, host.shape[0])]
    counts = [at.size - 1 for at in sides[1::2]]
    if counts[0] != counts[1]:
        raise EnforceNotMet(f"Hyps holds {counts[0]} sequences, but Refs holds {counts[1]}")
    out = distances(*sides).astype(np.float32)
    if k.attrs["normalized"]:
        sizes = np.diff(sides[3])
        if (sizes == 0).any():
            raise EnforceNotMet(
                f"sequence {int(np.argmin(sizes))} of Refs is empty, so its distance cannot be divided by its length"
            )
        out /= sizes
    return k.dev.upload(np.array([counts[0]], np.int64)), k.dev.upload(out.astype(np.float32).reshape(-1, 1))

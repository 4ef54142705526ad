"""Edit distances between sequences of tokens."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.ops.sequence.ragged import last_level
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__ = ["distances"]


def _infer_distance(c: InferContext) -> None:
    c.set("Out", c.shape("Refs"), None, 0)  # Fluid: declared like Refs
    c.set("SequenceNum", (1,), VarType.INT64, 0)


def distances(guesses: list[Array], truths: list[Array]) -> Array:
    """Return the Levenshtein distance of each pair; all tables grow together, one row per token of the guesses."""
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
    sides = []
    for slot, value, lengths in (("Hyps", guesses, guess_lengths), ("Refs", truths, truth_lengths)):
        host = np.asarray(k.dev.download(value))
        if lengths is not None:
            sizes = np.asarray(k.dev.download(lengths), np.int64).reshape(-1)
            rows = host.reshape(sizes.size, -1)
            sides.append([row[:n] for row, n in zip(rows, sizes.tolist())])
        else:
            offsets = last_level(k, slot, host.shape[0]).tolist()
            flat = host.reshape(-1)
            sides.append([flat[a:b] for a, b in itertools.pairwise(offsets)])
    if len(sides[0]) != len(sides[1]):
        raise EnforceNotMet(f"Hyps holds {len(sides[0])} sequences, but Refs holds {len(sides[1])}")
    out = distances(*sides).astype(np.float32)
    if k.attrs["normalized"]:
        sizes = np.array([truth.size for truth in sides[1]])
        if (sizes == 0).any():
            raise EnforceNotMet(
                f"sequence {int(np.argmin(sizes))} of Refs is empty, so its distance cannot be divided by its length"
            )
        out /= sizes
    return k.dev.upload(np.array([len(sides[0])], np.int64)), k.dev.upload(out.astype(np.float32).reshape(-1, 1))

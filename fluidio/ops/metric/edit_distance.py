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

__all__: list[str] = []


def _infer_distance(c: InferContext) -> None:
    c.set("Out", c.shape("Refs"), None, 0)  # Fluid: declared like the references
    c.set("SequenceNum", (1,), VarType.INT64, 0)


def _distance(guess: Array, truth: Array) -> int:
    """Return the Levenshtein distance, row by row of the table."""
    steps = np.arange(truth.size + 1)
    line = steps.copy()
    for number, token in enumerate(guess.tolist(), 1):
        best = np.empty_like(line)
        best[0] = number
        best[1:] = np.minimum(line[:-1] + (truth != token), line[1:] + 1)
        # Insertions run along the row: best[j] = min over i <= j of best[i] + (j - i).
        line = np.minimum.accumulate(best - steps) + steps
    return int(line[-1])


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
    """Out = the number of edits between each guess and its reference, divided by the reference's length if asked."""
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
        raise EnforceNotMet(f"Hyps holds {len(sides[0])} sequences, but Refs {len(sides[1])}")
    out = np.array([_distance(guess, truth) for guess, truth in zip(*sides)], np.float32)
    if k.attrs["normalized"]:
        sizes = np.array([truth.size for truth in sides[1]])
        if (sizes == 0).any():
            raise EnforceNotMet(f"Refs sequence {int(np.argmin(sizes))} is empty: a distance cannot be normalized by 0")
        out /= sizes
    return k.dev.upload(np.array([len(sides[0])], np.int64)), k.dev.upload(out.astype(np.float32).reshape(-1, 1))

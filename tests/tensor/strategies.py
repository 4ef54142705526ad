"""Hypothesis strategies for LoDs and the tensors under them."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from fluidio.tensor.lod import LoD, from_lengths

_LENGTHS = st.integers(0, 4)


@st.composite
def lods(draw: st.DrawFn, levels: int | None = None, sequences: int | None = None) -> LoD:
    """Draw a valid LoD of 1 to 3 levels; empty sequences included."""
    depth = draw(st.integers(1, 3)) if levels is None else levels
    count = draw(st.integers(1, 4)) if sequences is None else sequences
    lengths: list[list[int]] = []
    for _ in range(depth):
        level = draw(st.lists(_LENGTHS, min_size=count, max_size=count))
        if sum(level) == 0:
            level[0] = 1  # an inner level needs at least one sequence
        lengths.append(level)
        count = sum(level)
    return from_lengths(lengths)


def rows(lod: LoD) -> int:
    """Return the number of rows that a LoD covers."""
    return int(lod[-1][-1])


def nested(lod: LoD, values: list[float]) -> list[object]:
    """Return the rows as nested lists, one depth for each level: the meaning of a LoD, spelled out."""
    items: list[object] = list(values)
    for level in reversed(lod):
        items = [items[start:stop] for start, stop in itertools.pairwise(level)]
    return items


def numbered(lod: LoD, start: int = 0) -> list[float]:
    """Return one distinct number for each row."""
    return np.arange(start, start + rows(lod), dtype=np.float64).tolist()

"""Hypothesis strategies: tensors with LoD, records that share a layout, records that do not."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np

from fluidio.tensor.lod import LoD

Tensor = tuple[np.ndarray[Any, Any], LoD]
DTYPES = ["bool", "int16", "int32", "int64", "float16", "float32", "float64", "uint8", "int8"]


def values(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    raw = np.random.default_rng(seed).integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8)
    if dtype == "bool":
        raw &= 1
    return raw.view(dtype).reshape(shape)


@st.composite
def lods(draw: st.DrawFn, levels: int) -> tuple[LoD, int]:
    """Return a LoD of so many levels and the number of rows that it covers."""
    out = []
    count = draw(st.integers(0, 3)) if levels else 0
    for _ in range(levels):
        lengths = draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))
        out.append(np.cumsum([0, *lengths]).astype(np.int64))
        count = sum(lengths)
    return tuple(out), count


@st.composite
def tensors(draw: st.DrawFn, layout: tuple[str, tuple[int, ...], int], rows: int | None = None) -> Tensor:
    dtype, tail, levels = layout
    lod, count = draw(lods(levels))
    if not levels:
        count = draw(st.integers(0, 3)) if rows is None else rows
    return values(dtype, (count, *tail), draw(st.integers(0, 1000))), lod


layouts = st.tuples(
    st.sampled_from(DTYPES),
    st.lists(st.sampled_from([0, 1, 2, 3, 130]), max_size=2).map(tuple),
    st.sampled_from([0, 0, 0, 1, 1, 2, 3]),
)


@st.composite
def alike(draw: st.DrawFn) -> list[list[Tensor]]:
    """Return records that share dtypes, trailing dims and numbers of LoD levels."""
    slots = draw(st.lists(layouts, min_size=1, max_size=3))
    rows = draw(st.sampled_from([None, 1, 2]))
    count = draw(st.integers(1, 12))
    return [[draw(tensors(slot, rows)) for slot in slots] for _ in range(count)]


@st.composite
def mixed(draw: st.DrawFn) -> list[list[Tensor]]:
    """Return records of any layouts, in runs."""
    return [record for run in draw(st.lists(alike(), min_size=1, max_size=4)) for record in run]


def same(left: list[Tensor], right: list[Tensor]) -> bool:
    """Return whether two lists of tensors hold the same bytes, shapes and LoD."""
    return len(left) == len(right) and all(
        a.dtype == b.dtype
        and a.shape == b.shape
        and a.tobytes() == b.tobytes()
        and [level.tolist() for level in x] == [level.tolist() for level in y]
        for (a, x), (b, y) in zip(left, right)
    )

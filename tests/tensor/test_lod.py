"""LoD arithmetic agrees with nested lists."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidio.tensor import lod as lod_math
from fluidio.tensor.lod import LoD
from tests.tensor.strategies import lods, nested, numbered, rows


def test_lengths_become_offsets() -> None:
    assert lod_math.to_lists(lod_math.from_lengths([[2, 1], [3, 2, 4]])) == [[0, 2, 3], [0, 3, 5, 9]]


@given(lods())
def test_offsets_and_lengths_are_two_forms_of_one_thing(lod: LoD) -> None:
    assert lod_math.to_lists(lod_math.from_lengths(lod_math.to_lengths(lod))) == lod_math.to_lists(lod)
    assert lod_math.to_lists(lod_math.from_offsets(lod_math.to_lists(lod))) == lod_math.to_lists(lod)


@given(lods())
def test_a_drawn_lod_is_valid_for_its_rows_only(lod: LoD) -> None:
    assert lod_math.is_valid(lod, rows(lod))
    assert not lod_math.is_valid(lod, rows(lod) + 1)
    assert lod_math.is_valid(lod, None)
    assert lod_math.is_valid(lod, 0)  # Fluid: a tensor without rows skips the test of the height


@given(st.integers(1, 3).flatmap(lambda levels: st.lists(lods(levels=levels), min_size=1, max_size=4)))
def test_merging_is_stacking_the_sequences(items: list[LoD]) -> None:
    starts = [0, *itertools.accumulate(map(rows, items))]
    values = [numbered(lod, start) for lod, start in zip(items, starts)]
    merged = lod_math.merge(items)
    expected = [sequence for lod, numbers in zip(items, values) for sequence in nested(lod, numbers)]
    assert lod_math.is_valid(merged, starts[-1])
    assert nested(merged, [number for numbers in values for number in numbers]) == expected


@given(lods(), st.data())
def test_a_slice_holds_the_same_sequences(lod: LoD, data: st.DataObject) -> None:
    count = lod[0].size - 1
    start = data.draw(st.integers(0, count - 1))
    stop = data.draw(st.integers(start + 1, count))
    part, first, last = lod_math.sequence_slice(lod, start, stop)
    values = numbered(lod)
    assert nested(part, values[first:last]) == nested(lod, values)[start:stop]


@given(lods())
def test_slices_merge_to_the_whole(lod: LoD) -> None:
    parts = [lod_math.sequence_slice(lod, index, index + 1)[0] for index in range(lod[0].size - 1)]
    assert lod_math.to_lists(lod_math.merge(parts)) == lod_math.to_lists(lod)


def test_items_of_several_sequences_merge_right() -> None:
    first, second = lod_math.from_lengths([[1, 2]]), lod_math.from_lengths([[3, 1]])
    assert lod_math.to_lists(lod_math.merge([first, second])) == [[0, 1, 3, 6, 7]]


def test_items_without_lod_merge_to_none() -> None:
    assert lod_math.merge([lod_math.NO_LOD, lod_math.NO_LOD]) == ()


def test_different_depths_do_not_merge() -> None:
    with pytest.raises(ValueError, match=r"same number of LoD levels, got \[0, 1\]"):
        lod_math.merge([lod_math.NO_LOD, lod_math.from_lengths([[1]])])


def test_nothing_does_not_merge() -> None:
    with pytest.raises(ValueError, match="no items"):
        lod_math.merge([])


@pytest.mark.parametrize(
    ("offsets", "problem"),
    [
        ([[]], "level 0 needs at least two offsets, has 0"),
        ([[0]], "level 0 needs at least two offsets, has 1"),
        ([[1, 5]], "level 0 must start with 0, starts with 1"),
        ([[0, 3, 2, 5]], "level 0 must not descend: [0, 3, 2, 5]"),
        ([[0, 2, 4]], "level 0 ends at 4, but the tensor has 5 rows"),
        ([[0, 1], [0, 2, 5]], "level 0 ends at 1, but level 1 has 2 sequences"),
        ([[0, 2], [0, 2, 6]], "level 1 ends at 6, but the tensor has 5 rows"),
    ],
)
def test_what_is_wrong_is_said(offsets: list[list[int]], problem: str) -> None:
    assert lod_math.problem(lod_math.from_offsets(offsets), 5) == problem


@pytest.mark.parametrize("offsets", [[], [[0, 5]], [[0, 0, 5]], [[0, 2], [0, 2, 5]], [[0, 0, 2], [0, 5, 5]]])
def test_valid_lods_have_no_problem(offsets: list[list[int]]) -> None:
    assert lod_math.problem(lod_math.from_offsets(offsets), 5) == ""


@pytest.mark.parametrize("given_", [[0, 5], [[0, 2.5, 5]], [["a"]], [[[0, 5]]], [5]])
def test_what_is_no_list_of_whole_numbers_is_refused(given_: Any) -> None:
    for read in (lod_math.from_offsets, lod_math.from_lengths):
        with pytest.raises(TypeError, match="list of levels"):
            read(given_)


@pytest.mark.parametrize("lengths", [[-1, 6], [2**62, 2**62, 2**62], [2**63 - 1, 1, 4]])
def test_negative_and_overflowing_lengths_are_invalid(lengths: list[int]) -> None:
    assert not lod_math.is_valid(lod_math.from_lengths([lengths]), None)


@given(st.lists(st.lists(st.integers(-3, 7), max_size=5), max_size=3), st.integers(0, 8))
def test_a_lod_called_valid_can_be_taken_apart(offsets: list[list[int]], height: int) -> None:
    lod = lod_math.from_offsets(offsets)
    if lod_math.is_valid(lod, height) and height:
        flat: Any = nested(lod, list(range(height)))
        for _ in lod:
            flat = [item for group in flat for item in group]
        assert flat == list(range(height))


def test_arrays_and_tuples_are_levels_too() -> None:
    assert lod_math.to_lists(lod_math.from_offsets(np.array([[0, 5]]))) == [[0, 5]]
    assert lod_math.to_lists(lod_math.from_lengths(((2, 3),))) == [[0, 2, 5]]

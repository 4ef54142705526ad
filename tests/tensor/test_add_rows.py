"""Rows are added to the rows that an index names, whatever the repeats."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fluidio.tensor.add_rows import add_rows, merge_rows


def check(rows: int, index: list[int], width: int) -> None:
    rng = np.random.default_rng(len(index))
    shape = (len(index), width) if width else (len(index),)
    values = rng.integers(-8, 8, shape).astype("float32")  # whole numbers: sums are exact in any order
    target = rng.integers(-8, 8, (rows, *shape[1:])).astype("float32")
    expected = target.copy()
    np.add.at(expected, np.array(index, np.int64), values)
    add_rows(target, np.array(index, np.int64), values)
    assert np.array_equal(target, expected)


@given(st.lists(st.integers(0, 6), max_size=60), st.sampled_from([0, 1, 3]))
def test_it_does_what_add_at_does(index: list[int], width: int) -> None:
    check(7, index, width)


def test_many_long_runs_are_summed_at_once() -> None:
    check(300, list(range(300)) * 7, 2)


def test_one_row_that_comes_very_often() -> None:
    check(3, [1] * 5000 + [2], 4)


@given(st.lists(st.integers(0, 6), max_size=60), st.sampled_from([0, 1, 3]))
def test_rows_are_merged_with_their_sums_ascending_if_any_repeats(index: list[int], width: int) -> None:
    given_rows = np.array(index, np.int64)
    values = np.random.default_rng(len(index)).integers(-8, 8, (len(index), width) if width else len(index)).astype("f")
    rows, sums = merge_rows(given_rows, values)
    assert rows.tolist() == (index if len(set(index)) == len(index) else sorted(set(index)))
    for row, total in zip(rows, sums):
        assert np.array_equal(total, values[given_rows == row].sum(axis=0))
    assert not np.shares_memory(sums, values)

"""Rows are added to the rows that an index names, whatever the repeats."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidio.tensor import add_rows as module
from fluidio.tensor.add_rows import add_rows, merge_rows


def check(rows: int, index: list[int], width: int) -> None:
    rng = np.random.default_rng(len(index))
    shape = (len(index), width) if width else (len(index),)
    values = rng.integers(-8, 8, shape).astype("float32")  # whole numbers: sums are exact in any order
    target = rng.integers(-8, 8, (rows, *shape[1:])).astype("float32")
    expected = target.copy()
    np.add.at(expected, np.array(index, np.int64), values)
    for compiled in {module.compiled, None}:
        with mock.patch.object(module, "compiled", compiled):
            found = target.copy()
            add_rows(found, np.array(index, np.int64), values)
            assert np.array_equal(found, expected)


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


@pytest.mark.skipif(module.compiled is None, reason="there was no C compiler when fluidio was installed")
@given(st.lists(st.sampled_from([0, 1, 5, 2047, 2048, 10**6, 2**40, 2**62]), max_size=80), st.sampled_from([1, 3]))
def test_the_c_code_merges_like_numpy(index: list[int], width: int) -> None:
    numbers = np.array(index, np.int64)
    values = np.random.default_rng(len(index)).integers(-8, 8, (len(index), width)).astype("f")
    with_it = merge_rows(numbers, values)
    with mock.patch.object(module, "compiled", None):
        for one, other in zip(with_it, merge_rows(numbers, values)):
            assert np.array_equal(one, other)


def test_rows_before_the_first_count_from_the_end() -> None:
    target, values = np.zeros((4, 2), "f"), np.ones((3, 2), "f")
    add_rows(target, np.array([-1, 0, -1]), values)
    assert target[:, 0].tolist() == [1, 0, 0, 2]
    rows, sums = merge_rows(np.array([-1, 0, -1]), values)
    assert rows.tolist() == [-1, 0]
    assert sums[:, 0].tolist() == [2, 1]


def test_a_row_outside_is_refused() -> None:
    target = np.zeros((4, 2), "f")
    with pytest.raises(IndexError):
        add_rows(target, np.array([0, 4]), np.ones((2, 2), "f"))
    assert not target.any()


@pytest.mark.skipif(module.compiled is None, reason="there was no C compiler when fluidio was installed")
def test_the_c_code_refuses_other_sizes() -> None:
    index, values = np.array([0, 1]), np.ones((2, 3), "f")
    for arguments in [
        (index, values, index[:1].copy(), values.copy()),
        (index, values, index.copy(), values[:1].copy()),
        (index, np.ones(5, "f"), index.copy(), np.ones(5, "f")),
    ]:
        with pytest.raises(ValueError, match="do not fit"):
            module.compiled.merge(*arguments)
    with pytest.raises(ValueError, match="do not fit"):
        module.compiled.add(np.ones(7, "f"), index, values)

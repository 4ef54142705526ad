"""create_lod_tensor and create_random_int_lodtensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidio.era import use_era
from fluidio.errors import EnforceNotMet
from fluidio.places import CPUPlace
from fluidio.tensor import create_lod_tensor, create_random_int_lodtensor
from fluidio.tensor.lod import LoD, to_lengths
from tests.tensor.strategies import lods, rows


@given(lods())
def test_an_array_gets_its_lengths(lod: LoD) -> None:
    tensor = create_lod_tensor(np.ones((rows(lod), 2)), to_lengths(lod), CPUPlace())
    assert tensor.recursive_sequence_lengths() == to_lengths(lod)
    again = create_lod_tensor(tensor, [[rows(lod)]], CPUPlace())
    assert again.lod() == [[0, rows(lod)]]


@given(st.lists(st.lists(st.integers(-9, 9), max_size=4), min_size=1, max_size=4).filter(any))
def test_a_list_of_sequences_is_flattened_to_a_column(data: list[list[int]]) -> None:
    tensor = create_lod_tensor(data, [[len(sequence) for sequence in data]], CPUPlace())
    assert np.array(tensor)[:, 0].tolist() == [number for sequence in data for number in sequence]
    assert tensor.shape()[1:] == [1]


def test_a_list_of_whole_numbers_is_int64() -> None:
    assert np.array(create_lod_tensor([[1, 2], [3]], [[2, 1]], CPUPlace())).dtype == np.int64


@pytest.mark.parametrize("version", ["1.5", "1.8"])
def test_inner_dimensions_of_a_list_are_kept(version: str) -> None:
    with use_era(version):
        tensor = create_lod_tensor([[[1, 2], [3, 4]], [[5, 6]]], [[2, 1]], CPUPlace())
    assert (tensor.shape(), tensor.lod()) == ([3, 2, 1], [[0, 2, 3]])


@pytest.mark.parametrize("lengths", [[[1, 2]], [], [[2, 1], [1, 1, 1]]])
def test_a_list_that_does_not_match_its_lengths_is_an_assertion(lengths: list[list[int]]) -> None:
    with pytest.raises(AssertionError, match="recursive_seq_lens says"):
        create_lod_tensor([[1, 2], [3]], lengths, CPUPlace())


def test_lengths_that_do_not_fit_an_array_are_refused() -> None:
    with pytest.raises(EnforceNotMet, match="ends at 2, but the tensor has 3 rows"):
        create_lod_tensor(np.zeros((3, 2)), [[1, 1]], CPUPlace())


def test_empty_data() -> None:
    tensor = create_lod_tensor([[]], [[0]], CPUPlace())
    assert (tensor.shape(), tensor.lod()) == ([0, 1], [[0, 0]])
    with pytest.raises(EnforceNotMet, match="at least two offsets"):
        create_lod_tensor([], [[]], CPUPlace())


@pytest.mark.parametrize("data", [(1, 2), "ab", None, 3])
def test_other_data_is_a_type_error(data: Any) -> None:
    with pytest.raises(TypeError, match="must be a LoDTensor, a NumPy array or a list"):
        create_lod_tensor(data, [[2]], CPUPlace())


def test_random_integers_include_both_ends() -> None:
    tensor = create_random_int_lodtensor([[200, 300]], [4], CPUPlace(), low=3, high=5)
    assert tensor.shape() == [500, 4]
    assert np.array(tensor).dtype == np.int64
    assert set(np.array(tensor).ravel().tolist()) == {3, 4, 5}


def test_the_base_shape_is_a_list() -> None:
    bad: Any = 4
    with pytest.raises(AssertionError, match="base_shape must be a list"):
        create_random_int_lodtensor([[2]], bad, CPUPlace(), 0, 1)

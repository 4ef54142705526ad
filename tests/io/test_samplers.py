"""Dataset, BatchSampler and default_collate_fn behave as 1.8's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fluidio.io import BatchSampler, Dataset, default_collate_fn


class Seven(Dataset):
    def __getitem__(self, idx: int) -> int:
        return idx

    def __len__(self) -> int:
        return 7


@pytest.mark.parametrize(
    ("arguments", "batches"),
    [
        ({}, [[0], [1], [2], [3], [4], [5], [6]]),
        ({"batch_size": 3}, [[0, 1, 2], [3, 4, 5], [6]]),
        ({"batch_size": 3, "drop_last": True}, [[0, 1, 2], [3, 4, 5]]),
        ({"batch_size": 9}, [[0, 1, 2, 3, 4, 5, 6]]),
        ({"batch_size": 9, "drop_last": True}, []),
    ],
)
def test_batches_of_numbers(arguments: dict[str, Any], batches: list[list[int]]) -> None:
    sampler = BatchSampler(dataset=Seven(), **arguments)
    assert list(sampler) == batches and len(sampler) == len(batches)


def test_shuffling_gives_the_order_of_fluid_1_8() -> None:
    np.random.seed(3)
    sampler = BatchSampler(dataset=Seven(), shuffle=True, batch_size=2)
    assert list(sampler) == [[4, 6], [5, 3], [1, 0], [2]]
    assert list(sampler) == [[2, 1], [6, 5], [3, 0], [4]]


def test_given_indices_are_used_and_not_touched() -> None:
    indices = [5, 6, 7]
    shuffled = BatchSampler(indices=indices, shuffle=True, batch_size=2)
    assert sorted(i for batch in shuffled for i in batch) == [5, 6, 7]
    assert indices == [5, 6, 7]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "pass dataset or indices"),
        ({"dataset": Seven(), "indices": [1]}, "both"),
        ({"dataset": [1, 2]}, "must be a paddle.io.Dataset"),
        ({"indices": "abc"}, "list or tuple"),
        ({"dataset": Seven(), "batch_size": 0}, "whole number above 0, got 0"),
        ({"dataset": Seven(), "batch_size": 2.5}, "whole number above 0"),
        ({"dataset": Seven(), "shuffle": 1}, "True or False"),
        ({"dataset": Seven(), "drop_last": 1}, "True or False"),
    ],
)
def test_wrong_arguments_are_refused_as_in_fluid(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        BatchSampler(**arguments)


def test_a_dataset_must_be_filled_in() -> None:
    with pytest.raises(NotImplementedError, match="__getitem__"):
        Dataset()[0]
    with pytest.raises(NotImplementedError, match="__len__"):
        len(Dataset())


def test_collating_makes_one_array_per_field() -> None:
    row = np.zeros(3, "float32")
    rows, numbers, pairs = default_collate_fn([(row, 1, [1, 2]), (row, 2, [3, 4])])
    assert (rows.dtype, rows.shape) == (np.dtype("float32"), (2, 3))
    assert (numbers.dtype, numbers.tolist()) == (np.dtype("int64"), [1, 2])
    assert pairs.tolist() == [[1, 2], [3, 4]]
    assert default_collate_fn([[1.5], [2]])[0].dtype == np.float64


def test_single_arrays_and_numbers_are_one_field() -> None:
    assert [a.shape for a in default_collate_fn([np.zeros(3), np.zeros(3)])] == [(2, 3)]
    assert [a.tolist() for a in default_collate_fn([4, 5])] == [[4, 5]]


def test_what_cannot_be_stacked_is_named() -> None:
    with pytest.raises(ValueError, match=r"field 0 cannot be stacked.*\(3,\), \(4,\)"):
        default_collate_fn([(np.zeros(3),), (np.zeros(4),)])
    with pytest.raises(ValueError, match="first sample of a batch has 2 fields, sample 1 has 1"):
        default_collate_fn([(1, 2), (1,)])
    with pytest.raises(TypeError, match="dict"):
        default_collate_fn([{"a": 1}])

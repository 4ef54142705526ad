"""LoDTensorArray."""

from __future__ import annotations

import numpy as np
import pytest

from fluidio.errors import EnforceNotMet
from fluidio.places import CPUPlace
from fluidio.tensor import LoDTensor, LoDTensorArray, create_lod_tensor


def _tensor(value: int) -> LoDTensor:
    return create_lod_tensor(np.full((2, 1), value), [[2]], CPUPlace())


def test_tensors_are_appended_read_and_replaced() -> None:
    array = LoDTensorArray()
    array.append(_tensor(1))
    array.append(_tensor(2))
    array[0] = _tensor(3)
    assert [int(np.array(tensor)[0, 0]) for tensor in array] == [3, 2]
    assert (len(array), array[1].lod(), repr(array)) == (2, [[0, 2]], "LoDTensorArray(2 tensors)")


def test_an_entry_does_not_follow_a_later_set() -> None:
    array, tensor = LoDTensorArray(), _tensor(1)
    array.append(tensor)
    tensor.set(np.zeros((2, 1)), CPUPlace())
    tensor.set_lod([[0, 1, 2]])
    assert (np.array(array[0]).tolist(), array[0].lod()) == ([[1], [1]], [[0, 2]])


@pytest.mark.parametrize("index", [1, 9])
def test_outside_is_an_error(index: int) -> None:
    array = LoDTensorArray()
    array.append(_tensor(1))
    with pytest.raises(IndexError, match="outside the LoDTensorArray of 1 tensors"):
        array[index]
    with pytest.raises(EnforceNotMet, match="outside the LoDTensorArray of 1 tensors"):
        array[index] = _tensor(2)


def test_move_to_list_empties_the_array() -> None:
    array = LoDTensorArray()
    array.append(_tensor(1))
    assert len(array._move_to_list()) == 1
    assert len(array) == 0


def test_arrays_count_from_the_front_alone() -> None:
    array = LoDTensorArray()
    array.append(_tensor(1))
    with pytest.raises(TypeError, match="whole numbers of at least 0"):
        array[-1]

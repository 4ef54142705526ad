"""LoDTensors meet NumPy and DLPack."""

from __future__ import annotations

import numpy as np
import pytest

from fluidio.places import CPUPlace
from fluidio.tensor import LoDTensor


def _tensor() -> LoDTensor:
    tensor = LoDTensor()
    tensor.set(np.arange(6, dtype=np.float32).reshape(2, 3), CPUPlace())
    return tensor


def test_np_array_copies_and_asarray_shares() -> None:
    tensor = _tensor()
    copy, view = np.array(tensor), np.asarray(tensor)
    view[0, 0] = 9
    assert (copy[0, 0], np.array(tensor)[0, 0]) == (0, 9)


def test_a_dtype_can_be_asked_for() -> None:
    assert np.array(_tensor(), dtype=np.int64).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.asarray(_tensor(), np.float64).dtype == np.float64


def test_no_copy_is_kept_or_refused() -> None:
    tensor = _tensor()
    assert tensor.__array__(copy=False) is tensor.array
    with pytest.raises(ValueError, match="float32 cannot become float64 without a copy"):
        tensor.__array__(np.float64, copy=False)


def test_numpy_functions_take_tensors() -> None:
    assert np.add(_tensor(), 1).sum() == 21


def test_dlpack_shares_the_memory() -> None:
    tensor = _tensor()
    there = np.from_dlpack(tensor)
    tensor.array[1, 2] = 50
    assert there[1, 2] == 50
    assert tensor.__dlpack_device__() == (1, 0)
    assert type(tensor._to_dlpack()).__name__ == "PyCapsule"


def test_a_host_tensor_has_no_cuda_interface() -> None:
    assert not hasattr(_tensor(), "__cuda_array_interface__")

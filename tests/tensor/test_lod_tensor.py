"""LoDTensor has Fluid's Python API."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fluidio as fluid
from fluidio.dtypes import VarType
from fluidio.era import use_era
from fluidio.errors import EnforceNotMet
from fluidio.places import CPUPlace, Place
from fluidio.tensor import LoDTensor, Tensor
from fluidio.tensor.lod import LoD, to_lengths, to_lists
from tests.tensor.strategies import lods, rows


def _tensor(array: Any, lod: list[list[int]] | None = None) -> LoDTensor:
    tensor = LoDTensor()
    tensor.set(array, CPUPlace())
    if lod is not None:
        tensor.set_lod(lod)
    return tensor


def test_tensor_is_lod_tensor() -> None:
    assert Tensor is LoDTensor


def test_set_copies() -> None:
    array = np.zeros(3, np.float32)
    tensor = _tensor(array)
    array[0] = 9
    assert np.array(tensor).tolist() == [0, 0, 0]


def test_set_with_zero_copy_shares() -> None:
    array = np.zeros(3, np.float32)
    tensor = LoDTensor()
    tensor.set(array, CPUPlace(), zero_copy=True)
    array[0] = 9
    assert np.array(tensor).tolist() == [9, 0, 0]


@pytest.mark.parametrize("version", ["0.12", "0.14", "1.5", "1.8"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "float32", "float64"])
def test_set_keeps_the_dtypes_of_fluid(version: str, dtype: str) -> None:
    with use_era(version):
        tensor = _tensor(np.ones((2, 3), dtype))
    assert np.array(tensor).dtype == dtype
    assert tensor.shape() == [2, 3]


@pytest.mark.parametrize("given_", [[1, 2], (1, 2), np.array([1, 2], "uint32")])
def test_until_15_set_turns_lists_and_odd_dtypes_into_float32(given_: Any) -> None:
    tensor = _tensor(given_)
    assert (tensor._dtype(), np.array(tensor).tolist()) == (VarType.FP32, [1, 2])


@pytest.mark.parametrize("dtype", ["int16", "float16"])
def test_16_bits_are_kept_but_in_a_strict_old_era(dtype: str) -> None:
    given_ = np.array([1, 2], dtype)
    assert np.array(_tensor(given_)).dtype == dtype
    with use_era("1.5", strict=True):
        assert _tensor(given_)._dtype() == VarType.FP32


@pytest.mark.parametrize(
    ("given_", "kind"),
    [
        ([1, 2], VarType.INT64),
        ([1.5, 2], VarType.FP64),
        (np.array([1, 2], "int16"), VarType.INT16),
        (np.array([1, 2], "float16"), VarType.FP16),
        (3, VarType.INT64),
        (np.float32(3), VarType.FP32),
    ],
)
def test_18_keeps_more_and_takes_lists_as_numpy_does(given_: Any, kind: VarType) -> None:
    with use_era("1.8"):
        assert _tensor(given_)._dtype() == kind


@pytest.mark.parametrize("version", ["1.5", "1.8"])
@pytest.mark.parametrize("given_", [np.array(["a"]), None, np.array([1j]), np.array([None]), [[1, 2], [3]], [b"x"]])
def test_what_is_no_tensor_is_refused(version: str, given_: Any) -> None:
    tensor = _tensor(np.arange(2))
    with use_era(version), pytest.raises(EnforceNotMet, match=r"LoDTensor\.set"):
        tensor.set(given_, CPUPlace())
    assert np.array(tensor).tolist() == [0, 1]  # what it held is still there


def test_18_refuses_uint32() -> None:
    with use_era("1.8"), pytest.raises(EnforceNotMet, match=r"LoDTensor.set takes .*uint32"):
        _tensor(np.arange(3, dtype=np.uint32))


def test_uint16_holds_the_bits_of_float16() -> None:
    bits = np.array([1.5, -2.0], np.float16).view(np.uint16)
    tensor = _tensor(bits)
    assert (tensor._dtype(), np.array(tensor).tolist()) == (VarType.FP16, [1.5, -2.0])


def test_18_takes_uint16_for_numbers() -> None:
    with use_era("1.8"):
        tensor = _tensor(np.array([3, 70], np.uint16))
        data = fluid.data("depth", [-1], "float16")
        fed = fluid.Executor().run(feed={"depth": np.array([3, 70], np.uint16)}, fetch_list=[data])
    assert (tensor._dtype(), np.array(tensor).tolist(), fed[0].tolist()) == (VarType.FP16, [3, 70], [3, 70])


def test_big_endian_arrays_become_native() -> None:
    tensor = _tensor(np.array([1, 2], ">f4"))
    assert np.array(tensor).dtype.isnative
    assert (tensor._dtype(), np.array(tensor).tolist()) == (VarType.FP32, [1, 2])


def test_a_transposed_array_is_stored_row_by_row() -> None:
    tensor = _tensor(np.arange(6.0).reshape(2, 3).T)
    assert tensor.array.flags.c_contiguous
    assert np.array(tensor).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_set_takes_another_tensor_and_any_form_of_place() -> None:
    place = Place()
    place.set_place(CPUPlace())
    for where in (place, CPUPlace(), None):
        tensor = LoDTensor()
        tensor.set(_tensor(np.arange(3)), where)
        assert np.array(tensor).tolist() == [0, 1, 2]


def test_set_keeps_the_lod_even_when_it_no_longer_fits() -> None:
    tensor = _tensor(np.zeros((3, 1)), [[0, 1, 3]])
    tensor.set(np.zeros((5, 1)), CPUPlace())
    assert tensor.lod() == [[0, 1, 3]]
    assert not tensor.has_valid_recursive_sequence_lengths()


def test_an_unset_tensor_says_so() -> None:
    tensor = LoDTensor()
    assert (tensor.shape(), tensor._is_initialized(), tensor.lod(), len(tensor)) == ([0], False, [], 0)
    assert (str(tensor), repr(tensor)) == ("LoDTensor(unset)", "LoDTensor(unset)")
    assert np.array(tensor).tolist() == [] and np.asarray(tensor).dtype == np.float64  # as in 1.8.5
    uses: list[Any] = [tensor.__class__.__dlpack__, lambda t: t[0], lambda t: t._get_float_element(0)]
    for use in uses:
        with pytest.raises(EnforceNotMet, match="holds no data yet"):
            use(tensor)


@given(lods())
def test_both_forms_of_the_lod_agree(lod: LoD) -> None:
    tensor = _tensor(np.zeros((rows(lod), 1)))
    tensor.set_lod(to_lists(lod))
    assert tensor.recursive_sequence_lengths() == to_lengths(lod)
    other = LoDTensor(to_lengths(lod))
    assert other.lod() == tensor.lod()
    assert tensor.has_valid_recursive_sequence_lengths()


@given(lods(), st.integers(1, 3))
def test_a_lod_that_does_not_fit_is_refused_and_changes_nothing(lod: LoD, more: int) -> None:
    tensor = _tensor(np.zeros((rows(lod) + more, 1)))
    with pytest.raises(EnforceNotMet, match="the new lod does not fit"):
        tensor.set_lod(to_lists(lod))
    with pytest.raises(EnforceNotMet, match="the new recursive_sequence_lengths does not fit"):
        tensor.set_recursive_sequence_lengths(to_lengths(lod))
    assert tensor.lod() == []


def test_the_constructor_takes_lengths_and_checks_them() -> None:
    assert LoDTensor([[2, 3]]).lod() == [[0, 2, 5]]
    with pytest.raises(EnforceNotMet, match="recursive_sequence_lengths"):
        LoDTensor([[2], [3]])


def test_in_012_the_constructor_takes_offsets_and_nothing_is_checked() -> None:
    with use_era("0.12"):
        assert LoDTensor([[0, 2, 5]]).lod() == [[0, 2, 5]]
        assert _tensor(np.zeros((5, 1)), [[0, 2, 4]]).lod() == [[0, 2, 4]]


def test_an_empty_tensor_skips_the_test_of_the_height() -> None:
    assert _tensor(np.zeros((0, 2), np.float32), [[0, 3]]).lod() == [[0, 3]]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (0, [[0, 1, 2]]),
        (-1, [[9, 10, 11]]),
        (slice(1, 3), [[3, 4, 5], [6, 7, 8]]),
        ((1, 2), [[5]]),
        ((slice(1, 3), 1), [[4], [7]]),
        (slice(None, None, 2), [[0, 1, 2], [6, 7, 8]]),
        (np.int64(1), [[3, 4, 5]]),
    ],
)
def test_indexing_keeps_the_dimensions_and_drops_the_lod(index: Any, expected: list[list[int]]) -> None:
    part = _tensor(np.arange(12).reshape(4, 3), [[0, 4]])[index]
    assert (np.array(part).tolist(), part.lod()) == (expected, [])


@pytest.mark.parametrize("index", [4, -5, ..., [0, 2], (0, 0, 0), None, "a", 1.5])
def test_a_wrong_index_is_an_index_error(index: Any) -> None:
    with pytest.raises(IndexError, match=r"ind(ex|ices)"):
        _tensor(np.arange(12).reshape(4, 3))[index]


def test_elements_are_read_and_written_by_flat_number() -> None:
    tensor = LoDTensor()
    tensor._set_dims([2, 3])
    tensor._alloc_float(CPUPlace())
    tensor._set_float_element(5, 2.5)
    assert (tensor._get_float_element(5), tensor._get_dims(), tensor._dtype()) == (2.5, [2, 3], VarType.FP32)
    with pytest.raises(EnforceNotMet, match="element 6 .* has 6 elements"):
        tensor._get_float_element(6)
    with pytest.raises(EnforceNotMet, match="element -1"):
        tensor._set_float_element(-1, 0.0)


def test_dims_can_be_changed_without_losing_data() -> None:
    tensor = _tensor(np.arange(6))
    tensor._set_dims([2, 3])
    assert np.array(tensor).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_alloc_chooses_the_dtype() -> None:
    tensor = LoDTensor()
    tensor._set_dims([2])
    for allocate, kind in ((tensor._alloc_int, VarType.INT32), (tensor._alloc_double, VarType.FP64)):
        allocate(CPUPlace())
        assert (tensor._dtype(), tensor.shape()) == (kind, [2])


def test_share_copy_and_clear() -> None:
    tensor = _tensor(np.arange(3), [[0, 3]])
    shared, copied = LoDTensor(), tensor._copy()
    shared._share_data_with(tensor)
    tensor.array[0] = 7
    assert np.array(shared).tolist() == [7, 1, 2]
    assert (np.array(copied).tolist(), copied.lod()) == ([0, 1, 2], [[0, 3]])
    tensor._clear()
    assert (tensor._is_initialized(), tensor.lod()) == (False, [])


def test_str_is_what_fluid_prints() -> None:
    tensor = _tensor(np.array([[1.5, 2], [1e-9, 4]], np.float32), [[0, 1, 2], [0, 1, 2]])
    assert str(tensor) == (
        "\tlod: {{0, 1, 2}{0, 1, 2}}\n\tdim: 2, 2\n\tlayout: NCHW\n\tdtype: float\n\tdata: [1.5 2 1e-09 4]\n"
    )
    assert str(_tensor(np.arange(3))) == "\tlod: {}\n\tdim: 3\n\tlayout: NCHW\n\tdtype: int64_t\n\tdata: [0 1 2]\n"
    assert "data: [1 0]" in str(_tensor(np.array([True, False])))


def test_repr_shows_shape_dtype_and_lod() -> None:
    assert repr(_tensor(np.arange(2), [[0, 2]])) == "LoDTensor(shape=[2], dtype=int64, lod=[[0, 2]])\n[0 1]"


@given(lods())
def test_a_pickled_tensor_comes_back(lod: LoD) -> None:
    tensor = _tensor(np.arange(rows(lod)), to_lists(lod))
    back = pickle.loads(pickle.dumps(tensor))
    assert (np.array(back).tolist(), back.lod()) == (np.array(tensor).tolist(), tensor.lod())


def test_dims_can_be_set_before_there_is_memory_and_stay_behind() -> None:
    tensor = LoDTensor()
    tensor._set_dims([2, 3])
    assert (tensor.shape(), tensor._is_initialized()) == ([2, 3], False)
    assert np.array(tensor).shape == (0,)
    tensor._alloc_int(fluid.CPUPlace())
    assert np.array(tensor).shape == (2, 3)
    assert np.array(tensor).dtype == np.int32
    tensor._clear()
    assert (tensor.shape(), tensor._is_initialized()) == ([2, 3], False)
    tensor._set_dims([-1, 3])
    assert tensor.shape() == [-1, 3]


def test_elements_are_read_as_what_they_are() -> None:
    tensor = LoDTensor()
    tensor.set(np.arange(3, dtype="float32"), fluid.CPUPlace())
    assert tensor._get_float_element(2) == 2.0
    with pytest.raises(EnforceNotMet, match="holds float32, not float64"):
        tensor._get_double_element(2)
    with pytest.raises(EnforceNotMet, match="no data"):
        LoDTensor()._share_data_with(LoDTensor())

"""VarType numbers and NumPy dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fluidio.dtypes import VarType, convert_np_dtype_to_dtype_, to_numpy, to_vartype

PAIRS = [
    ("bool", 0),
    ("int16", 1),
    ("int32", 2),
    ("int64", 3),
    ("float16", 4),
    ("float32", 5),
    ("float64", 6),
    ("uint8", 20),
    ("int8", 21),
]


@pytest.mark.parametrize(("name", "number"), PAIRS)
def test_names_numbers_and_dtypes_are_one(name: str, number: int) -> None:
    kind = VarType(number)
    assert to_vartype(name) == to_vartype(np.dtype(name)) == to_vartype(number) == to_vartype(kind) == kind
    assert to_numpy(kind) == to_numpy(number) == to_numpy(name) == np.dtype(name)
    assert convert_np_dtype_to_dtype_(np.dtype(name).newbyteorder(">")) == kind


def test_the_text_is_fluids() -> None:
    assert (str(VarType.FP32), repr(VarType.INT64), f"{VarType.BOOL}") == (
        "VarType.FP32",
        "VarType.INT64",
        "VarType.BOOL",
    )


@pytest.mark.parametrize("bad", ["complex64", "str", object])
def test_what_fluid_cannot_hold_is_a_value_error(bad: Any) -> None:
    with pytest.raises(ValueError, match="no dtype for"):
        to_vartype(bad)


def test_a_name_of_no_dtype_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unknown dtype 'nonsense'"):
        to_vartype("nonsense")


def test_a_kind_of_variable_is_no_dtype() -> None:
    with pytest.raises(ValueError, match=r"VarType\.READER is a type of variable"):
        to_numpy(VarType.READER)


def test_an_unknown_number_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="99"):
        to_numpy(99)

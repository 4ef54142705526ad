"""The checks that 1.8's layers are made of, and users' layers call too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.core import VarDesc
from fluidio.program.data_feeder import check_dtype, check_type, check_variable_and_dtype, convert_dtype


@pytest.mark.parametrize(
    ("given", "name"),
    [("float32", "float32"), (np.int64, "int64"), (VarDesc.VarType.FP16, "float16"), (np.dtype("uint8"), "uint8")],
)
def test_a_dtype_has_one_name(given: Any, name: str) -> None:
    assert convert_dtype(given) == name


def test_what_is_no_dtype_of_a_tensor_is_refused() -> None:
    with pytest.raises(ValueError, match=r"dtype must be one of bool, .*got 'zz'"):
        convert_dtype("zz")
    with pytest.raises(ValueError, match="dtype must be one of"):
        convert_dtype(VarDesc.VarType.READER)


def test_the_checks_name_argument_layer_given_and_allowed() -> None:
    with pytest.raises(TypeError, match=r"my_layer: x must be str or None, got int"):
        check_type(3, "x", (str, type(None)), "my_layer")
    with pytest.raises(TypeError, match=r"my_layer: x must have dtype float32, got int8: As it is"):
        check_dtype("int8", "x", ["float32"], "my_layer", "As it is.")
    x = fluid.layers.data("x", [2])
    check_variable_and_dtype(x, "x", ["float32"], "my_layer")
    with pytest.raises(TypeError, match="got float32"):
        check_variable_and_dtype(x, "x", ["int64"], "my_layer")


def test_a_tensor_tells_its_place() -> None:
    tensor = fluid.LoDTensor()
    tensor.set(np.ones(2, np.float32), fluid.CPUPlace())
    place = tensor._place()
    assert (place.is_cpu_place(), place.is_gpu_place(), place.is_cuda_pinned_place()) == (True, False, False)


def test_names_are_strings() -> None:
    with pytest.raises(TypeError, match="must be a str, got 3"):
        fluid.Scope().var(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a str or None, got int 3"):
        fluid.ParamAttr(name=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a number, got 'x'"):
        fluid.ParamAttr(learning_rate="x")  # type: ignore[arg-type]

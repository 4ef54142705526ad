"""Single ops on small inputs, with what 1.8.5 computes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from tests.ops.gradcheck import run_op

INF = float("inf")


def _of(values: Any, dtype: str = "float32") -> Any:
    return np.array(values, dtype)


# op, inputs, attributes, output, what 1.8.5 gives
OBSERVED: dict[str, tuple[str, dict[str, Any], dict[str, Any], str, Any]] = {
    "a power of whole numbers goes by way of 64-bit floats": (
        "elementwise_pow",
        {"X": _of([2, 3, -2, 2, 3], "int64"), "Y": _of([3, 39, 63, 64, -1], "int64")},
        {},
        "Out",
        _of([8, 4052555153018976256, -(2**63), -(2**63), 0], "int64"),
    ),
    "a power that does not fit in 32 bits": (
        "elementwise_pow",
        {"X": _of([10, 10, -10], "int32"), "Y": _of([9, 10, 11], "int32")},
        {},
        "Out",
        _of([10**9, -(2**31), -(2**31)], "int32"),
    ),
    "the maximum of no float": (
        "reduce_max",
        {"X": np.zeros((0, 2), "float32")},
        {"dim": [0]},
        "Out",
        _of([-INF, -INF]),
    ),
    "the minimum of no float": ("reduce_min", {"X": np.zeros((2, 0), "float32")}, {"dim": [1]}, "Out", _of([INF, INF])),
    "the maximum of no number": (
        "reduce_max",
        {"X": np.zeros((0, 2), "int32")},
        {"reduce_all": True},
        "Out",
        _of([-(2**31)], "int32"),
    ),
    "the minimum of no number": (
        "reduce_min",
        {"X": np.zeros((0,), "int64")},
        {"dim": [0]},
        "Out",
        _of([2**63 - 1], "int64"),
    ),
    "a sum leaves out what has no elements": (
        "sum",
        {"X": [np.zeros((0, 2), "float32"), _of([[1, 2], [3, 4]])]},
        {},
        "Out",
        _of([[1, 2], [3, 4]]),
    ),
    "equal_reduce broadcasts Y": (
        "equal_reduce",
        {"X": np.ones((3, 2), "int32"), "Y": np.ones(2, "int32")},
        {},
        "Out",
        _of([True], "bool"),
    ),
    "half pixels are found in 64 bits": (
        "bilinear_interp",
        {"X": np.arange(5.0).reshape(1, 1, 1, 5)},
        {"interp_method": "bilinear", "align_corners": False, "align_mode": 0, "out_h": 1, "out_w": 7},
        "Out",
        np.array([[[[0.0, 0.5714285969734192, 1.2857143878936768, 2.0, 2.7142858505249023, 3.4285714626312256, 4.0]]]]),
    ),
    "frobenius_norm in another dtype": (
        "frobenius_norm",
        {"X": _of([[3, 4]])},
        {"dim": [1], "in_dtype": VarType.FP32, "out_dtype": VarType.FP64},
        "Out",
        np.array([5.0]),
    ),
}


@pytest.mark.parametrize("name", OBSERVED)
def test_an_op_gives_what_185_gives(name: str) -> None:
    kind, inputs, attrs, slot, wanted = OBSERVED[name]
    (found,) = run_op(kind, inputs, [slot], attrs)
    found = np.array(found)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-12 if wanted.dtype == np.float64 else 0)


def test_equal_reduce_refuses_what_does_not_broadcast() -> None:
    with pytest.raises(EnforceNotMet, match="cannot be broadcast together"):
        run_op("equal_reduce", {"X": np.ones((3, 2), "int32"), "Y": np.ones(3, "int32")}, ["Out"], {})


def test_the_last_group_of_group_norm_may_be_smaller() -> None:
    inputs = {
        "X": (np.arange(10.0) ** 2).reshape(1, 5, 2, 1),
        "Scale": np.arange(1.0, 6.0),
        "Bias": np.array([1.0, 0, 0, 0, -1]),
    }
    y, mean, variance = (np.array(v) for v in run_op("group_norm", inputs, ["Y", "Mean", "Variance"], {"groups": 2}))
    by_channel = [
        [-0.03042512, 0.08198489],
        [-1.16157014, -0.03747],
        [2.30440527, 5.33947562],
        [-5.11895684, -2.02377364],
        [0.93448951, 5.9939236],
    ]
    np.testing.assert_allclose(y.reshape(5, 2), by_channel, rtol=1e-6)
    np.testing.assert_allclose(mean, [[9.16666667, 57.5]])
    np.testing.assert_allclose(variance, [[79.13888889, 282.25]])


def test_groups_that_leave_one_empty_are_refused() -> None:
    with pytest.raises(EnforceNotMet, match="5 channels cannot be divided into 4 groups"):
        run_op("group_norm", {"X": np.ones((1, 5, 2, 2))}, ["Y"], {"groups": 4})


def test_the_gradient_of_uneven_groups() -> None:
    x = fluid.data("x", [1, 5, 2, 1], "float64")
    x.stop_gradient = False
    weights = [fluid.layers.assign(np.array(v)) for v in (np.arange(1.0, 6.0), np.zeros(5))]
    block = fluid.default_main_program().global_block()
    y, mean, variance = (block.create_var(name=name, dtype="float64") for name in ("y", "mean", "variance"))
    block.append_op(
        type="group_norm",
        inputs={
            "X": x,
            "Scale": fluid.layers.cast(weights[0], "float64"),
            "Bias": fluid.layers.cast(weights[1], "float64"),
        },
        outputs={"Y": y, "Mean": mean, "Variance": variance},
        attrs={"groups": 2},
    )
    gradient = fluid.gradients(fluid.layers.mean(y), x)
    values = (np.arange(10.0) ** 2).reshape(1, 5, 2, 1)
    (found,) = fluid.Executor(fluid.CPUPlace()).run(feed={"x": values}, fetch_list=gradient)
    by_channel = [
        [-0.00256069, -0.00350764],
        [0.00489254, 0.00015782],
        [0.00477023, -0.00375226],
        [0.00042441, -0.00163174],
        [0.00194807, -0.00074074],
    ]
    np.testing.assert_allclose(found.reshape(5, 2), by_channel, atol=1e-8)


@pytest.mark.parametrize("dtype", ["int32", "bool", "float64", "float16"])
def test_full_like_takes_the_dtype_of_its_input(dtype: str) -> None:
    x = fluid.data("x", [3], dtype)
    assert fluid.layers.full_like(x, 2).dtype == x.dtype
    assert fluid.layers.full_like(x, 2, dtype="int64").dtype == VarType.INT64


def test_a_mask_without_dtype_is_of_bools() -> None:
    lengths = fluid.data("x", [2], "int64")
    no_dtype: Any = None
    mask = fluid.layers.sequence_mask(lengths, maxlen=2, dtype=no_dtype)
    (found,) = fluid.Executor(fluid.CPUPlace()).run(feed={"x": np.array([0, 2])}, fetch_list=[mask])
    assert found.tolist() == [[False, False], [True, True]]


def test_logic_goes_element_by_element_whatever_the_dims() -> None:
    inputs = {"X": np.array([True, False, True]), "Y": np.array([[True], [True], [False]])}
    (found,) = run_op("logical_xor", inputs, ["Out"], {})
    assert np.array(found).tolist() == [False, True, True]

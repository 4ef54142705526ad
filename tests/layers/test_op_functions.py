"""Layers that are made from the descriptions of ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.layers.op_functions import generate_activation_fn, generate_layer_fn


def run(out: Any, **feed: Any) -> Any:
    return fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[out])[0]


def test_a_layer_takes_inputs_attributes_and_an_activation() -> None:
    scale = generate_layer_fn("scale")
    x = fluid.data("x", [2])
    out = scale(x=x, scale=-2.0, act="relu")
    assert scale.__name__ == "scale"
    np.testing.assert_array_equal(run(out, x=np.array([1, -1], "float32")), [0, 2])
    kept = fluid.layers.create_tensor("float32")
    assert scale(x, out=kept) is kept


def test_an_activation_is_a_function_of_one_variable() -> None:
    relu = generate_activation_fn("relu")
    assert relu.__name__ == "relu"
    assert relu(fluid.data("x", [2])).name == "relu_0.tmp_0"
    with pytest.raises(TypeError, match="relu: x"):
        relu(3)


def test_what_no_layer_can_be_made_of_is_said() -> None:
    for make in (generate_layer_fn, generate_activation_fn):
        with pytest.raises(ValueError, match="no op 'no_such_op'"):
            make("no_such_op")
    with pytest.raises(ValueError, match="has one output"):
        generate_layer_fn("top_k")
    with pytest.raises(ValueError, match="must be a Variable"):
        generate_layer_fn("scale")(x=3)

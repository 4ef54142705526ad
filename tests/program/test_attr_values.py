"""Attributes get the type that their op declares when it is built, or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.errors import EnforceNotMet


def _build(op_type: str, attr: str, value: Any) -> Any:
    block = fluid.Program().global_block()
    x = block.create_var(name="x", shape=[3, 4, 2], dtype="float32")
    out = block.create_var(name="out", shape=[1], dtype="float32")
    return block.append_op(type=op_type, inputs={"X": x}, outputs={"Out": out}, attrs={attr: value}).attr(attr)


# Seen on 1.8.5.
HELD: list[tuple[str, str, Any, Any]] = [
    ("softmax", "axis", True, 1),
    ("softmax", "axis", np.int64(1), 1),
    ("softmax", "axis", np.array(1), 1),
    ("softmax", "axis", None, -1),
    ("scale", "scale", 2, 2.0),
    ("scale", "scale", np.float64(0.5), 0.5),
    ("scale", "bias_after_scale", 0, False),
    ("scale", "bias_after_scale", 1.5, True),
    ("reduce_sum", "dim", (1, 2), [1, 2]),
    ("reduce_sum", "dim", np.array([1, 2]), [1, 2]),
    ("reduce_sum", "dim", range(3), [0, 1, 2]),
]


@pytest.mark.parametrize(("op_type", "attr", "given", "held"), HELD)
def test_a_value_is_held_in_the_declared_type(op_type: str, attr: str, given: Any, held: Any) -> None:
    found = _build(op_type, attr, given)
    assert found == held
    assert type(found) is type(held)


REFUSED: list[tuple[str, str, Any, type[Exception]]] = [
    ("softmax", "axis", 1.5, EnforceNotMet),
    ("softmax", "axis", "abc", EnforceNotMet),
    ("softmax", "axis", [1], EnforceNotMet),
    ("softmax", "axis", 2**40, EnforceNotMet),
    ("scale", "scale", "abc", EnforceNotMet),
    ("scale", "scale", [1.5], EnforceNotMet),
    ("scale", "scale", {}, TypeError),
    ("scale", "scale", [[1.0]], TypeError),
    ("scale", "scale", len, TypeError),
    ("reduce_sum", "dim", 1, EnforceNotMet),
    ("reduce_sum", "dim", [1.5], EnforceNotMet),
    ("reduce_sum", "dim", ["a"], EnforceNotMet),
]


@pytest.mark.parametrize(("op_type", "attr", "given", "error"), REFUSED)
def test_a_value_of_another_type_is_refused(op_type: str, attr: str, given: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        _build(op_type, attr, given)


def test_a_variable_is_no_attribute() -> None:
    with pytest.raises(ValueError, match="cannot be a Variable"):
        _build("scale", "scale", fluid.data("factor", [1]))


def test_device_guard_marks_ops() -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x = fluid.data("x", [2, 3])
        x.stop_gradient = False
        with fluid.device_guard("cpu"):
            y = fluid.layers.relu(x)
            with fluid.device_guard("gpu"):
                fluid.layers.shape(y)
        loss = fluid.layers.mean(y)
        fluid.backward.append_backward(loss)
        ops = {op.type: op.attr("op_device") for op in fluid.default_main_program().global_block().ops}
    assert ops["relu"] == ops["relu_grad"] == "cpu"
    assert ops["shape"] == "gpu"
    assert ops["mean"] == ""
    with pytest.raises(ValueError, match="cpu"), fluid.device_guard("tpu"):
        pass


def test_set_attr_keeps_what_cpp_keeps() -> None:
    op = fluid.layers.reshape(fluid.layers.data("x", [2]), [1, 2]).op
    assert op is not None
    for given, kept in [
        (True, 1),
        ([True, False], [1, 0]),
        ([1, 2.5], [1.0, 2.5]),
        ((1, 2), [1, 2]),
        (range(3), [0, 1, 2]),
        (np.array([1, 2]), [1, 2]),
        (b"ab", "ab"),
        (None, False),
        (2**70, float(2**70)),
        ([1, 2**40], [1, 2**40]),
    ]:
        op._set_attr("new", given)
        assert op.attr("new") == kept
        assert isinstance(op.attr("new"), type(kept))
    with pytest.raises(TypeError, match="some are texts"):
        op._set_attr("new", ["a", 1])

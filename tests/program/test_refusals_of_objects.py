"""What programs, blocks, ops and scopes refuse, with the exception classes of 1.8.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import core
from fluidio.errors import EnforceNotMet


@pytest.fixture(autouse=True)
def _era() -> Any:
    with fluid.use_era("1.8"):
        yield


@pytest.fixture
def op() -> Any:
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        yield fluid.layers.fc(fluid.layers.data("x", [3]), 2).block.ops[0]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda op: op.attr(3), TypeError),
        (lambda op: op._set_attr("foo", {}), TypeError),
        (lambda op: op.block._remove_op(5), IndexError),
        (lambda op: op.block._remove_op(-1), TypeError),
        (lambda op: op.block._clone_variable(3), AssertionError),
        (lambda op: op.block.create_var(name=3), AttributeError),
        (lambda op: op.block.append_op(type="relu", inputs=[op.block.var("x")]), TypeError),
        (lambda op: setattr(op.block.var("x"), "persistable", "yes"), TypeError),
        (lambda op: op.block.var("x")[0, 1, 2], EnforceNotMet),
        (lambda op: op.block.var("x").desc.set_shape("ab"), TypeError),
        (lambda op: fluid.Program.parse_from_string(3), TypeError),  # type: ignore[arg-type]
        (lambda op: fluid.unique_name.generate(3), TypeError),  # type: ignore[arg-type]
        (lambda op: fluid.global_scope().find_var(3), TypeError),  # type: ignore[arg-type]
        (lambda op: core.Place().set_place("cpu"), TypeError),  # type: ignore[arg-type]
    ],
)
def test_an_object_refuses_with_the_class_of_1_8_5(op: Any, call: Callable[[Any], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call(op)


def test_what_1_8_5_lets_pass(op: Any) -> None:
    op._set_attr("foo", np.float32(2.5))
    assert op.attr("foo") == 2
    assert op.input("X") == ["x"]
    assert op.block.program.desc.block(0)._remove_var(b"nope") is None
    assert op.to_string("any").startswith("inputs {")


def test_details_of_a_block_stand_in_braces(op: Any) -> None:
    assert op.block.to_string(False, True) == op.block.program.to_string(False, True)
    assert op.block.to_string(False, True).startswith("blocks {\n  idx: 0\n")
    assert op.block.to_string(False, True).endswith("  }\n}")
    assert op.block.to_string(False, False).startswith("idx: 0\n")

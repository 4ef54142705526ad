"""What core tells of op types and of gradient ops, as 1.8.5 does."""

from __future__ import annotations

from typing import Any

import pytest

import fluidio as fluid
from fluidio import core
from fluidio.errors import EnforceNotMet


def _desc(type: str, inputs: dict[str, list[str]], outputs: dict[str, list[str]]) -> Any:
    desc = fluid.Program().global_block().desc.append_op()
    desc.set_type(type)
    for slot, names in inputs.items():
        desc.set_input(slot, names)
    for slot, names in outputs.items():
        desc.set_output(slot, names)
    return desc


def test_a_gradient_op_lists_slots_that_are_empty() -> None:
    inputs = {"Input": ["x"], "Filter": ["w"], "Bias": []}
    (grad,), names = core.get_grad_op_desc(_desc("conv2d", inputs, {"Output": ["y"]}), set(), [])
    assert grad.inputs() == {"Input": ["x"], "Filter": ["w"], "Bias": [], "Output@GRAD": ["y@GRAD"]}
    assert grad.outputs() == {"Input@GRAD": ["x@GRAD"], "Filter@GRAD": ["w@GRAD"], "Bias@GRAD": []}
    assert names == {"x@GRAD": "x", "w@GRAD": "w", "y@GRAD": "y"}


def test_an_unwanted_gradient_leaves_its_slot_empty() -> None:
    (grad,), _ = core.get_grad_op_desc(_desc("relu", {"X": ["x"]}, {"Out": ["y"]}), {"x@GRAD"}, [])
    assert grad.outputs() == {"X@GRAD": []}


def test_an_unwanted_gradient_among_several_keeps_its_place() -> None:
    op = _desc("concat", {"X": ["x", "y"], "AxisTensor": []}, {"Out": ["z"]})
    (grad,), names = core.get_grad_op_desc(op, {"x@GRAD"}, [])
    assert grad.outputs() == {"X@GRAD": ["@EMPTY@", "y@GRAD"]}
    assert names == {"z@GRAD": "z", "y@GRAD": "y"}


def test_the_name_of_a_variable_is_not_that_of_its_gradient() -> None:
    (grad,), _ = core.get_grad_op_desc(_desc("relu", {"X": ["x"]}, {"Out": ["y"]}), {"x"}, [])
    assert grad.outputs() == {"X@GRAD": ["x@GRAD"]}


def test_an_op_without_a_gradient_maker_refuses() -> None:
    op = _desc("gather_tree", {"Ids": ["i"], "Parents": ["p"]}, {"Out": ["o"]})
    with pytest.raises(EnforceNotMet, match="gather_tree"):
        core.get_grad_op_desc(op, set(), [])


@pytest.mark.parametrize(
    ("ask", "yes", "no"),
    [
        (core.has_grad_op_maker, ["relu", "accuracy", "adam", "relu_grad"], ["gather_tree", "load", "tanh_grad"]),
        (core.has_infer_inplace, ["relu", "reshape2", "sum"], ["conv2d", "elementwise_mul"]),
        (core.op_support_gpu, ["while", "feed", "print"], []),
    ],
)
def test_what_core_says_of_op_types(ask: Any, yes: list[str], no: list[str]) -> None:
    assert [ask(op) for op in yes] == [True] * len(yes)
    assert [ask(op) for op in no] == [False] * len(no)


def test_the_proto_of_an_op_lists_the_attributes_of_every_op() -> None:
    attrs = fluid.framework.OpProtoHolder.instance().get_op_proto("relu").attrs
    assert {attr.name for attr in attrs} >= {"op_role", "op_role_var", "op_namescope", "op_callstack", "op_device"}
    assert not any(attr.generated for attr in attrs)


def test_core_lists_the_kernels_that_were_registered_for_an_op() -> None:
    kernels = core._get_all_register_op_kernels()
    plain = "data_type[{}]:data_layout[ANY_LAYOUT]:place[CPUPlace]:library_type[PLAIN]"
    assert sorted(kernels["sgd"]) == [plain.format("double"), plain.format("float")]
    assert "data_type[float]:data_layout[MKLDNNLAYOUT]:place[CPUPlace]:library_type[MKLDNN]" in kernels["softmax_grad"]
    assert plain.format("::paddle::platform::float16") in kernels["cast"]
    assert len(kernels) == 622
    assert not {"scale_grad", "while"} & set(kernels)


def test_an_output_of_a_gradient_op_is_not_a_gradient_of_its_own_gradient_op() -> None:
    op = _desc("elementwise_div", {"X": ["x"], "Y": ["y"]}, {"Out": ["z"]})
    (first,), _ = core.get_grad_op_desc(op, set(), [])
    (second,), names = core.get_grad_op_desc(first, set(), [])
    assert second.input("DX") == ["x@GRAD"]
    assert "x@GRAD" not in names
    assert names["y@GRAD"] == "y"

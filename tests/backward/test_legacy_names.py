"""Helpers of `fluid.backward` that legacy code calls by name; the values are those of 1.8.5."""

from __future__ import annotations

import pytest

import fluidio as fluid
from fluidio import backward as B

L = fluid.layers


def _network() -> tuple[fluid.Variable, fluid.Variable]:
    hidden = L.fc(L.data("x", [4]), 3, act="relu")
    return hidden, L.mean(L.fc(hidden, 1))


def test_sets_of_names() -> None:
    assert B._some_in_set_([1, 2], {2})
    assert not B._some_in_set_([], {2})
    assert B._all_in_set_([1, 2], {1, 2, 3})
    assert not B._all_in_set_([], {2})
    assert B._get_no_grad_set_name(["a"]) == {"a"}
    assert B._get_no_grad_set_name(None) == set()
    with pytest.raises(TypeError, match="set, list or tuple"):
        B._get_no_grad_set_name("a")
    with pytest.raises(TypeError, match="Variables and names"):
        B._get_no_grad_set_name({3})


def test_the_path_to_a_target_can_begin_at_a_variable() -> None:
    hidden, loss = _network()
    L.scale(loss)
    block = fluid.default_main_program().global_block()
    whole = B._find_op_path_(block, [loss], [], set())
    assert [op.type for op in whole] == ["mul", "elementwise_add", "relu", "mul", "elementwise_add", "mean"]
    constants: set[str] = set()
    part = B._find_op_path_(block, [loss], [hidden], constants)
    assert [op.type for op in part] == ["mul", "elementwise_add", "mean"]
    assert constants == {"fc_1.w_0", "fc_1.b_0"}
    assert B._get_stop_gradients_(fluid.default_main_program()) == {0: {"x@GRAD"}}
    assert B._get_output_names(block, [loss]) == {loss.name}


def test_descs_of_ops() -> None:
    _, loss = _network()
    desc = B._create_op_desc_("relu", {"X": ["a"]}, {"Out": ["b"]}, {"op_role": 1})
    assert (desc.type(), desc.input("X"), desc.output("Out"), desc.attr("op_role")) == ("relu", ["a"], ["b"], 1)
    B._rename_arg_([desc], "a", "z")
    assert desc.input("X") == ["z"]
    assert B._create_loss_op_desc_(loss).output_arg_names() == [loss.name + "@GRAD"]
    B._find_loss_op_(loss)
    assert loss.op is not None
    text = "g_op\tname:[mean]\ng_input    \tinputs:[fc_1.tmp_1]\ng_output    \toutputs:[mean_0.tmp_0]"
    assert B._pretty_op_desc_(loss.op.desc, "g") == text
    assert 'type: "relu"' in B.serialize_op_decs(desc)


def test_blocks_and_roles() -> None:
    _, loss = _network()
    program = fluid.default_main_program()
    inner = program._create_block()
    program._rollback()
    assert B._is_ancestor_block(program.global_block(), inner)
    assert not B._is_ancestor_block(inner, program.global_block())
    assert B._get_son_parent_block_idx_dict(program, inner.idx) == {1: 0, 0: -1}
    B.append_backward(loss)
    roles = [B._is_grad_op_(op) for op in program.global_block().ops if op.type in ("mean", "mean_grad")]
    assert roles == [False, True]
    assert B._get_sub_block_path(inner, loss.op.desc if loss.op else None, set(), {}) == []  # type: ignore[arg-type]

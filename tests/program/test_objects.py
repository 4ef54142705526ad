"""Programs, ops and variables as code that inspects them by hand meets them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.core import AttrType
from fluidio.era import use_era
from fluidio.errors import EnforceNotMet


def trained() -> tuple[Any, Any]:
    x = fluid.data("x", [None, 4])
    fluid.data("unused", [2])
    hidden = fluid.layers.fc(x, 3)
    loss = fluid.layers.mean(hidden)
    rate = fluid.layers.exponential_decay(0.1, 2, 0.5)
    fluid.optimizer.SGD(rate).minimize(loss)
    return hidden, loss


def op_of(variable: Any) -> Any:
    return variable.op


def types(program: Any) -> list[str]:
    return [op.type for op in program.global_block().ops]


def test_floats_of_an_op_have_32_bits_and_dtypes_are_numbers() -> None:
    x = fluid.data("x", [2, 3])
    out = fluid.layers.scale(x, scale=0.1)
    assert (
        op_of(out).attr("scale")
        == float(np.float32(0.1))
        == op_of(out).all_attrs()["scale"]
        == op_of(out).desc.attr("scale")
    )
    filled = fluid.layers.fill_constant([1], "float32", 0.3)
    assert type(op_of(filled).attr("dtype")) is int
    assert op_of(filled).attr("dtype") == 5


def test_types_of_attributes_print_as_those_of_fluid() -> None:
    assert str(AttrType.BOOL) == repr(AttrType.BOOL) == "AttrType.BOOL"
    assert AttrType["BOOLEAN"] == AttrType.BOOL
    out = fluid.layers.dropout(fluid.data("x", [2]), 0.5)
    assert 'name: "is_test"\n  type: BOOLEAN' in str(op_of(out))


def test_a_clone_for_test_has_neither_the_schedule_nor_variables_that_nobody_uses() -> None:
    with use_era("1.8"):
        trained()
        test = fluid.default_main_program().clone(for_test=True)
    assert types(test) == ["mul", "elementwise_add", "mean"]
    assert sorted(test.global_block().vars) == ["fc_0.b_0", "fc_0.tmp_0", "fc_0.tmp_1", "fc_0.w_0", "mean_0.tmp_0", "x"]


def test_testing_between_steps_leaves_the_learning_rate_alone() -> None:
    _, loss = trained()
    main = fluid.default_main_program()
    test = main.clone(for_test=True)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"x": np.ones([2, 4], "float32"), "unused": np.ones([2], "float32")}
    for _ in range(3):
        exe.run(main, feed=feed, fetch_list=[loss])
        exe.run(test, feed={"x": feed["x"]}, fetch_list=[loss])
    assert int(np.array(fluid.fetch_var("@LR_DECAY_COUNTER@")).item()) == 2


def test_a_clone_without_a_trained_loss_keeps_all_it_has() -> None:
    x = fluid.data("x", [None, 4])
    x.stop_gradient = False
    fluid.data("unused", [2])
    fluid.gradients(fluid.layers.mean(fluid.layers.fc(x, 3)), [x])
    test = fluid.default_main_program().clone(for_test=True)
    assert types(test)[-1] == "mul_grad"
    assert "unused" in test.global_block().vars


def test_blocks_of_gradients_are_gone_from_a_clone_for_test() -> None:
    i = fluid.layers.fill_constant([1], "int64", 0)
    n = fluid.layers.fill_constant([1], "int64", 3)
    x = fluid.data("x", [2, 3])
    state = fluid.layers.fc(x, 3)
    more = fluid.layers.less_than(i, n)
    loop = fluid.layers.While(more)
    with loop.block():
        fluid.layers.assign(fluid.layers.fc(state, 3), state)
        fluid.layers.increment(i)
        fluid.layers.less_than(i, n, cond=more)
    loss = fluid.layers.mean(state)
    fluid.optimizer.SGD(0.1).minimize(loss)
    main = fluid.default_main_program()
    test = main.clone(for_test=True)
    assert (main.num_blocks, test.num_blocks) == (3, 2)
    assert sorted(test.block(1).vars) == ["fc_1.tmp_0", "fc_1.tmp_1"]
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"x": np.ones([2, 3], "float32")}
    (first,) = exe.run(test, feed=feed, fetch_list=[loss])
    (again,) = exe.run(main, feed=feed, fetch_list=[loss])
    np.testing.assert_allclose(first, again, rtol=1e-6)


def test_is_test_is_set_on_ops_that_left_it_at_its_default() -> None:
    out = fluid.layers.conv2d(fluid.data("x", [None, 3, 8, 8]), 4, 3, bias_attr=False)
    (op,) = fluid.default_main_program().clone(for_test=True).global_block().ops
    assert op.attr("is_test") is True
    assert op_of(out).attr("is_test") is False


def test_pruning_to_what_no_op_computes_is_refused() -> None:
    hidden, loss = trained()
    main = fluid.default_main_program()
    for target in ("x", "fc_0.w_0", "nowhere"):
        with pytest.raises(ValueError, match="no op computes the target"):
            main._prune([target])
    assert types(main._prune_with_input([hidden.name], [hidden])) == []
    assert types(main._prune([loss])) == ["mul", "elementwise_add", "mean"]


def test_an_op_made_by_hand_has_no_attributes_until_they_are_checked() -> None:
    block: Any = fluid.core.ProgramDesc().block(0)
    op = block.append_op()
    op.set_type("scale")
    assert op.attr_names() == []
    op.check_attrs()
    assert {"scale", "bias", "op_role"} <= set(op.attr_names())
    unknown = block.append_op()
    unknown.set_type("no_such_op")
    for method in (unknown.infer_shape, unknown.infer_var_type):
        with pytest.raises(EnforceNotMet, match="no op 'no_such_op'"):
            method(block)


def test_a_variable_made_by_hand_is_in_its_block() -> None:
    block = fluid.default_main_program().global_block()
    made = fluid.framework.Variable(block, name="raw", shape=[2, 3], dtype="int64")
    assert block.var("raw") is made
    kept = fluid.framework.Parameter(block, [2], "float32", name="p")
    assert block.all_parameters() == [kept]
    with pytest.raises(ValueError, match="already has a variable p"):
        block.create_parameter(name="p", shape=[3], dtype="float32")


@pytest.mark.parametrize("wrong", [{"shape": [1.5, 2]}, {"shape": ["a"]}, {"lod_level": "a"}, {"type": 3}])
def test_a_variable_is_described_by_whole_numbers(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        fluid.default_main_program().global_block().create_var(name="v", dtype="float32", **wrong)
    assert "v" not in fluid.default_main_program().global_block().vars


def test_scopes_of_steps_have_neither_shape_nor_dtype() -> None:
    kind = fluid.core.VarDesc.VarType.STEP_SCOPES
    scopes = fluid.default_main_program().global_block().create_var(name="s", type=kind)
    with pytest.raises(EnforceNotMet, match="STEP_SCOPES"):
        _ = scopes.shape
    with pytest.raises(EnforceNotMet, match="STEP_SCOPES"):
        _ = scopes.dtype


def test_methods_of_imperative_mode_say_that_there_is_none() -> None:
    x = fluid.data("x", [2])
    for method in (x.numpy, x.backward, x.gradient, x.detach, x.clear_gradient, lambda: x.set_value(1)):
        with pytest.raises(AssertionError, match="imperative mode"):
            method()
    optimizer = fluid.optimizer.SGD(0.1)
    for call in (optimizer.state_dict, optimizer.clear_gradients, lambda: optimizer.set_dict({})):
        with pytest.raises(AssertionError, match="imperative mode"):
            call()


def test_notes_on_a_variable_are_kept() -> None:
    x = fluid.data("x", [2])
    assert x._get_info("a") is None
    x._set_info("a", 3)
    assert x._get_info("a") == 3


def test_ops_know_the_device_they_were_built_for() -> None:
    with fluid.device_guard("cpu"):
        first = fluid.layers.fill_constant([1], "float32", 1.0)
    second = fluid.layers.fill_constant([1], "float32", 1.0)
    assert (op_of(first).attr("op_device"), op_of(second).attr("op_device")) == ("cpu", "")
    with pytest.raises(ValueError, match="'cpu', 'gpu'"), fluid.device_guard("xpu"):
        pass


def test_switching_names_gives_a_pair_in_1_8_that_can_be_switched_back() -> None:
    with use_era("1.8"):
        generator, checker = fluid.unique_name.switch()
        fluid.unique_name.switch(generator, checker)
        before = fluid.unique_name.switch()
        fluid.unique_name.switch(before)
    with use_era("1.5"):
        fluid.unique_name.switch(fluid.unique_name.switch())
    assert fluid.unique_name.generate("fc") == "fc_0"


def test_a_version_above_1_8_5_is_refused_and_in_1_8_one_that_ends_below() -> None:
    with use_era("1.8"):
        fluid.require_version("1.5", "1.8.5")
        with pytest.raises(Exception, match="1.9 or later"):
            fluid.require_version("1.9")
        with pytest.raises(Exception, match="--fluid"):
            fluid.require_version("0.1", "1.0")
    with use_era("1.5"):
        fluid.require_version("0.1", "1.0")


def test_repr_is_the_whole_text_where_scripts_of_1_8_run() -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x = fluid.layers.data("x", [3])
        y = fluid.layers.relu(x)
        parts = [x, y.op, x.block, x.block.program]
        assert all("\n" not in repr(part) for part in parts)
        with use_era("1.8"):
            assert [repr(part) for part in parts] == [str(part) for part in parts]

"""Programs, blocks, ops and variables, and the guards around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.dtypes import VarType
from fluidio.program import switch_main_program, switch_startup_program


def _net() -> Any:
    """Build data -> fc(relu) -> fc -> mean and return the loss."""
    x = fluid.layers.data("x", shape=[4])
    hidden = fluid.layers.fc(x, size=3, act="relu")
    return fluid.layers.mean(fluid.layers.fc(hidden, size=1))


def _op_types(program: fluid.Program) -> list[str]:
    return [op.type for op in program.global_block().ops]


def test_layers_append_to_the_default_programs() -> None:
    _net()
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    assert _op_types(main) == ["mul", "elementwise_add", "relu", "mul", "elementwise_add", "mean"]
    # Initializers prepend, so the last parameter is initialised first.
    assert [op.output_arg_names[0] for op in startup.global_block().ops] == [
        "fc_1.b_0",
        "fc_1.w_0",
        "fc_0.b_0",
        "fc_0.w_0",
    ]


def test_an_explicit_name_and_two_inputs() -> None:
    a, b = fluid.layers.data("a", shape=[2]), fluid.layers.data("b", shape=[3])
    fluid.layers.fc([a, b], size=1, name="h", bias_attr=False)
    names = [p.name for p in fluid.default_main_program().all_parameters()]
    assert names == ["h.w_0", "h.w_1"]


def test_until_12_accumulators_count_on_their_own() -> None:
    fluid.use_era("1.2")
    fluid.optimizer.Momentum(0.1, momentum=0.9).minimize(_net())
    names = {v.name for v in fluid.default_main_program().list_vars() if v.persistable}
    assert {"velocity_0", "velocity_1", "velocity_2", "velocity_3"} <= names


def test_switching_returns_the_program_before() -> None:
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    other = fluid.Program()
    assert (switch_main_program(other), switch_main_program(main)) == (main, other)
    assert (switch_startup_program(other), switch_startup_program(startup)) == (startup, other)


def test_until_14_a_clone_loses_the_seed() -> None:
    fluid.use_era("0.14")
    program = fluid.Program()
    program.random_seed = 5
    assert program.clone().random_seed == 0


def test_a_clone_shares_the_parameters_of_the_scope() -> None:
    loss = _net()
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.SGD(0.5).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"x": np.ones((2, 4), np.float32)}
    before = float(exe.run(test, feed=feed, fetch_list=[loss.name])[0])
    exe.run(feed=feed)
    assert float(exe.run(test, feed=feed, fetch_list=[loss.name])[0]) < before


def test_ops_tell_their_inputs_outputs_and_attributes() -> None:
    _net()
    op = fluid.default_main_program().global_block().ops[0]
    assert (op.type, op.input("X"), op.input("Y"), op.output("Out")) == ("mul", ["x"], ["fc_0.w_0"], ["fc_0.tmp_0"])
    assert set(op.input_names) == {"X", "Y"} and op.output_names == ["Out"]
    assert op.input_arg_names == ["x", "fc_0.w_0"] and op.output_arg_names == ["fc_0.tmp_0"]
    assert op.has_attr("x_num_col_dims") and op.attr("x_num_col_dims") == 1
    assert op.all_attrs()["y_num_col_dims"] == 1
    op._set_attr("x_num_col_dims", 2)
    assert op.attr("x_num_col_dims") == 2


def test_blocks_find_variables_and_refuse_others() -> None:
    _net()
    block = fluid.default_main_program().global_block()
    assert (block.idx, block.parent_idx, block.has_var("x"), block.has_var("y")) == (0, -1, True, False)
    assert block.var("x").name == "x"
    with pytest.raises(ValueError, match="no variable 'y'"):
        block.var("y")
    bad: Any = 3
    with pytest.raises(TypeError):
        block.var(bad)


def test_shapes_dtypes_and_lod_levels_are_inferred() -> None:
    x = fluid.layers.data("x", shape=[4], lod_level=1)
    y = fluid.layers.fc(x, size=3)
    assert (x.shape, x.dtype, x.lod_level, x.is_data, x.stop_gradient) == ((-1, 4), VarType.FP32, 1, True, True)
    assert (y.shape, y.dtype, y.lod_level, y.persistable) == ((-1, 3), VarType.FP32, 1, False)


@pytest.mark.parametrize(
    ("shape", "append", "expected"),
    [([4], True, (-1, 4)), ([4], False, (4,)), ([-1, 4], True, (-1, 4)), ([None, 4], True, (-1, 4)), ([], True, (-1,))],
)
def test_data_puts_the_batch_in_front(shape: list[Any], append: bool, expected: tuple[int, ...]) -> None:
    assert fluid.layers.data("x", shape=shape, append_batch_size=append).shape == expected


def test_a_variable_declared_twice_is_filled_twice_and_the_first_value_wins() -> None:
    startup = fluid.Program()
    for value in (1.0, 2.0):
        with fluid.program_guard(fluid.Program(), startup):
            fluid.layers.create_global_var([1], value, "float32", persistable=True, name="g")
    assert [op.attr("value") for op in startup.global_block().ops] == [2.0, 1.0]


def test_variables_can_be_renamed_while_they_are_listed() -> None:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        fluid.layers.fc(fluid.layers.data("x", [4]), 3)
    old = sorted(variable.name for variable in main.list_vars())
    for variable in main.list_vars():
        main.global_block()._rename_var(variable.name, "teacher_" + variable.name)
    assert sorted(variable.name for variable in main.list_vars()) == ["teacher_" + name for name in old]

"""Programs, blocks, variables, guards and names."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid
from fluidio.program import Parameter, Program


def net() -> fluid.Variable:
    x = fluid.layers.data("x", [4])
    return fluid.layers.mean(fluid.layers.fc(fluid.layers.fc(x, 3, act="relu"), 2))


def test_parameters_and_temporaries_have_fluids_names() -> None:
    net()
    block = fluid.default_main_program().global_block()
    assert [p.name for p in block.all_parameters()] == ["fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0"]
    assert {"fc_0.tmp_0", "fc_0.tmp_1", "fc_0.tmp_2", "fc_1.tmp_1", "mean_0.tmp_0"} <= block.vars.keys()


def test_accumulators_and_the_rate_have_fluids_names() -> None:
    fluid.optimizer.Adam(0.1).minimize(net())
    names = fluid.default_main_program().global_block().vars.keys()
    assert {"learning_rate_0", "fc_0.w_0_moment1_0", "fc_1.b_0_beta2_pow_acc_0", "fc_0.w_0@GRAD"} <= names


def test_unique_name_guard_counts_from_zero_and_takes_a_prefix() -> None:
    assert fluid.unique_name.generate("fc") == "fc_0"
    with fluid.unique_name.guard():
        assert fluid.unique_name.generate("fc") == "fc_0"
    with fluid.unique_name.guard("A"):
        assert fluid.unique_name.generate("fc") == "Afc_0"
    assert fluid.unique_name.generate("fc") == "fc_1"


def test_guards_restore_on_exceptions() -> None:
    main, scope = fluid.default_main_program(), fluid.global_scope()
    with (
        pytest.raises(KeyError),
        fluid.program_guard(Program(), Program()),
        fluid.scope_guard(fluid.Scope()),
        fluid.unique_name.guard(),
        fluid.name_scope("a"),
    ):
        raise KeyError
    assert fluid.default_main_program() is main
    assert fluid.global_scope() is scope


def test_program_guard_without_startup_keeps_the_current_one() -> None:
    startup = fluid.default_startup_program()
    with fluid.program_guard(Program()):
        assert fluid.default_startup_program() is startup


@pytest.mark.parametrize("bad", [None, "main", 3])
def test_program_guard_refuses_other_things(bad: object) -> None:
    with pytest.raises(TypeError, match="program"), fluid.program_guard(bad):  # type: ignore[arg-type]
        pass


def test_name_scopes_nest_and_count() -> None:
    with fluid.name_scope("s1"):
        a = fluid.layers.fill_constant([1], "float32", 1)
        with fluid.name_scope("s2"):
            b = fluid.layers.fill_constant([1], "float32", 1)
    with fluid.name_scope("s1"):
        c = fluid.layers.fill_constant([1], "float32", 1)
    assert [v.op.attr("op_namescope") for v in (a, b, c)] == ["/s1/", "/s1/s2/", "/s1_1/"]  # type: ignore[union-attr]


def test_a_global_seed_is_that_of_the_program_and_of_later_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Program, "_default_seed", 0)
    program, earlier = Program(), Program()
    program.global_seed(102)
    assert (program.random_seed, earlier.random_seed, Program().random_seed) == (102, 0, 102)


def test_random_seed_takes_integers_only() -> None:
    with pytest.raises(ValueError, match="random_seed must be an int"):
        Program().random_seed = 1.5  # type: ignore[assignment]


def test_clone_is_independent_and_keeps_parameters() -> None:
    net()
    main = fluid.default_main_program()
    main.random_seed = 3
    twin = main.clone()
    before = len(main.global_block().ops)
    with fluid.program_guard(twin):
        fluid.layers.fill_constant([1], "float32", 1)
    assert len(main.global_block().ops) == before
    assert twin.random_seed == 3
    assert all(isinstance(twin.global_block().var(p.name), Parameter) for p in main.all_parameters())


def test_clone_for_test_drops_the_backward_pass_but_in_a_strict_old_era() -> None:
    loss = net()
    forward = len(fluid.default_main_program().global_block().ops)
    fluid.optimizer.SGD(0.1).minimize(loss)
    main = fluid.default_main_program()
    assert len(main.clone(for_test=True).global_block().ops) == forward
    with fluid.use_era("1.5", strict=True):
        assert len(main.clone(for_test=True).global_block().ops) == len(main.global_block().ops)


def test_prune_keeps_what_the_targets_need() -> None:
    loss = net()
    fluid.layers.fill_constant([1], "float32", 1)
    main = fluid.default_main_program()
    assert "fill_constant" not in [op.type for op in main._prune([loss]).global_block().ops]


def test_a_variable_declared_twice_must_agree() -> None:
    block = Program().global_block()
    block.create_var(name="a", shape=[2], dtype="float32")
    assert block.create_var(name="a", shape=[2]).shape == (2,)
    with pytest.raises(ValueError, match="already has a variable a with shape"):
        block.create_var(name="a", shape=[3])


def test_missing_names_are_errors() -> None:
    block = Program().global_block()
    with pytest.raises(ValueError, match="no variable 'nobody'"):
        block.var("nobody")
    with pytest.raises(TypeError):
        block.var(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"type": None}, ValueError, "can not be None"),
        ({"type": "no_such_op"}, ValueError, r'(?m)^Operator "no_such_op" has not been registered\.$'),
        ({"type": "relu", "outputs": {"Out": ["y"]}}, AssertionError, "input X is missing"),
        ({"type": "relu", "inputs": {"X": ["x", "x"]}, "outputs": {"Out": ["y"]}}, ValueError, "takes one variable"),
        ({"type": "relu", "inputs": {"X": ["x"]}}, ValueError, "output Out"),
        ({"type": "relu", "inputs": {"X": ["x"]}, "outputs": {"Out": ["y"]}, "attrs": [1]}, TypeError, "attrs"),
    ],
)
def test_ops_are_checked_when_appended(arguments: dict[str, object], error: type[Exception], message: str) -> None:
    fluid.layers.data("x", [2])
    with pytest.raises(error, match=message):
        fluid.default_main_program().global_block().append_op(**arguments)  # type: ignore[arg-type]


def test_slots_that_fluids_op_does_not_have_are_ignored() -> None:
    fluid.layers.data("x", [2])
    block = fluid.default_main_program().global_block()
    with pytest.warns(UserWarning, match="relu has no input"):
        op = block.append_op(type="relu", inputs={"Z": ["x"], "X": ["x"]}, outputs={"Out": ["y"]})
    assert (op.input_names, op.input_arg_names) == (["X"], ["x"])


@pytest.mark.parametrize("shape", [[], [-1, 3]])
def test_parameters_need_a_full_shape(shape: list[int]) -> None:
    with pytest.raises(ValueError, match="a Parameter (needs a shape|must have a fixed shape)"):
        Program().global_block().create_parameter(name="w", shape=shape, dtype="float32")


def test_arithmetic_on_variables_appends_ops() -> None:
    x = fluid.layers.data("x", [2])
    y = 1.0 - x * 2.0 + x / x
    exe = fluid.Executor(fluid.CPUPlace())
    got = exe.run(feed={"x": np.array([[1.0, 4.0]], "float32")}, fetch_list=[y])[0]
    assert got.tolist() == [[0.0, -6.0]]


def test_variables_stay_usable_in_containers() -> None:
    x, y = fluid.layers.data("x", [2]), fluid.layers.data("y", [2])
    assert {x: 1}[x] == 1
    assert [x, y].index(x) == 0
    assert x in [x]
    assert x != None  # noqa: E711


def test_a_variable_is_compared_with_itself_by_an_op() -> None:
    x = fluid.layers.data("x", [2])
    feed = {"x": np.array([[1.0, np.nan]], "float32")}
    same, other = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[x == x, x != x])
    assert (same.tolist(), other.tolist()) == ([[True, False]], [[False, True]])


def test_a_program_prints_as_the_text_of_its_message() -> None:
    net()
    program = fluid.default_main_program()
    text = str(program)
    assert text.startswith("blocks {\n  idx: 0\n  parent_idx: -1\n  vars {\n")
    assert '    inputs {\n      parameter: "Y"\n      arguments: "fc_0.w_0"\n    }\n' in text
    assert "stop_gradient" not in text and "trainable: True" in program.to_string(True, with_details=True)
    with pytest.raises(AssertionError, match="with_details must be True or False"):
        program.to_string(True, 1)  # type: ignore[arg-type]


def test_a_parameter_prints_as_fluid_prints_it() -> None:
    net()
    parameter = fluid.default_main_program().all_parameters()[0]
    plain = (
        'name: "fc_0.w_0"\ntype {\n  type: LOD_TENSOR\n  lod_tensor {\n    tensor {\n      data_type: FP32\n'
        "      dims: 4\n      dims: 3\n    }\n  }\n}\npersistable: true\n"
    )
    assert str(parameter) == plain
    assert parameter.to_string(True, True) == plain + (
        "error_clip: None\nstop_gradient: False\ntrainable: True\noptimize_attr: {'learning_rate': 1.0}\n"
        "regularizer: None\ndo_model_average: True\n"
    )


def test_an_op_prints_its_attributes_with_their_types() -> None:
    out = fluid.layers.scale(fluid.layers.data("x", [2]), 2.5, bias=1e-3)
    text = str(out.op)
    assert 'attrs {\n  name: "bias"\n  type: FLOAT\n  f: 0.0010000000474974513\n}\n' in text
    assert 'attrs {\n  name: "bias_after_scale"\n  type: BOOLEAN\n  b: true\n}\n' in text
    assert 'attrs {\n  name: "op_role"\n  type: INT\n  i: 0\n}\n' in text


def test_a_parsed_program_takes_over_what_bytes_do_not_say() -> None:
    net()
    main = fluid.default_main_program()
    parsed = fluid.Program.parse_from_string(main.desc.serialize_to_string())
    assert parsed.all_parameters() == []
    parsed._copy_param_info_from(main)
    parsed._copy_data_info_from(main)
    assert [p.name for p in parsed.all_parameters()] == [p.name for p in main.all_parameters()]
    assert parsed.global_block().var("x").is_data
    with pytest.raises(TypeError, match=r"_copy_param_info_from\(\) takes the Program"):
        parsed._copy_param_info_from(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="parameter of the other"):
        fluid.Program()._copy_param_info_from(main)


def test_pruning_says_what_it_takes() -> None:
    net()
    main = fluid.default_main_program()
    with pytest.raises(ValueError, match="All targets of .* can only be Variable or Operator, but received .*int"):
        main._prune([1])
    with pytest.raises(ValueError, match="feeded_var_names must hold only str"):
        main._prune_with_input([main.global_block().var("x")], [])  # type: ignore[list-item]


def test_ops_tell_their_attributes_with_fluids_defaults() -> None:
    net()
    op = fluid.default_main_program().global_block().ops[0]
    assert (op.type, op.attr("force_fp32_output"), op.has_attr("scale_x")) == ("mul", False, True)
    assert op._has_kernel("mul") and not op._has_kernel("while") and not op._is_optimize_op()
    with pytest.raises(fluid.core.EnforceNotMet, match="op mul has no attribute nothing"):
        op.attr("nothing")


def test_startup_ops_stand_in_reverse_order() -> None:
    net()
    outs = [op.output_arg_names[0] for op in fluid.default_startup_program().global_block().ops]
    assert outs == ["fc_1.b_0", "fc_1.w_0", "fc_0.b_0", "fc_0.w_0"]

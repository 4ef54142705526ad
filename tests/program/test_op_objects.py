"""What ops, blocks and `fluid.core` answer about ops, as seen in 1.8.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import core, framework
from fluidio.era import use_era
from fluidio.errors import EnforceNotMet
from fluidio.proto import framework_pb2


@pytest.fixture(autouse=True)
def _era() -> Any:
    with fluid.use_era("1.8"):
        yield


def _train(optimizer: Any) -> list[Any]:
    x = fluid.data("x", [None, 4])
    weight = fluid.ParamAttr(name="w", regularizer=fluid.regularizer.L2Decay(0.1), learning_rate=0.5)
    optimizer.minimize(fluid.layers.mean(fluid.layers.fc(x, 3, param_attr=weight, bias_attr=False)))
    return list(fluid.default_main_program().global_block().ops)


def _scopes(ops: list[Any]) -> list[tuple[str, str]]:
    parts = [(op.type, op.attr("op_namescope").strip("/").split("/")) for op in ops if op.attr("op_role") & 2]
    return [(kind, "/".join(name.rstrip("_0123456789") for name in names)) for kind, names in parts]


def test_roles_are_plain_numbers() -> None:
    ops = _train(fluid.optimizer.SGD(0.1))
    roles = [op.attr("op_role") for op in ops]
    assert {type(role) for role in roles} == {int}
    assert {type(op.all_attrs()["op_role"]) for op in ops} == {int}
    assert roles[0] == 0
    assert roles[-1] == core.op_proto_and_checker_maker.OpRole.Optimize


def test_what_training_appends_is_in_scopes_of_its_own() -> None:
    assert _scopes(_train(fluid.optimizer.SGD(0.1))) == [
        ("scale", "regularization"),
        ("sum", "regularization"),
        ("scale", "optimizer/scale_with_param_lr"),
        ("sgd", "optimizer"),
    ]


def test_adamax_and_clipping_have_scopes_too() -> None:
    clip = fluid.clip.GradientClipByValue(1.0)
    found = _scopes(_train(fluid.optimizer.Adamax(0.1, grad_clip=clip)))
    assert found[0] == ("clip", "gradient_clip")
    assert found[-2:] == [("adamax", "optimizer"), ("scale", "adamx")]


def test_beta_powers_are_filled_on_the_cpu() -> None:
    _train(fluid.optimizer.Adam(0.1))
    devices = {
        op.output_arg_names[0]: op.attr("op_device") for op in fluid.default_startup_program().global_block().ops
    }
    assert {name: device for name, device in devices.items() if device} == {
        "w_beta1_pow_acc_0": "cpu",
        "w_beta2_pow_acc_0": "cpu",
    }


def test_text_shows_slots_that_nothing_was_given_for() -> None:
    x = fluid.data("x", [None, 4])
    fluid.layers.dropout(x, 0.5)
    text = str(fluid.default_main_program().global_block().ops[0])
    assert 'inputs {\n  parameter: "Seed"\n}\n' in text


@pytest.mark.parametrize("device", ["gpu:1", "cpu:0", "tpu", 3])
def test_devices_have_no_numbers(device: Any) -> None:
    with pytest.raises(ValueError, match="cpu"), fluid.device_guard(device):
        pass


def test_blocks_refuse_what_they_do_not_hold() -> None:
    block = fluid.default_main_program().global_block()
    with pytest.raises(KeyError):
        block._remove_var("nobody")
    with pytest.raises(IndexError, match="no index 3"):
        block._remove_op(3)
    fluid.layers.fill_constant([1], "float32", 1.0)
    with pytest.raises(EnforceNotMet, match="no attribute sub_block"):
        block.ops[0]._block_attr("sub_block")


def test_protos_are_messages() -> None:
    proto = framework.OpProtoHolder.instance().get_op_proto("mul")
    assert isinstance(proto, framework_pb2.OpProto)
    types = {attr.name: attr.type for attr in proto.attrs}
    assert types["x_num_col_dims"] == framework_pb2.INT
    assert types["op_callstack"] == framework_pb2.STRINGS
    read = [framework_pb2.OpProto.FromString(data) for data in core.get_all_op_protos()]
    assert [one.type for one in read] == [one.type for one in framework.get_all_op_protos()]
    assert next(one for one in read if one.type == "mul") == proto
    assert core.get_op_attrs_default_value(b"mul")["op_role"] == 4096


def test_which_ops_have_gradients() -> None:
    kinds = ("mul", "accuracy", "mul_grad", "relu_grad", "sgd", "load", "fill_constant")
    assert [core.has_grad_op_maker(kind) for kind in kinds] == [True, True, True, True, True, False, True]
    assert [core.has_non_empty_grad_op_maker(kind) for kind in kinds] == [True, False, True, True, False, False, False]
    assert [core.has_infer_inplace(kind) for kind in ("relu", "relu_grad", "mul", "square_grad_grad")] == [
        True,
        True,
        False,
        True,
    ]
    for ask in (core.has_grad_op_maker, core.has_non_empty_grad_op_maker, core.has_infer_inplace):
        with pytest.raises(EnforceNotMet, match="no op 'no_such_op'"):
            ask("no_such_op")


def test_the_executor_of_the_core_runs_descriptions() -> None:
    doubled = fluid.layers.fill_constant([2], "float32", 3.0) * 2
    place = core.Place()
    place.set_place(fluid.CPUPlace())
    executor = getattr(core, "Executor")(place)  # noqa: B009 - found through the table of names
    scope = fluid.Scope()
    executor.run(fluid.default_main_program().desc, scope, 0, True, True, [])
    assert scope.find_var(doubled.name) is None
    executor.run(fluid.default_main_program().desc, scope, 0, False, True, [doubled.name])
    found = scope.find_var(doubled.name)
    assert found is not None
    np.testing.assert_array_equal(np.array(found.get_tensor()), [6, 6])


def test_an_op_that_is_filled_in_by_hand_runs_with_the_defaults() -> None:
    fluid.layers.sign(fluid.data("x", [2]))
    (sign,) = fluid.default_main_program().global_block().ops
    (grad,), _ = core.get_grad_op_desc(sign.desc, set(), [])
    program = fluid.Program()
    program.global_block().desc.append_op().copy_from(grad)
    program._sync_with_cpp()
    names = [*grad.input_arg_names(), *grad.output_arg_names()]
    for name in names:
        program.global_block().create_var(name=name, shape=[2], dtype="float32")
    feed = {names[0]: np.ones(2, "float32")}
    (found,) = fluid.Executor(fluid.CPUPlace()).run(program, feed=feed, fetch_list=names[1:])
    np.testing.assert_array_equal(found, [0, 0])


def test_the_core_profiler_records(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    profiler: Any = core
    assert not profiler.is_profiler_enabled()
    profiler.enable_profiler(profiler.ProfilerState.kCPU)
    assert profiler.is_profiler_enabled()
    value = fluid.layers.fill_constant([2], "float32", 3.0)
    fluid.Executor(fluid.CPUPlace()).run(fetch_list=[value])
    profiler.disable_profiler(profiler.EventSortingKey.kTotal, str(tmp_path / "trace"))
    assert not profiler.is_profiler_enabled()
    assert "fill_constant" in capsys.readouterr().out
    assert (tmp_path / "trace").exists()


def test_numbers_meet_variables_as_in_fluid() -> None:
    x: Any = fluid.data("x", [None, 2], "int64")
    y: Any = fluid.data("y", [None, 2], "float32")
    feed = {"x": np.array([[1, 2]], "int64"), "y": np.array([[1, 2]], "float32")}
    (total,) = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[y + np.array([1.5])])
    np.testing.assert_array_equal(total, [[2.5, 3.5]])
    with pytest.raises(AssertionError, match="the number 1.5 would lose its decimals"):
        _ = x + 1.5
    with pytest.raises(AssertionError, match="the number 1.5 would lose its decimals"):
        _ = 1.5 - x
    with pytest.raises(ValueError, match="use a number"):
        _ = y + "a"


def test_whole_numbers_have_negative_powers() -> None:
    x: Any = fluid.data("x", [None], "int64")
    feed = {"x": np.array([1, 2, -1, 5], "int64")}
    (found,) = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[x**-1])
    assert found.tolist() == [1, 0, -1, 0]


def test_role_makers_tell_of_themselves() -> None:
    from fluidio.incubate.fleet.base import role_maker

    role = role_maker.UserDefinedRoleMaker(1, role_maker.Role.SERVER, 2, ["a:1", "b:2"])
    assert role.to_string() == "role: 2, current_id: 1, worker_endpoints: [], server_endpoints: ['a:1', 'b:2']"
    with pytest.raises(ValueError, match="worker_endpoints is empty"):
        role_maker.UserDefinedCollectiveRoleMaker(0, [])
    with pytest.raises(ValueError, match="current_id must lie in"):
        role_maker.UserDefinedCollectiveRoleMaker(5, ["a:1"])


def test_a_dataset_of_passes_is_made() -> None:
    dataset: Any = fluid.DatasetFactory().create_dataset("BoxPSDataset")
    dataset.begin_pass()
    dataset.end_pass(need_save_delta=True)
    assert isinstance(dataset, fluid.InMemoryDataset)


def test_roles_print_their_names() -> None:
    role = fluid.core.op_proto_and_checker_maker.OpRole
    assert (str(role.LRSched), repr(role.Forward), int(role.Loss)) == ("OpRole.LRSched", "OpRole.Forward", 256)


def test_an_op_needs_a_type_and_its_attributes_can_be_updated() -> None:
    block = fluid.Program().global_block()
    with pytest.raises(ValueError, match=r"^`type` to initialized an Operator can not be None\.$"):
        block.append_op()
    x = block.create_var(name="x", shape=[2], dtype="float32")
    op = block.append_op(type="scale", inputs={"X": x}, outputs={"Out": x})
    op._update_desc_attr("scale", 3.0)
    assert op.attr("scale") == 3.0


def test_parameters_take_shape_and_dtype_by_position() -> None:
    parameter = fluid.Program().global_block().create_parameter([3, 2], "float64", name="p")
    assert (parameter.shape, parameter.dtype) == ((3, 2), fluid.core.VarDesc.VarType.FP64)


def test_in_1_8_none_is_no_input() -> None:
    with fluid.program_guard(fluid.Program()):
        block = fluid.default_main_program().global_block()
        out = block.create_var(name="out", dtype="float32")
        with use_era("1.8"):
            for wrong in ([None], (out,), ()):
                with pytest.raises(TypeError, match="op relu: X must be a Variable"):
                    block.append_op(type="relu", inputs={"X": wrong}, outputs={"Out": [out]})
            for missing in ({}, {"X": None}):
                with pytest.raises(AssertionError, match="input X is missing"):
                    block.append_op(type="relu", inputs=missing, outputs={"Out": [out]})
            for nothing in (None, [None]):
                with pytest.raises(AttributeError, match="output Out is None"):
                    block.append_op(type="relu", inputs={"X": out}, outputs={"Out": nothing})


def test_in_1_8_a_number_of_numpy_that_is_no_python_float_is_cut_to_a_whole_one() -> None:
    def alpha(value: Any) -> Any:
        with fluid.program_guard(fluid.Program()):
            out = fluid.layers.elu(fluid.layers.data("x", [3]), alpha=value)
            return out.block.ops[-1].attr("alpha")

    with use_era("1.5"):
        assert alpha(np.float32(2.5)) == alpha(np.array([2.5])) == 2.5
    with use_era("1.8"):
        assert alpha(np.float64(2.5)) == 2.5
        for value in (np.float32(2.5), np.float16(2.5), np.array([2.5]), np.array(2.5, "float32")):
            with pytest.warns(UserWarning, match=r"cuts .* to 2; pass float\("):
                assert alpha(value) == 2.0

"""Names that have little to do here do that little, and say what they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import transpiler
from fluidio.flow.observer import OBSERVERS
from fluidio.transpiler import passes


def test_memory_optimize_says_once_that_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "_warned", False)
    with pytest.warns(UserWarning, match="freed after their last use"):
        fluid.memory_optimize(fluid.default_main_program(), skip_opt_set={"x"}, print_log=True, level=0)
    fluid.release_memory(fluid.default_main_program())
    transpiler.memory_optimize(fluid.default_main_program())


def test_the_inference_transpiler_leaves_the_program_alone() -> None:
    fluid.layers.fc(fluid.layers.data("x", [3]), 2)
    before = str(fluid.default_main_program())
    fluid.InferenceTranspiler().transpile(fluid.default_main_program(), fluid.CPUPlace())
    assert str(fluid.default_main_program()) == before
    with pytest.raises(TypeError, match="Program"):
        fluid.InferenceTranspiler().transpile("main", fluid.CPUPlace())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="place"):
        fluid.InferenceTranspiler().transpile(fluid.default_main_program(), "cpu")


def test_dispatchers_spread_variables_over_servers() -> None:
    names = ["a", "b", "c"]
    turns = transpiler.RoundRobin(["one", "two"])
    assert turns.dispatch(names) == ["one", "two", "one"]
    turns.reset()
    assert turns.dispatch(["a"]) == ["one"]
    assert transpiler.HashName(["one", "two"]).dispatch(names) == transpiler.HashName(["one", "two"]).dispatch(names)


@pytest.mark.parametrize("version", ["0.14.0", "1.4", "1.8.5"])
def test_every_version_up_to_1_8_5_is_good_enough(version: str) -> None:
    fluid.require_version(version)
    fluid.require_version("0.12", version)


def test_require_version_checks_its_arguments() -> None:
    with pytest.raises(Exception, match=r"2\.0 or later"):
        fluid.require_version("2.0")
    with pytest.raises(TypeError, match="must be a str"):
        fluid.require_version(1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one to four numbers"):
        fluid.require_version("1.x")


def test_flags_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OBSERVERS, "checks_numbers", False)  # what the flag sets is taken back after the test
    monkeypatch.setattr("fluidio.flags._flags", {"FLAGS_check_nan_inf": False, "FLAGS_eager_delete_tensor_gb": 0.0})
    fluid.set_flags({"FLAGS_check_nan_inf": True})
    assert fluid.get_flags("FLAGS_check_nan_inf") == {"FLAGS_check_nan_inf": True}
    monkeypatch.setenv("FLAGS_eager_delete_tensor_gb", "1.5")
    assert fluid.get_flags(["FLAGS_eager_delete_tensor_gb"]) == {"FLAGS_eager_delete_tensor_gb": 1.5}
    monkeypatch.setenv("FLAGS_eager_delete_tensor_gb", "much")
    with pytest.raises(ValueError, match="expected float"):
        fluid.get_flags("FLAGS_eager_delete_tensor_gb")
    for call in (lambda: fluid.set_flags({"FLAGS_nonsense": 1}), lambda: fluid.get_flags("FLAGS_nonsense")):
        with pytest.raises(ValueError, match="FLAGS_nonsense"):
            call()


def test_run_check_trains_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    fluid.install_check.run_check()
    assert "trains on the CPU" in capsys.readouterr().out


def test_local_scopes_nest() -> None:
    from fluidio import default_scope_funcs as funcs

    funcs.var("outside").set_int(1)

    def inside() -> None:
        funcs.var("inside").set_int(2)
        assert funcs.find_var("outside") is not None

    funcs.scoped_function(inside)
    assert funcs.find_var("inside") is None
    with pytest.raises(RuntimeError, match="enter_local_scope"):
        funcs.leave_local_scope()


def test_a_context_manager_keeps_its_name() -> None:
    from fluidio.wrapped_decorator import signature_safe_contextmanager, wrap_decorator

    @signature_safe_contextmanager
    def guard() -> Any:
        """Guard."""
        yield 5

    with guard() as value:
        assert value == 5
    assert guard.__doc__ == "Guard."
    twice = wrap_decorator(lambda func: lambda: func() * 2)
    assert twice(lambda: 4)() == 8


def test_names_of_core() -> None:
    assert int(fluid.core.op_proto_and_checker_maker.OpRole.Backward) == 1
    assert fluid.core.op_proto_and_checker_maker.kOpRoleAttrName() == "op_role"
    assert int(fluid.core.VarDesc.VarType.FP32) == 5
    assert int(fluid.core.RecordIOWriter.Compressor.Snappy) == 1
    assert int(fluid.core.PaddleDType.INT64) == 1
    fluid.core._set_eager_deletion_mode(0.0, 1.0, True)
    with pytest.raises(AttributeError, match=r"C\+\+ core"):
        getattr(fluid.core, "no_such" + "_thing")


@pytest.mark.parametrize("name", ["enable_dygraph", "make_channel"])
def test_what_is_not_here_names_the_nearest_thing(name: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"fluid\.(dygraph\.base\.)?{name} is not supported by fluidio"):
        getattr(fluid, name)()


def test_modules_of_fluid_resolve() -> None:
    assert fluid.framework.Parameter is fluid.Parameter
    assert fluid.framework._get_var is fluid.get_var
    assert fluid.data_feeder.DataFeeder is fluid.DataFeeder
    assert fluid.lod_tensor.create_lod_tensor is fluid.create_lod_tensor
    assert fluid.compiler.CompiledProgram is fluid.CompiledProgram
    assert fluid.layer_helper.LayerHelper is not None
    assert fluid.trainer.Trainer is fluid.Trainer
    with pytest.raises(AttributeError, match="fluid.nonsense is not supported"):
        _ = fluid.nonsense


def test_variables_are_found_and_fetched_by_name() -> None:
    fluid.layers.fc(fluid.layers.data("x", [3]), 2)
    assert fluid.get_var("fc_0.w_0").shape == (3, 2)
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    assert fluid.fetch_var("fc_0.b_0").tolist() == [0, 0]
    assert fluid._fetch_var("fc_0.b_0", return_numpy=False).shape() == [2]
    with pytest.raises(AssertionError, match="the scope has no variable 'nobody'"):
        fluid.fetch_var("nobody")


def test_static_mode_is_all_there_is() -> None:
    assert fluid.in_dygraph_mode() is False
    with fluid.device_guard("gpu:0"):
        pass
    with pytest.raises(ValueError, match="takes 'cpu', 'gpu' or None"), fluid.device_guard("tpu"):
        pass
    with pytest.raises(NotImplementedError, match="py_func"):
        fluid.load_op_library("ops.so")


def test_a_tensor_desc_is_read_as_scripts_read_parameter_files() -> None:
    from fluidio.proto import framework_pb2

    desc = framework_pb2.VarType.TensorDesc()
    desc.ParseFromString(b"\x08\x05\x10\x02\x10\x03")
    assert (desc.data_type, desc.dims) == (5, [2, 3])
    assert desc.SerializeToString() == b"\x08\x05\x10\x02\x10\x03"


def test_a_tensor_set_for_a_feed_is_read_back_by_name_and_index() -> None:
    scope, tensor = fluid.Scope(), fluid.create_lod_tensor(np.ones((3, 1), "float32"), [[1, 2]], fluid.CPUPlace())
    fluid.core.set_feed_variable(scope, tensor, "feed", 1)
    found = fluid.core.get_fetch_variable(scope, "feed", 1)
    assert np.array(found).tolist() == [[1.0]] * 3 and found.lod() == [[0, 1, 3]]
    assert not fluid.core.get_fetch_variable(scope, "feed", 0)._is_initialized()
    for name, index in (("feed", 2), ("feed", -1), ("nothing", 0)):
        with pytest.raises(fluid.core.EnforceNotMet, match=f"'{name}' holds"):
            fluid.core.get_fetch_variable(scope, name, index)
    with pytest.raises(fluid.core.EnforceNotMet, match="negative"):
        fluid.core.set_feed_variable(scope, tensor, "feed", -1)


def test_compat_refuses_what_it_cannot_convert_and_knows_the_whole_numbers() -> None:
    import fluidio.paddle.compat as compat

    assert (compat.int_type, compat.long_type) == (int, int)
    assert compat.to_bytes(["a", b"b", None]) == [b"a", b"b", None]
    with pytest.raises(AttributeError, match="encode"):
        compat.to_bytes([5])
    with pytest.raises(AssertionError, match="got None"):
        compat.get_exception_message(None)  # type: ignore[arg-type]

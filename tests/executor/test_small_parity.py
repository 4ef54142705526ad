"""Small things that code around executors depends on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.executor.legacy_names import _to_name_str
from fluidio.program.data_feeder import DataToLoDTensorConverter


def net() -> Any:
    x = fluid.data("x", [None, 2])
    start = fluid.initializer.Constant(0.5)
    out = fluid.layers.fc(x, 1, param_attr=fluid.ParamAttr("w", start), bias_attr=fluid.ParamAttr("b", start))
    return fluid.layers.mean(out)


def started() -> fluid.Executor:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe


def test_a_persistable_with_fewer_rows_than_places_goes_to_each_of_them() -> None:
    out = net()
    program = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(places=fluid.cpu_places(2))
    feed = {"x": np.zeros([4, 2], "float32"), "b": np.array([3.0], "float32")}
    (got,) = started().run(program, feed=feed, fetch_list=[out])
    np.testing.assert_array_equal(got, [3.0, 3.0])


def test_a_dry_run_computes_nothing() -> None:
    out = net()
    strategy: Any = fluid.ExecutionStrategy()
    strategy._dry_run = True
    program = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(
        exec_strategy=strategy, places=fluid.cpu_places(2)
    )
    (got,) = started().run(program, feed={"x": np.zeros([4, 2], "float32")}, fetch_list=[out])
    assert got.shape == (0,)


def test_names_are_of_variables_ops_and_strings() -> None:
    out = net()
    assert _to_name_str(out) == out.name
    assert _to_name_str(out.block.ops[1]) == "1"
    with pytest.raises(TypeError, match="a Variable, an op or a name"):
        _to_name_str(3)


def test_a_flag_of_another_type_is_refused() -> None:
    with pytest.raises(RuntimeError, match="bool"):
        fluid.set_flags({"FLAGS_check_nan_inf": "a"})


def test_arrays_of_tensors_hold_tensors_by_numbers_from_0_on() -> None:
    array = fluid.LoDTensorArray()
    for wrong in (lambda: array.append(3), lambda: array[-1]):  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            wrong()


def test_loading_says_what_is_missing(tmp_path: Path) -> None:
    out = net()
    exe = started()
    with pytest.raises(ValueError, match="params_filename"):
        fluid.io.load_inference_model(None, exe)
    with pytest.raises(ValueError, match="target_vars"):
        fluid.io.save_inference_model(str(tmp_path), ["x"], [], exe)
    fluid.save(fluid.default_main_program(), str(tmp_path / "m"))
    with pytest.raises(AssertionError, match="Executor"):
        fluid.load(fluid.default_main_program(), str(tmp_path / "m"), 3)
    assert out is not None


def test_samples_are_gathered_to_a_tensor() -> None:
    converter = DataToLoDTensorConverter(fluid.CPUPlace(), 1, [-1, 1], "int64")
    converter.feed([1, 2])
    converter.feed([3])
    tensor = converter.done()
    assert tensor.recursive_sequence_lengths() == [[2, 1]]
    assert np.array(tensor).tolist() == [[1], [2], [3]]
    assert converter.data == []


def test_a_feed_description_is_a_message_too(tmp_path: Path) -> None:
    path = tmp_path / "feed.proto"
    path.write_text(
        'name: "F"\nbatch_size: 2\nmulti_slot_desc {\n slots {\n name: "w"\n type: "uint64"\n shape: 3\n}\n}\n'
    )
    desc = fluid.DataFeedDesc(str(path))
    desc.set_batch_size(8)
    desc.set_use_slots(["w"])
    message = desc.proto_desc
    assert (message.name, message.batch_size, message.pipe_command) == ("F", 8, "cat")
    (slot,) = message.multi_slot_desc.slots
    assert (slot.name, slot.is_used, slot.is_dense, list(slot.shape)) == ("w", True, False, [3])


def test_datasets_take_what_has_no_effect() -> None:
    dataset: Any = fluid.DatasetFactory().create_dataset("InMemoryDataset")
    dataset.set_fleet_send_sleep_seconds(1)
    dataset.set_generate_unique_feasigns(True, 2)
    dataset.set_parse_ins_id(False)
    dataset.set_feed_type("MySlotFeed")
    assert "MySlotFeed" in dataset.desc()
    dataset.set_hdfs_config("hdfs:", "me")
    assert "batch_size" not in dataset.desc()
    assert type(fluid.DatasetFactory().create_dataset("FileInstantDataset")).__name__ == "FileInstantDataset"


@pytest.mark.parametrize("name", ["num_threads", "num_iteration_per_run", "num_iteration_per_drop_scope"])
def test_a_number_of_threads_or_iterations_is_not_negative(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        setattr(fluid.ExecutionStrategy(), name, -1)

"""Names of `fluid.executor` and its neighbours that legacy code and tests call, with what 1.8.5 answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers
from fluidio.contrib.model_stat import summary
from fluidio.errors import EnforceNotMet
from fluidio.executor import (
    _as_lodtensor,
    check_feed_shape_type,
    dimension_is_compatible_with,
    dtype_is_compatible_with,
    has_feed_operators,
    has_fetch_operators,
)
from fluidio.io.generator_loader import GeneratorLoader

ONES = np.ones((2, 2), "float32")


@pytest.fixture
def exe() -> fluid.Executor:
    return fluid.Executor(fluid.CPUPlace())


def test_an_unknown_fetch_is_an_enforce_error_and_a_value_error(exe: fluid.Executor) -> None:
    x = fluid.data("x", [2, 2])
    layers.relu(x)
    for kind in (EnforceNotMet, ValueError):
        with pytest.raises(kind, match="no variable 'nope'"):
            exe.run(feed={"x": ONES}, fetch_list=["nope"])


def _set_global(flags: dict[str, bool]) -> None:
    for name, value in flags.items():
        fluid.core.globals()[name] = value


@pytest.mark.parametrize("set_flag", [fluid.set_flags, _set_global])
def test_check_nan_inf_names_the_op_and_the_tensor(
    exe: fluid.Executor, set_flag: Callable[[dict[str, bool]], None]
) -> None:
    x = fluid.data("x", [2, 2])
    y = layers.relu(x)
    set_flag({"FLAGS_check_nan_inf": True})
    try:
        exe.run(feed={"x": ONES}, fetch_list=[y])
        with pytest.raises(EnforceNotMet, match=r"op relu wrote nan or inf into relu_0.tmp_0: 4 nan"):
            exe.run(feed={"x": np.nan * ONES}, fetch_list=[y])
    finally:
        set_flag({"FLAGS_check_nan_inf": False})
    assert np.isnan(exe.run(feed={"x": np.nan * ONES}, fetch_list=[y])[0]).all()


def test_a_handle_of_sparse_rows_shows_what_the_next_run_writes(exe: fluid.Executor) -> None:
    ids = fluid.data("ids", [2, 1], "int64")
    layers.mean(layers.embedding(ids, [5, 3], is_sparse=True, param_attr="w"))
    main = fluid.default_main_program()
    fluid.backward.append_backward(main.global_block().var("mean_0.tmp_0"))
    main.global_block().var("w@GRAD").persistable = True
    exe.run(fluid.default_startup_program())
    handle = fluid.global_scope().var("w@GRAD").get_selected_rows()
    for rows in ([1, 3], [4, 0]):
        exe.run(feed={"ids": np.array(rows, "int64").reshape(2, 1)})
        assert (list(handle.rows()), handle.height()) == (rows, 5)
        np.testing.assert_allclose(np.array(handle.get_tensor()), np.full((2, 3), 1 / 6, "float32"))


def test_a_program_is_pruned_to_a_feed_and_the_feed_to_the_program(exe: fluid.Executor) -> None:
    x, other = fluid.data("x", [2, 2]), fluid.data("other", [2, 2])
    y = layers.fc(x, 2)
    layers.fc(other, 3)
    part = exe._prune_program(fluid.default_main_program(), {"x": ONES}, [y], [])
    assert [op.type for op in part.global_block().ops] == ["mul", "elementwise_add"]
    assert exe._update_feed(part, [{"x": 1, "other": 2}]) == [{"x": 1}]


def test_feed_and_fetch_ops_are_added_to_a_copy(exe: fluid.Executor) -> None:
    x = fluid.data("x", [2, 2])
    y = layers.relu(x)
    main = fluid.default_main_program()
    copy = exe._add_feed_fetch_ops(main, {"x": ONES}, [y], "feed", "fetch")
    assert [op.type for op in copy.global_block().ops] == ["feed", "relu", "fetch"]
    assert has_feed_operators(copy.global_block(), {}, "feed")
    assert has_fetch_operators(copy.global_block(), [], "fetch")
    assert not has_feed_operators(main.global_block(), {}, "feed")


def test_a_list_of_updates_beside_a_variable_is_run(exe: fluid.Executor) -> None:
    loss = layers.mean(layers.fc(fluid.data("x", [2, 2]), 2))
    updates, _ = fluid.optimizer.SGD(0.1).minimize(loss)
    exe.run(fluid.default_startup_program())
    assert len(exe.run(feed={"x": ONES}, fetch_list=[loss, updates])) == 1
    assert exe._split_optimize_ops_in_fetch_list([loss, updates]) == ([loss], updates)


def test_small_helpers_answer_as_1_8_5() -> None:
    x = fluid.data("x", [2, 2])
    assert dimension_is_compatible_with([2, -1], [2, 3])
    assert not dimension_is_compatible_with([2, 4], [2, 3])
    assert dtype_is_compatible_with("float32", x.dtype)
    assert _as_lodtensor(np.ones((2, 3)), fluid.CPUPlace()).shape() == [2, 3]
    with pytest.raises(RuntimeError, match="LoDTensor"):
        _as_lodtensor([1, 2], fluid.CPUPlace())
    with pytest.raises(AssertionError, match="dtype="):
        _as_lodtensor(1, fluid.CPUPlace())
    with pytest.raises(ValueError, match=r"has shape \(2, 3\)"):
        check_feed_shape_type(x, _as_lodtensor(np.ones((2, 3), "float32"), fluid.CPUPlace()))


def test_ragged_items_of_a_loader_are_a_type_error() -> None:
    assert GeneratorLoader._check_input_array([np.array([1, 2])]).shape == (1, 2)
    with pytest.raises(TypeError, match="different lengths"):
        GeneratorLoader._check_input_array([[1], [2, 3]])


def test_sign_takes_an_array(exe: fluid.Executor) -> None:
    (found,) = exe.run(fetch_list=[layers.sign(np.array([3.0, -2.0, 0.0], "float32"))])
    assert found.tolist() == [1.0, -1.0, 0.0]


def test_a_data_feed_is_read_changed_and_written(tmp_path: Path) -> None:
    path = tmp_path / "data.proto"
    words = '  slots {\n    name: "words"\n    type: "uint64"\n    is_dense: false\n  }\n'
    slots = words + '  slots {\n    name: "label"\n  }\n'
    path.write_text(f'name: "MultiSlotDataFeed"\nbatch_size: 2\nmulti_slot_desc {{\n{slots}}}\n')
    desc = fluid.DataFeedDesc(str(path))
    desc.set_batch_size(128)
    desc.set_dense_slots(["words"])
    desc.set_use_slots(["words"])
    changed = slots.replace("is_dense: false\n", "is_dense: true\n    is_used: true\n")
    expected = f'name: "MultiSlotDataFeed"\nbatch_size: 128\nmulti_slot_desc {{\n{changed}}}\npipe_command: "cat"\n'
    assert desc.desc() == expected
    with pytest.raises(KeyError, match="nope"):
        desc.set_use_slots(["nope"])
    path.write_text("multi_slot_desc { slots {")
    with pytest.raises(ValueError, match="braces"):
        fluid.DataFeedDesc(str(path))


def test_summary_counts_as_1_8_5(capsys: pytest.CaptureFixture[str]) -> None:
    x = fluid.data("x", [1, 1, 8, 8])
    layers.fc(layers.conv2d(x, 2, 3, bias_attr=False), 2)
    summary(fluid.default_main_program())
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:6] == [
        "| No. |   TYPE |     INPUT |    OUTPUT | PARAMs | FLOPs |",
        "+-----+--------+-----------+-----------+--------+-------+",
        "|   0 | conv2d | (1, 8, 8) | (2, 6, 6) |     18 |  1296 |",
        "|   1 |    mul | (2, 6, 6) |      (2,) |    145 |   144 |",
        "+-----+--------+-----------+-----------+--------+-------+",
    ]
    assert lines[6:8] == ["Total PARAMs: 163(0.0002M)", "Total FLOPs: 1440(0.00G)"]

"""Graph readers: every record exactly once, in an order that follows from files, seed and epoch."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.layers._io.reader_handle import find_reader
from fluidio.recordio import Writer
from fluidio.recordio.blocks import engine
from tests.executor.readers.subjects import SLOTS, Subject, write_file, write_files

layers = fluid.layers


def test_a_file_gives_its_records_in_order_every_epoch(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.recordio", range(12))
    subject = Subject(lambda: layers.io.open_recordio_file(path, **SLOTS))
    for _ in range(3):
        assert subject.epoch() == list(range(12))
        subject.reader.reset()


def test_eof_comes_again_until_reset_and_names_reader_and_epoch(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.recordio", range(3))
    subject = Subject(lambda: layers.io.open_recordio_file(path, **SLOTS))
    subject.epoch()
    for _ in range(3):
        with pytest.raises(
            fluid.core.EOFException, match=r"There is no next data\..*epoch 1 after 3 batches"
        ) as caught:
            subject.exe.run(subject.main, fetch_list=[])
        assert caught.value.reader == "open_recordio_file_0"
        assert caught.value.epoch == 0
    subject.reader.reset()
    assert subject.step() == [0]


def test_pass_num_repeats_the_file_within_one_epoch(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.recordio", range(7))

    def build() -> Any:
        return layers.batch(layers.io.open_recordio_file(path, pass_num=3, **SLOTS), 4, drop_last=False)

    subject = Subject(build)
    first = subject.step()
    second = subject.step()
    assert (first, second) == ([0, 1, 2, 3], [4, 5, 6, 0])  # a batch straddles the seam
    assert subject.epoch() == [1, 2, 3, 4, 5, 6, *range(7)]
    subject.reader.reset()
    assert subject.epoch() == [*range(7)] * 3


@pytest.mark.parametrize("options", [{"thread_num": 1}, {"is_test": True}, {"thread_num": 3, "is_test": True}])
def test_one_thread_or_is_test_reads_file_after_file(tmp_path: Path, options: dict[str, Any]) -> None:
    paths = write_files(tmp_path)
    subject = Subject(lambda: layers.open_files(paths, **SLOTS, **options))
    assert subject.epoch() == list(range(37))


def test_the_order_does_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    paths = write_files(tmp_path)
    orders = []
    for threads in (2, 3, 8, None):
        subject = Subject(partial(layers.open_files, paths, thread_num=threads, **SLOTS))
        orders.append(subject.epoch())
        subject.reader.reset()
        assert subject.epoch() == orders[-1]
    assert orders[0] == orders[1] == orders[2] == orders[3]
    assert orders[0][:15] == [*range(5), *range(12, 17), *range(19, 24)]  # a chunk of each file in turn
    assert sorted(orders[0]) == list(range(37))


@pytest.mark.parametrize("buffer_size, chunks", [(None, 6), (40, 8), (1000, 11)])
def test_buffer_size_says_how_many_records_are_read_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, buffer_size: int | None, chunks: int
) -> None:
    monkeypatch.setattr(engine, "_GRAIN", 1)  # small chunks are read one by one
    paths = write_files(tmp_path, [20] * 3)
    subject = Subject(lambda: layers.open_files(paths, thread_num=2, buffer_size=buffer_size, **SLOTS))
    subject.step()
    assert subject.reader.stats()["capacity"] >= chunks
    source: Any = find_reader(subject.reader)
    assert sum(not step.hop.is_end for work in source._engine._works for step in work.steps) == chunks
    assert sorted(subject.epoch()) == list(range(1, 60))
    subject.reader.reset()


def test_arrival_order_still_delivers_every_record_once(tmp_path: Path) -> None:
    paths = write_files(tmp_path)
    subject = Subject(lambda: layers.open_files(paths, thread_num=2, deterministic=False, **SLOTS))
    for _ in range(3):
        assert sorted(subject.epoch()) == list(range(37))
        subject.reader.reset()


def test_shuffled_files_come_in_another_order_each_epoch_and_the_same_in_each_run(tmp_path: Path) -> None:
    paths = write_files(tmp_path, [5] * 6)

    def epochs(seed: int) -> list[list[int]]:
        subject = Subject(lambda: layers.open_files(paths, thread_num=1, shuffle_files=True, seed=seed, **SLOTS))
        found = []
        for _ in range(3):
            found.append(subject.epoch())
            subject.reader.reset()
        return found

    first = epochs(1)
    assert epochs(1) == first
    assert epochs(2) != first
    assert first[0] != first[1]
    assert [sorted(epoch) for epoch in first] == [list(range(30))] * 3


def test_shuffle_keeps_the_records_of_each_buffer_together(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.recordio", range(25), chunk=4)
    subject = Subject(lambda: layers.shuffle(layers.io.open_recordio_file(path, **SLOTS), 10))
    first = subject.epoch()
    subject.reader.reset()
    second = subject.epoch()
    for order in (first, second):
        assert [sorted(order[:10]), sorted(order[10:20]), sorted(order[20:])] == [
            list(range(10)),
            list(range(10, 20)),
            list(range(20, 25)),
        ]
    assert first != second
    again = Subject(lambda: layers.shuffle(layers.io.open_recordio_file(path, **SLOTS), 10))
    assert again.epoch() == first


def test_shuffle_takes_records_of_several_layouts(tmp_path: Path) -> None:
    path = tmp_path / "mixed.recordio"
    with Writer(path, max_num_records=3) as writer:
        for number in range(9):
            rows = 1 + number % 3
            writer.write_tensors([(np.zeros((rows, 4 + number % 2), "float32"), ()), (np.array([[number]]), ())])
    subject = Subject(lambda: layers.shuffle(layers.io.open_recordio_file(str(path), **SLOTS), 6))
    with pytest.warns(UserWarning, match=r"declared as FP32 \[-1, 4\] but holds FP32 \[\d, 5\]"):
        assert sorted(subject.epoch()) == list(range(9))


def test_batch_counts_records_not_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    with Writer(path) as writer:
        for number in range(4):
            writer.write_tensors([(np.zeros((3, 4), "float32"), ()), (np.full((3, 1), number), ())])
    subject = Subject(lambda: layers.batch(layers.io.open_recordio_file(str(path), **SLOTS), 2))
    assert subject.step() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(("era", "expected"), [("0.14", 10), ("1.5", 8)])
def test_the_era_decides_about_the_short_last_batch(tmp_path: Path, era: str, expected: int) -> None:
    path = write_file(tmp_path / "a.recordio", range(10))
    with fluid.use_era(era):
        subject = Subject(lambda: layers.batch(layers.io.open_recordio_file(path, **SLOTS), 4))
    if era == "0.14":
        assert len(subject.epoch()) == expected
    else:
        with pytest.warns(UserWarning, match="drops the last 2 records"):
            assert len(subject.epoch()) == expected
        assert subject.reader.stats()["dropped"] == 2


@pytest.mark.parametrize("strict, expected", [(False, [0, 3, 5, 8]), (True, [0, 3, 5, 10])])
def test_batch_merges_lods_of_records_with_several_sequences_unless_fluids_bug_is_wanted(
    tmp_path: Path, strict: bool, expected: list[int]
) -> None:
    path = tmp_path / "lod.recordio"
    offsets = [np.array(o, "int64") for o in ([0, 3], [0, 2, 5])]
    with Writer(path) as writer:
        for level in offsets:
            writer.write_tensors([(np.arange(level[-1] * 2, dtype="float32").reshape(-1, 2), (level,))])

    def build() -> Any:
        reader = layers.io.open_recordio_file(str(path), shapes=[(-1, 2)], lod_levels=[1], dtypes=["float32"])
        return layers.batch(reader, 2)

    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        out = layers.read_file(build())
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    with fluid.use_era("1.5", strict=strict):
        (tensor,) = exe.run(main, fetch_list=[out], return_numpy=False)
    assert out.lod_level == 1
    assert tensor.lod() == [expected]


def test_records_that_cannot_be_stacked_are_an_error_that_says_why(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    with Writer(path) as writer:
        writer.write_tensors([(np.zeros((1, 4), "float32"), ()), (np.zeros((1, 1), "int64"), ())])
        writer.write_tensors([(np.zeros((1, 3), "float32"), ()), (np.zeros((1, 1), "int64"), ())])
    subject = Subject(lambda: layers.batch(layers.io.open_recordio_file(str(path), **SLOTS), 2))
    with pytest.raises(fluid.core.EnforceNotMet, match=r"slot 0 is float32 \(rows, 4\) in some, float32 \(rows, 3\)"):
        subject.step()


@pytest.mark.parametrize("place", ["cpu", fluid.CPUPlace(), None])
def test_double_buffer_keeps_order_and_takes_strings_and_places(tmp_path: Path, place: Any) -> None:
    paths = write_files(tmp_path)

    def build() -> Any:
        return layers.double_buffer(
            layers.batch(layers.open_files(paths, thread_num=1, **SLOTS), 5, drop_last=False), place
        )

    subject = Subject(build)
    for _ in range(2):
        assert subject.epoch() == list(range(37))
        subject.reader.reset()


def test_double_buffer_over_open_files_needs_no_thread_of_its_own(tmp_path: Path) -> None:
    paths = write_files(tmp_path, (12, 7, 17))
    subject = Subject(lambda: layers.double_buffer(layers.batch(layers.open_files(paths, is_test=True, **SLOTS), 3)))
    for _ in range(2):
        assert [subject.step(), subject.step(), subject.step()] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
        assert not [t.name for t in threading.enumerate() if "double_buffer" in t.name]
        assert subject.epoch() == list(range(9, 36))
        stats = subject.reader.stats()
        assert {"items", "bytes", "producer_wait", "consumer_wait", "queue_size", "capacity", "dropped"} <= {*stats}
        subject.reader.reset()


def test_double_buffer_refuses_a_place_it_does_not_know(tmp_path: Path) -> None:
    reader = layers.random_data_generator(0, 1, [[2, 3]], [0])
    with pytest.raises(fluid.core.EnforceNotMet, match="place must be 'cpu'"):
        layers.double_buffer(reader, place="tpu")


def test_reset_works_on_any_handle_of_the_chain(tmp_path: Path) -> None:
    paths = write_files(tmp_path)
    handles: list[Any] = []

    def build() -> Any:
        handles.append(layers.open_files(paths, thread_num=1, **SLOTS))
        handles.append(layers.shuffle(handles[-1], 1))
        handles.append(layers.batch(handles[-1], 5, drop_last=False))
        handles.append(layers.double_buffer(handles[-1]))
        return handles[-1]

    subject = Subject(build)
    for handle in handles:
        subject.step()
        handle.reset()
        assert subject.epoch() == list(range(37))
        handle.reset()


def test_random_data_follows_from_the_seed() -> None:
    def values(seed: int) -> Any:
        main, startup = fluid.Program(), fluid.Program()
        with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()):
            out = layers.read_file(layers.random_data_generator(-2, 3, [[4, 5]], [0], seed=seed))
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            return exe.run(main, fetch_list=[out])[0]

    assert values(1).shape == (4, 5)
    assert (values(1) == values(1)).all()
    assert (values(1) != values(2)).any()
    assert values(1).min() >= -2
    assert values(1).max() < 3


@pytest.mark.parametrize(("low", "high", "shape"), [(2, 1, [2, 2]), (0, 1, [3]), (0, 1, [-1, 3])])
def test_impossible_random_data_is_refused_by_the_startup_program(low: float, high: float, shape: list[int]) -> None:
    layers.random_data_generator(low, high, [shape], [0])
    with pytest.raises(fluid.core.EnforceNotMet, match="random_data_generator"):
        fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())


@pytest.mark.parametrize("strict, lod", [(False, [[0, 1, 3]]), (True, [])])
def test_a_preprocessor_runs_on_every_item_and_keeps_lod_unless_fluids_bug_is_wanted(
    tmp_path: Path, strict: bool, lod: list[Any]
) -> None:
    path = tmp_path / "lod.recordio"
    with Writer(path) as writer:
        for value in range(3):
            level = np.array([0, 1, 3], "int64")
            writer.write_tensors([(np.full((3, 2), value, "float32"), (level,)), (np.array([[value]]), ())])
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        reader = layers.open_files(
            [str(path)], shapes=[(-1, 2), (-1, 1)], lod_levels=[1, 0], dtypes=["float32", "int64"]
        )
        scaling = layers.io.Preprocessor(reader)
        with scaling.block():
            rows, number = scaling.inputs()
            scaling.outputs(rows * 10.0 + 1.0, number)
        reader = layers.double_buffer(scaling())
        rows, number = layers.read_file(reader)
    assert rows.lod_level == 1
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    for expected in range(3):
        with fluid.use_era("1.5", strict=strict):
            tensor, found = exe.run(main, fetch_list=[rows, number], return_numpy=False)
        assert np.array(tensor)[0, 0] == expected * 10 + 1
        assert tensor.lod() == lod
        assert np.array(found)[0, 0] == expected
    reader.reset()
    assert np.array(exe.run(main, fetch_list=[rows], return_numpy=False)[0])[0, 0] == 1
    reader.reset()


def test_a_preprocessor_used_wrongly_says_so(tmp_path: Path) -> None:
    reader = layers.open_files(["a.recordio"], **SLOTS)
    wrong = layers.io.Preprocessor(reader)
    with pytest.raises(RuntimeError, match="only inside"):
        wrong.inputs()
    with pytest.raises(RuntimeError, match="incomplete"), wrong.block():
        pass
    other = layers.io.Preprocessor(reader)
    with pytest.raises(RuntimeError, match="build its block first"):
        other()
    assert fluid.default_main_program().current_block_idx == 0


def test_load_reads_a_saved_tensor_in_every_run(tmp_path: Path) -> None:
    path = str(tmp_path / "saved")
    saved = layers.fill_constant([2, 3], "float32", 4.0)
    fluid.default_main_program().global_block().append_op(
        type="save", inputs={"X": [saved]}, outputs={}, attrs={"file_path": path}
    )
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run()
    main = fluid.Program()
    with fluid.program_guard(main):
        out = layers.create_tensor("float32")
        layers.load(out, path)
    assert exe.run(main, fetch_list=[out])[0].tolist() == [[4.0] * 3] * 2


@pytest.mark.parametrize("threads", [1, 2])
def test_hundreds_of_files_need_no_more_than_a_few_hundred_descriptors(tmp_path: Path, threads: int) -> None:
    paths = write_files(tmp_path, [2] * 300)
    subject = Subject(lambda: layers.batch(layers.open_files(paths, thread_num=threads, **SLOTS), 10))
    before = len(list(Path("/proc/self/fd").iterdir()))
    first = subject.step()
    assert len(list(Path("/proc/self/fd").iterdir())) - before < 260
    assert sorted([*(first or []), *subject.epoch()]) == list(range(600))
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1
    subject.reader.reset()


def test_exe_epoch_begins_anew_where_another_loop_stopped_at_the_end(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.recordio", range(4))
    subject = Subject(lambda: layers.io.open_recordio_file(path, **SLOTS))
    assert subject.epoch() == [0, 1, 2, 3]  # and no reset()
    for _ in range(2):
        found = subject.exe.epoch(subject.main, fetch_list=[subject.number], reader=subject.reader)
        assert [int(number) for (number,) in found] == [0, 1, 2, 3]
    empty = write_file(tmp_path / "empty.recordio", [])
    with fluid.scope_guard(fluid.Scope()):
        other = Subject(lambda: layers.io.open_recordio_file(empty, **SLOTS))
        assert list(other.exe.epoch(other.main, reader=other.reader)) == []

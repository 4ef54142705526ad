"""One test for each thing that users of Fluid's readers suffered from."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.errors import RecordIOError
from tests.executor.readers.subjects import SLOTS, Subject, batches, held, loader, py_reader, write_file, write_files

layers = fluid.layers


def failing(at: int) -> Any:
    def generate() -> Iterator[Any]:
        for number, item in enumerate(batches(range(10))()):
            if number == at:
                raise KeyError("lost column")
            yield item

    return generate


@pytest.mark.parametrize("at", [0, 1, 5])
def test_1_an_exception_of_the_generator_arrives_in_exe_run(at: int) -> None:
    subject = Subject(py_reader)
    subject.reader.decorate_batch_generator(failing(at))
    for _ in range(2):  # and again in the next epoch
        subject.reader.start()
        for number in range(at):
            assert subject.step() == [number]
        for _ in range(2):
            with pytest.raises(fluid.core.EnforceNotMet, match="raised KeyError: 'lost column'") as caught:
                subject.step()
            assert not isinstance(caught.value, fluid.core.EOFException)
            assert isinstance(caught.value.__cause__, KeyError)
            assert caught.value.__cause__.__traceback__ is not None
        subject.reader.reset()
    subject.reader.decorate_batch_generator(batches(range(3)))
    subject.reader.start()
    assert subject.epoch() == [0, 1, 2]
    subject.reader.reset()


def test_2_reset_is_legal_in_every_state_and_loses_nothing() -> None:
    subject = Subject(loader, read=False)
    reader = subject.reader
    reader.reset()  # idle
    reader.set_batch_generator(failing(2))
    reader.start()
    reader.reset()  # running, nothing read
    reader.start()
    with pytest.raises(fluid.core.EnforceNotMet):
        subject.epoch()
    reader.reset()  # after an error
    reader.set_batch_generator(batches(range(8)))
    reader.start()
    subject.step()
    reader.reset()  # in mid-epoch
    for _ in range(2):
        reader.start()
        assert subject.epoch() == list(range(8))
        reader.reset()  # at the end
        reader.reset()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_3_after_eof_no_worker_runs_and_every_epoch_is_complete(tmp_path: Path, threads: int) -> None:
    paths = write_files(tmp_path, [9, 4, 11, 6])
    subject = Subject(lambda: layers.double_buffer(layers.open_files(paths, thread_num=threads, **SLOTS)))
    before = threading.active_count()
    for _ in range(5):
        assert sorted(subject.epoch()) == list(range(30))
        assert threading.active_count() <= before
        subject.reader.reset()


def test_4_no_op_runs_after_eof_in_a_step(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.recordio", range(4))
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        _, number = layers.read_file(layers.io.open_recordio_file(path, **SLOTS))
        total = layers.create_global_var([1], 0.0, "float32", persistable=True, name="total")
        main.global_block().append_op(
            type="elementwise_add",
            inputs={"X": [total], "Y": [layers.fill_constant([1], "float32", 1.0)]},
            outputs={"Out": [total]},
        )
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    for _ in range(7):
        try:
            exe.run(main, fetch_list=[number])
        except fluid.core.EOFException as error:
            assert "epoch 1 after 4 batches" in str(error)
    assert float(np.array(held("total").get_tensor())[0]) == 4.0


def test_5_what_is_dropped_is_said_once_counted_and_can_be_switched_off(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.recordio", range(10))
    subject = Subject(lambda: layers.batch(layers.io.open_recordio_file(path, **SLOTS), 4))
    with pytest.warns(UserWarning, match=r"drops the last 2 records.*drop_last=False") as warned:
        for _ in range(3):
            subject.epoch()
            subject.reader.reset()
    assert len(warned) == 1
    assert subject.reader.stats()["dropped"] == 6

    def samples() -> Iterator[Any]:
        for value in range(7):
            yield np.full(4, value, "float32"), value

    other = Subject(loader, read=False)
    other.reader.set_sample_generator(samples, batch_size=3)
    with pytest.warns(UserWarning, match=r"drops the last 1 samples") as warned:
        for _ in range(2):
            other.reader.start()
            assert other.epoch() == list(range(6))
            other.reader.reset()
    assert len(warned) == 1
    assert other.reader.stats()["dropped"] == 2


def test_6_a_reader_built_again_under_its_name_works_and_a_true_clash_names_both_places() -> None:
    for first in (0, 100):  # a notebook runs its cell twice
        subject = Subject(lambda: py_reader("train"))
        subject.reader.decorate_batch_generator(batches(range(first, first + 3)))
        subject.reader.start()
        assert subject.epoch() == list(range(first, first + 3))
        subject.reader.reset()
    train, test = Subject(py_reader), Subject(py_reader)  # unnamed, each under a guard of its own
    for subject, first in ((train, 0), (test, 50)):
        subject.reader.decorate_batch_generator(batches(range(first, first + 3)))
        subject.reader.start()
    assert [train.step(), test.step(), train.step(), test.step()] == [[0], [50], [1], [51]]
    for subject in (train, test):
        subject.reader.reset()
    py_reader("both")
    with pytest.raises(
        fluid.core.EnforceNotMet, match=r"already has a reader.*subjects\.py:\d+.*the second one, at .*subjects\.py:"
    ):
        py_reader("both")


def test_7_order_is_a_function_of_files_seed_and_epoch(tmp_path: Path) -> None:
    paths = write_files(tmp_path)

    def epochs(threads: int) -> list[list[int]]:
        subject = Subject(
            lambda: layers.shuffle(
                layers.open_files(paths, thread_num=threads, shuffle_files=True, **SLOTS), 20, seed=3
            )
        )
        found = []
        for _ in range(3):
            found.append(subject.epoch())
            subject.reader.reset()
        return found

    assert epochs(2) == epochs(3) == epochs(2)


def test_8_a_mismatch_is_said_at_the_first_read(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.recordio", range(3))
    wrong = {**SLOTS, "dtypes": ["float32", "int32"]}
    subject = Subject(lambda: layers.io.open_recordio_file(path, **wrong))
    with pytest.warns(
        UserWarning, match=r"slot 1 of reader .*declared as INT32 \[-1, 1\] but holds INT64.*subjects.py"
    ) as told:
        assert subject.step() == [0]
    assert told[0].filename.endswith("subjects.py")  # the line that reads, not one of ours
    assert subject.step() == [1]  # said once


def test_9_a_damaged_file_names_the_place_and_gives_all_good_records_first(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    write_file(path, range(20), chunk=5)
    data = bytearray(path.read_bytes())
    data[len(data) * 5 // 8] ^= 0xFF
    path.write_bytes(data)
    subject = Subject(lambda: layers.double_buffer(layers.io.open_recordio_file(str(path), **SLOTS)))
    seen: list[int] = []
    with pytest.raises(fluid.core.EnforceNotMet, match=r"a\.recordio: chunk 2 at byte \d+") as caught:
        while (item := subject.step()) is not None:
            seen += item
    assert seen == list(range(10))
    assert isinstance(caught.value.__cause__, RecordIOError)
    path.write_bytes(bytes(data[: len(data) * 5 // 8]))
    other = Subject(lambda: layers.io.open_recordio_file(str(path), **SLOTS))
    with pytest.raises(fluid.core.EnforceNotMet, match=r"CutTailError"):
        other.epoch()


def test_10_threads_and_memory_stay_flat_over_a_thousand_epochs_cut_short(tmp_path: Path) -> None:
    paths = write_files(tmp_path, [6, 6])
    files = Subject(lambda: layers.double_buffer(layers.batch(layers.open_files(paths, thread_num=2, **SLOTS), 3)))
    queue = Subject(lambda: py_reader(capacity=2))
    queue.reader.decorate_batch_generator(batches(range(50)))

    def cut_short() -> None:
        files.step()
        files.reader.reset()
        queue.reader.start()
        queue.step()
        queue.reader.reset()

    for _ in range(50):
        cut_short()
    gc.collect()
    threads = threading.active_count()
    base = sys.getallocatedblocks()
    for _ in range(1000):
        cut_short()
    gc.collect()
    assert threading.active_count() <= threads + 2
    assert sys.getallocatedblocks() - base < 2_000  # a leak of one object in an epoch would be 2,000


def test_11_what_was_delivered_is_never_overwritten() -> None:
    subject = Subject(lambda: py_reader(capacity=2))
    subject.reader.decorate_batch_generator(batches(range(20)))
    subject.reader.start()
    kept = []
    while (number := _fetch(subject)) is not None:
        kept.append(number)
    subject.reader.reset()
    assert [int(np.array(tensor)[0, 0]) for tensor in kept] == list(range(20))
    assert subject.reader.queue.size() == 0


def _fetch(subject: Subject) -> Any:
    try:
        return subject.exe.run(subject.main, fetch_list=[subject.number], return_numpy=False)[0]
    except fluid.core.EOFException:
        return None


def test_12_a_clone_for_test_takes_feeds_in_place_of_its_reader() -> None:
    subject = Subject(py_reader)
    with fluid.program_guard(subject.main, subject.startup):
        out = layers.mean(subject.row)
    clone = subject.main.clone(for_test=True)
    rows = np.full((2, 4), 3.0, "float32")
    feed = {subject.row.name: rows, subject.number.name: np.zeros((2, 1), "int64")}
    assert float(subject.exe.run(clone, feed=feed, fetch_list=[out.name])[0]) == 3.0


def test_12_save_inference_model_takes_read_outputs_as_feeds(tmp_path: Path) -> None:
    subject = Subject(py_reader)
    with fluid.program_guard(subject.main, subject.startup):
        out = layers.fc(subject.row, size=2)
    subject.exe.run(subject.startup)
    folder = str(tmp_path / "model")
    fluid.io.save_inference_model(folder, [subject.row.name], [out], subject.exe, main_program=subject.main)
    with fluid.scope_guard(fluid.Scope()):
        program, feeds, targets = fluid.io.load_inference_model(folder, subject.exe)
        assert feeds == [subject.row.name]
        assert "read" not in [op.type for op in program.global_block().ops]
        rows = np.ones((3, 4), "float32")
        assert subject.exe.run(program, feed={feeds[0]: rows}, fetch_list=targets)[0].shape == (3, 2)


def test_batches_padded_to_many_lengths_are_told_of_once() -> None:
    reader: Any = fluid.layers.py_reader(4, [[-1, 16, 1]] * 2, ["int64"] * 2, use_double_buffer=False)
    words, places = fluid.layers.read_file(reader)
    total = fluid.layers.reduce_sum(words + places)
    reader.decorate_tensor_provider(lambda: ([np.ones((2, n, 1), "int64")] * 2 for n in (7, 8, 9)))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    reader.start()
    with pytest.warns(UserWarning, match="the data takes precedence") as found:
        sums = [int(exe.run(fetch_list=[total])[0]) for _ in range(3)]
    reader.reset()
    assert sums == [28, 32, 36]
    assert len(found) == 1

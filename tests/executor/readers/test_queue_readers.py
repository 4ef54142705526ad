"""py_reader, PyReader and DataLoader.from_generator: start, run until EOF, reset."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.flow import feed_epoch
from fluidio.flow.feed_queue import FeedQueue
from tests.executor.readers.subjects import Subject, batches, feed, loader, py_reader

layers = fluid.layers


@pytest.fixture(params=["py_reader", "py_reader_plain", "loader", "loader_plain"])
def subject(request: pytest.FixtureRequest) -> Subject:
    double = not request.param.endswith("plain")
    if request.param.startswith("py_reader"):
        return Subject(lambda: py_reader(use_double_buffer=double))
    return Subject(lambda: loader(use_double_buffer=double), read=False)


def test_every_epoch_gives_every_batch_in_order(subject: Subject) -> None:
    reader = feed(subject, batches(range(11)))
    for _ in range(3):
        reader.start()
        assert subject.epoch() == list(range(11))
        reader.reset()


def test_reset_in_mid_epoch_begins_again_at_the_first_batch(subject: Subject) -> None:
    closed = []

    def generate() -> Iterator[Any]:
        try:
            yield from batches(range(50))()
        finally:
            closed.append(threading.current_thread())

    reader = feed(subject, generate)
    for read in (0, 1, 4, 7):
        reader.start()
        for number in range(read):
            assert subject.step() == [number]
        reader.reset()
        assert not closed or not closed[-1].is_alive()
    reader.start()
    assert subject.epoch() == list(range(50))
    reader.reset()
    reader.reset()


def test_running_before_start_is_an_error_and_not_a_hang(subject: Subject) -> None:
    feed(subject, batches(range(3)))
    with pytest.raises(fluid.core.EnforceNotMet, match=r"is not started: call start\(\)"):
        subject.step()


def test_start_without_a_source_says_what_is_missing(subject: Subject) -> None:
    with pytest.raises(fluid.core.EnforceNotMet, match="has no data source"):
        subject.reader.start()


def test_reset_before_any_start_is_harmless(subject: Subject) -> None:
    subject.reader.reset()
    feed(subject, batches(range(3))).start()
    assert subject.epoch() == [0, 1, 2]
    subject.reader.reset()


def test_start_twice_warns_and_doubles_nothing(subject: Subject) -> None:
    reader = feed(subject, batches(range(5)))
    reader.start()
    with pytest.warns(UserWarning, match="already running"):
        reader.start()
    assert subject.epoch() == list(range(5))
    reader.reset()


def test_start_at_the_end_without_reset_begins_the_next_epoch(subject: Subject) -> None:
    reader = feed(subject, batches(range(4)))
    for _ in range(3):
        reader.start()
        assert subject.epoch() == list(range(4))
    reader.reset()


def test_a_new_source_is_used_in_the_next_epoch(subject: Subject) -> None:
    feed(subject, batches(range(3))).start()
    feed(subject, batches(range(10, 14)))
    assert subject.epoch() == [0, 1, 2]
    subject.reader.reset()
    subject.reader.start()
    assert subject.epoch() == [10, 11, 12, 13]
    subject.reader.reset()


def test_an_empty_source_ends_at_the_first_run(subject: Subject) -> None:
    feed(subject, batches([])).start()
    assert subject.step() is None
    subject.reader.reset()


def test_an_empty_fetch_list_still_reads(subject: Subject) -> None:
    feed(subject, batches(range(2))).start()
    for _ in range(2):
        assert subject.exe.run(subject.main, fetch_list=[]) == []
    with pytest.raises(fluid.core.EOFException):
        subject.exe.run(subject.main, fetch_list=[])
    subject.reader.reset()


def test_the_queue_can_be_filled_by_hand() -> None:
    subject = Subject(lambda: py_reader(capacity=4))
    queue = subject.reader.queue
    assert (queue.size(), queue.capacity()) == (0, 4)
    for item in batches(range(3))():
        array = fluid.LoDTensorArray()
        for value in item:
            tensor = fluid.LoDTensor()
            tensor.set(value, fluid.CPUPlace())
            array.append(tensor)
        assert queue.push(array)
    assert queue.size() == 3
    queue.close()
    assert queue.is_closed()
    assert not queue.push([])
    assert subject.epoch() == [0, 1, 2]
    subject.reader.reset()


def test_ahead_of_the_program_no_more_is_read_than_the_queue_holds() -> None:
    asked: list[int] = []
    full = threading.Event()

    def generate() -> Iterator[Any]:
        for value, item in enumerate(batches(range(20))()):
            asked.append(value)
            if value == 4:
                full.set()
            yield item

    subject = Subject(lambda: py_reader(capacity=4))
    feed(subject, generate).start()
    assert full.wait(10)
    subject.step()
    assert len(asked) <= 4 + 3
    assert subject.epoch() == list(range(1, 20))
    subject.reader.reset()


@pytest.mark.parametrize("limit", [0.0, 3600.0])
@pytest.mark.parametrize("capacity", [1, 2, 5])
def test_a_queue_is_refilled_at_half_or_when_it_is_empty_and_never_holds_too_much(
    monkeypatch: pytest.MonkeyPatch, limit: float, capacity: int
) -> None:
    monkeypatch.setattr(feed_epoch, "_QUICK", limit)
    monkeypatch.setattr(feed_epoch, "_SHORT", limit)
    subject = Subject(partial(py_reader, capacity=capacity))
    held: list[int] = []

    def source() -> Iterator[Any]:
        for batch in batches(range(40))():
            held.append(subject.reader.queue.size())
            yield batch

    subject.reader.decorate_batch_generator(source)
    for _ in range(2):
        subject.reader.start()
        assert subject.epoch() == list(range(40))
        subject.reader.reset()
    assert max(held) <= capacity


def test_two_readers_in_one_program_end_with_the_shorter() -> None:
    def build() -> Any:
        first = py_reader("first")
        second = py_reader("second")
        layers.read_file(second)
        return first, second

    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        readers = build()
        _, number = layers.read_file(readers[0])
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    readers[0].decorate_batch_generator(batches(range(6)))
    readers[1].decorate_batch_generator(batches(range(3)))
    for _ in range(2):
        steps = 0
        for reader in readers:
            reader.start()
        with pytest.raises(fluid.core.EOFException):
            while True:
                exe.run(main, fetch_list=[number])
                steps += 1
        assert steps == 3
        for reader in readers:
            reader.reset()


def test_ops_and_names_of_py_reader_are_fluids() -> None:
    reader = layers.py_reader(3, [(-1, 4), (-1, 1)], ["float32", "int64"], name="train")
    assert reader.name == "train_double_buffer"
    out = layers.read_file(reader)
    assert [v.name for v in out] == ["read_file_0.tmp_0", "read_file_0.tmp_1"]
    assert [op.type for op in fluid.default_main_program().global_block().ops] == [
        "create_double_buffer_reader",
        "read",
    ]
    assert [op.type for op in fluid.default_startup_program().global_block().ops] == ["create_py_reader"]


def test_by_data_takes_its_slots_from_variables() -> None:
    row = layers.data("row", [4])
    number = layers.data("number", [1], dtype="int64")
    reader = layers.create_py_reader_by_data(2, [row, number])
    row, number = layers.read_file(reader)
    assert (row.shape, number.dtype) == ((-1, 4), fluid.core.VarType.INT64)
    with pytest.raises(TypeError, match="list of Variables"):
        layers.create_py_reader_by_data(2, (row, number))  # type: ignore[arg-type]


def test_exe_epoch_starts_ends_and_resets(subject: Subject) -> None:
    reader = feed(subject, batches(range(5)))
    for _ in range(2):
        found = [int(n[0, 0]) for (n,) in subject.exe.epoch(subject.main, fetch_list=[subject.number], reader=reader)]
        assert found == list(range(5))
    for (_number,) in subject.exe.epoch(subject.main, fetch_list=[subject.number], reader=reader):
        break
    reader.start()
    assert subject.epoch() == list(range(5))
    reader.reset()


def test_feeding_other_variables_works_beside_a_reader() -> None:
    subject = Subject(py_reader)
    with fluid.program_guard(subject.main):
        extra = layers.data("extra", [1], append_batch_size=False)
        total = extra + 1.0
    feed(subject, batches(range(2))).start()
    out = subject.exe.run(subject.main, feed={"extra": np.ones(1, "float32")}, fetch_list=[total, subject.number])
    assert (float(out[0]), int(out[1])) == (2.0, 0)
    subject.reader.reset()


def test_stats_count_what_went_through(subject: Subject) -> None:
    reader = feed(subject, batches(range(6)))
    reader.start()
    subject.epoch()
    reader.reset()
    stats = reader.stats()
    assert stats["items"] == 6
    assert stats["bytes"] == 6 * (16 + 8)
    assert stats["capacity"] == 3
    assert stats["queue_size"] == 0
    assert stats["epoch"] == 1
    assert stats["producer_wait"] >= 0
    assert stats["consumer_wait"] >= 0


def test_capacity_must_be_a_positive_number() -> None:
    with pytest.raises(fluid.core.EnforceNotMet, match="capacity"):
        py_reader(capacity=0)
    with pytest.raises(ValueError, match="capacity must be given"):
        loader(capacity=0)


def test_several_threads_may_run_the_program_and_every_batch_comes_once() -> None:
    subject = Subject(lambda: py_reader(capacity=2))
    feed(subject, batches(range(60))).start()
    found: list[int] = []

    def work() -> None:
        while (item := subject.step()) is not None:
            found.extend(item)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(found) == list(range(60))
    subject.reader.reset()


def test_readers_may_stand_on_a_py_reader() -> None:
    source: list[Any] = []

    def build() -> Any:
        source.append(py_reader(capacity=4))
        return layers.double_buffer(layers.batch(layers.shuffle(source[0], 4), 2, drop_last=False))

    subject = Subject(build)
    feed(subject, batches(range(7)))
    orders = []
    for epoch in range(3):
        subject.reader.start()
        orders.append(subject.epoch())
        assert sorted(orders[-1]) == list(range(7))
        if epoch == 0:
            subject.reader.reset()  # and once without
    subject.reader.start()
    subject.step()
    source[0].reset()
    assert orders[0] != list(range(7))


def test_an_error_in_a_generators_finally_is_told_by_reset() -> None:
    def generate() -> Iterator[Any]:
        try:
            yield from batches(range(50))()
        finally:
            raise OSError("cannot close the socket")

    subject = Subject(py_reader)
    feed(subject, generate).start()
    subject.step()
    with pytest.warns(UserWarning, match="OSError: cannot close the socket when it was closed"):
        subject.reader.reset()
    feed(subject, batches(range(3))).start()
    assert subject.epoch() == [0, 1, 2]
    subject.reader.reset()


def test_an_epoch_that_was_read_ahead_runs_until_its_end_is_delivered() -> None:
    queue = FeedQueue("ahead", 4)
    item: Any = [(np.zeros(1), ())]
    pair: Any = [item, item]
    queue.start(lambda: pair[:1])
    assert queue.take(deliver=False) is item
    assert queue.take(deliver=False) is None  # who reads ahead has seen the end, the program has not seen the item
    with pytest.warns(UserWarning, match="already running"):
        queue.start(list)
    queue.delivered += 1
    assert queue.take() is None
    queue.start(lambda: pair)  # now it begins anew
    assert queue.take() is queue.take() is item
    assert queue.take() is None
    queue.reset()

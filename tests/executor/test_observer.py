"""Observers hear of steps, ops, reads, waits and drops; nobody else notices."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.errors import OpError
from fluidio.flow.feed_epoch import Epoch
from fluidio.flow.observer import OBSERVERS, Drop, Observer, OpRun, Read, Step, StepResult, Wait, observing
from fluidio.recordio import Writer


class Everything(Observer):
    times_ops = True

    def __init__(self) -> None:
        self.began: list[Step] = []
        self.ended: list[tuple[Step, StepResult]] = []
        self.ops: list[OpRun] = []
        self.reads: list[Read] = []
        self.waits: list[Wait] = []
        self.drops: list[Drop] = []

    def step_began(self, step: Step) -> None:
        self.began.append(step)

    def step_ended(self, step: Step, result: StepResult) -> None:
        self.ended.append((step, result))

    def op_ran(self, op: OpRun) -> None:
        self.ops.append(op)

    def item_read(self, read: Read) -> None:
        self.reads.append(read)

    def wait_ended(self, wait: Wait) -> None:
        self.waits.append(wait)

    def items_dropped(self, drop: Drop) -> None:
        self.drops.append(drop)


def test_a_step_tells_what_was_fed_and_fetched() -> None:
    x = fluid.layers.data("x", [3])
    y = fluid.layers.scale(x, 2.0)
    exe = fluid.Executor(fluid.CPUPlace())
    with observing(Everything()) as seen:
        exe.run(feed={"x": np.ones((4, 3), "float32")}, fetch_list=[y])
        exe.run(feed={"x": np.ones((2, 3), "float32")})
    assert [(step.place, step.fed, step.thread) for step in seen.began] == [
        ("CPUPlace", 4, threading.get_ident()),
        ("CPUPlace", 2, threading.get_ident()),
    ]
    assert seen.began == [step for step, _ in seen.ended]
    (step, first), (_, second) = seen.ended
    assert first.names == (y.name,) and first.error is None and first.stop >= step.start
    assert np.array_equal(first.values[0], np.full((4, 3), 2.0))
    assert second.names == () and second.values == []


def test_ops_are_told_with_their_line_and_their_output() -> None:
    y = fluid.layers.scale(fluid.layers.data("x", [3]), 2.0)
    with observing(Everything()) as seen:
        fluid.Executor(fluid.CPUPlace()).run(feed={"x": np.ones((4, 3), "float32")}, fetch_list=[y])
    (op,) = seen.ops
    assert (op.type, op.output) == ("scale", y.name) and op.stop >= op.start
    assert op.site is not None and op.site[0].endswith("test_observer.py")


def test_a_compiled_program_on_several_places_is_one_step() -> None:
    y = fluid.layers.scale(fluid.layers.data("x", [3]), 2.0)
    main = fluid.default_main_program()
    program = fluid.CompiledProgram(main).with_data_parallel(places=fluid.cpu_places(2))
    exe = fluid.Executor(fluid.CPUPlace())
    with observing(Everything()) as seen:
        exe.run(program, feed={"x": np.ones((4, 3), "float32")}, fetch_list=[y])
        exe.run(main, feed={"x": np.ones((4, 3), "float32")}, fetch_list=[y])
    assert len(seen.ended) == 2 and len(seen.ops) == 3
    assert seen.began[0].program == seen.began[1].program >= 0


def test_a_failing_step_tells_its_error() -> None:
    y = fluid.layers.fc(fluid.layers.data("x", [3]), 2)
    with observing(Everything()) as seen, pytest.raises(OpError) as raised:
        fluid.Executor(fluid.CPUPlace()).run(feed={"x": np.ones((4, 3), "float32")}, fetch_list=[y])
    assert seen.ended[0][1].error is raised.value


def test_files_tell_of_reads_waits_and_drops(tmp_path: Path) -> None:
    path = str(tmp_path / "a.recordio")
    with Writer(path, max_num_records=4) as writer:
        writer.write_block([np.arange(10, dtype="float32").reshape(10, 1)])
    source = fluid.layers.open_files([path], shapes=[[-1, 1]], lod_levels=[0], dtypes=["float32"])
    reader = fluid.layers.double_buffer(fluid.layers.batch(source, 4))
    fluid.layers.read_file(reader)
    exe = fluid.Executor(fluid.CPUPlace())
    with observing(Everything()) as seen:
        exe.run(fluid.default_startup_program())
        with pytest.warns(UserWarning, match="drops the last 2"):
            assert len(list(exe.epoch(reader=source))) == 2
    assert [(read.records, read.ended) for read in seen.reads] == [(4, False), (4, False), (0, True)]
    assert seen.reads[0].reader == seen.reads[0].chain[0] == source.name
    assert len(seen.reads[0].chain) == 3
    assert [drop.items for drop in seen.drops] == [2]
    assert {wait.queue for wait in seen.waits} == {source.name}
    assert isinstance(seen.ended[-1][1].error, fluid.core.EOFException)


def test_a_loader_tells_of_its_reads_and_its_queue() -> None:
    x = fluid.layers.data("x", [4])
    loader = fluid.io.DataLoader.from_generator([x], capacity=2, iterable=True)

    def source() -> Iterator[Any]:
        for _ in range(4):
            yield [np.zeros((2, 4), "float32")]

    loader.set_batch_generator(source, places=fluid.CPUPlace())
    with observing(Everything()) as seen:
        assert len(list(loader())) == 4
    assert [read.ended for read in seen.reads] == [False] * 4 + [True]


def test_both_sides_of_a_queue_tell_of_their_waits() -> None:
    epoch = Epoch("queue", 1)
    producer = threading.Thread(target=lambda: [epoch.put([]) for _ in range(3)])
    with observing(Everything()) as seen:
        producer.start()
        while not epoch.producers_waiting:
            time.sleep(0)
        assert [epoch.take() for _ in range(3)] == [[], [], []]
        producer.join()
        ending = threading.Thread(target=_finish_when_awaited, args=(epoch,))
        ending.start()
        assert epoch.take() is None
        ending.join()
    assert {wait.queue for wait in seen.waits} == {"queue"}
    assert {wait.side for wait in seen.waits} == {"producer", "consumer"}


def _finish_when_awaited(epoch: Epoch) -> None:
    while not epoch.consumers_waiting:
        time.sleep(0)
    epoch.finish()


def test_an_observer_hears_nothing_before_and_after() -> None:
    seen = Everything()
    y = fluid.layers.scale(fluid.layers.data("x", [3]), 2.0)
    exe = fluid.Executor(fluid.CPUPlace())
    feed = {"x": np.ones((4, 3), "float32")}
    exe.run(feed=feed, fetch_list=[y])
    with observing(seen):
        OBSERVERS.add(seen)
        exe.run(feed=feed, fetch_list=[y])
    exe.run(feed=feed, fetch_list=[y])
    assert len(seen.ended) == len(seen.ops) == 1
    assert not OBSERVERS.all and not OBSERVERS.of_ops

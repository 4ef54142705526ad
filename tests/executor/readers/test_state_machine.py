"""Any sequence of start, run, reset, rebuild and failure: no reader hangs, loses or doubles anything."""

from __future__ import annotations

import gc
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

import fluidio as fluid
from fluidio.testing import fresh
from tests.executor.readers.subjects import SLOTS, Subject, batches, loader, py_reader, write_files

layers = fluid.layers
COUNT = 13


def _chain(paths: list[str], kind: str) -> Any:
    if kind == "file":
        return layers.io.open_recordio_file(paths[0], **SLOTS)
    threads = 1 if kind in ("files", "preprocessed") else 2
    reader = layers.open_files(paths, thread_num=threads, pass_num=2 if kind == "passes" else 1, **SLOTS)
    if kind == "preprocessed":
        doubling = layers.io.Preprocessor(reader)
        with doubling.block():
            row, number = doubling.inputs()
            doubling.outputs(row * 2.0, number)
        return layers.double_buffer(doubling())
    if kind == "shuffled":
        reader = layers.shuffle(reader, 6)
    if kind != "files":
        reader = layers.batch(reader, 4, drop_last=False)
    return layers.double_buffer(reader) if kind in ("buffered", "shuffled") else reader


class Machine(RuleBasedStateMachine):
    """Drives a reader and compares it with a list and a position."""

    kind = "file"

    def __init__(self) -> None:
        super().__init__()
        self.guard = fresh()
        self.guard.__enter__()
        self.folder = tempfile.TemporaryDirectory()
        sizes = [COUNT] if self.kind == "file" else [5, 0, COUNT - 5]
        self.paths = write_files(Path(self.folder.name), sizes, chunk=3)
        self.passes = 2 if self.kind == "passes" else 1
        self.is_queue = self.kind in ("py_reader", "loader")
        self.fail_at: int | None = None
        self.build()

    def build(self) -> None:
        if self.kind == "py_reader":
            self.subject = Subject(lambda: py_reader("machine", capacity=2))
            self.subject.reader.decorate_batch_generator(self.generate)
        elif self.kind == "loader":
            self.subject = Subject(lambda: loader(capacity=2), read=False)
            self.subject.reader.set_batch_generator(self.generate)
        else:
            self.subject = Subject(lambda: _chain(self.paths, self.kind))
        self.running = not self.is_queue
        self.begin()

    def generate(self) -> Iterator[Any]:
        for number, item in enumerate(batches(range(COUNT))()):
            if number == self.fail_at:
                raise OSError("disk gone")
            yield item

    def begin(self) -> None:
        self.seen: list[int] = []
        self.ended = False

    @rule(times=st.integers(1, 6))
    def run(self, times: int) -> None:
        for _ in range(times):
            if not self.running:
                with pytest.raises(fluid.core.EnforceNotMet, match="not started"):
                    self.subject.step()
            elif self.is_queue and self.fail_at is not None and len(self.seen) == self.fail_at:
                with pytest.raises(fluid.core.EnforceNotMet, match="OSError: disk gone"):
                    self.subject.step()
            else:
                self.read_one()

    def read_one(self) -> None:
        item = self.subject.step()
        if item is None:
            assert sorted(self.seen) == sorted(list(range(COUNT)) * self.passes)
            self.ended = True
        else:
            assert not self.ended
            self.seen += item
            assert max(Counter(self.seen).values()) <= self.passes
            if self.kind in ("py_reader", "loader", "file", "files", "preprocessed"):
                assert self.seen == list(range(len(self.seen)))

    @rule()
    def reset(self) -> None:
        self.subject.reader.reset()
        self.running = not self.is_queue
        self.begin()

    @precondition(lambda self: self.is_queue)
    @rule(fail_at=st.none() | st.integers(0, COUNT - 1))
    def start(self, fail_at: int | None) -> None:
        failed = self.fail_at is not None and self.running and len(self.seen) == self.fail_at
        if self.running and not self.ended and not failed:
            with pytest.warns(UserWarning, match="running already"):
                self.subject.reader.start()
            return
        if failed:
            self.reset()
        self.fail_at = fail_at
        self.subject.reader.start()
        self.running = True
        self.begin()

    @rule()
    def rebuild(self) -> None:
        self.build()

    def teardown(self) -> None:
        self.subject.reader.reset()
        self.folder.cleanup()
        self.guard.__exit__(None, None, None)


@pytest.mark.parametrize(
    "kind",
    ["file", "files", "batched", "buffered", "shuffled", "passes", "preprocessed", "py_reader", "loader"],
)
def test_no_sequence_of_events_hangs_loses_or_doubles(kind: str) -> None:
    before = set(threading.enumerate())
    machine = type(f"Machine_{kind}", (Machine,), {"kind": kind})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_state_machine_as_test(machine, settings=settings(stateful_step_count=20))
    gc.collect()  # programs that were built again are cycles; with them go their readers
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert set(threading.enumerate()) <= before

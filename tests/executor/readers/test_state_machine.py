"""Any sequence of start, run, reset, rebuild and failure: no reader hangs, loses or doubles anything."""

from __future__ import annotations

import gc
import sys
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
from tests.executor.test_threads import at_once

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
            with pytest.warns(UserWarning, match="already running"):
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


class Crowd(Machine):
    """Four threads run the program at once; who gets which item is left to them."""

    @rule(times=st.integers(1, 4))
    def run(self, times: int) -> None:
        failing = self.is_queue and self.fail_at is not None
        results = at_once(lambda _: [self.try_one() for _ in range(times)], 4)
        errors = [str(got) for thread in results for got in thread if isinstance(got, Exception)]
        for thread in results:
            ends = [got is None for got in thread]
            assert ends == sorted(ends), "an item behind the end"
            self.seen += [number for got in thread if isinstance(got, list) for number in got]
        assert not self.seen or max(Counter(self.seen).values()) <= self.passes, "doubled"
        self.ended = self.ended or any(got is None for thread in results for got in thread)
        if not self.running:
            assert len(errors) == 4 * times and all("not started" in text for text in errors)
        elif failing and errors:
            assert all("OSError: disk gone" in text for text in errors)
            assert sorted(self.seen) == list(range(self.fail_at or 0)), "lost"
        else:
            assert not errors
            if self.ended:
                assert sorted(self.seen) == sorted(list(range(COUNT)) * self.passes), "lost"

    def try_one(self) -> list[int] | Exception | None:
        try:
            return self.subject.step()
        except fluid.core.EnforceNotMet as error:
            return error


KINDS = ["file", "files", "batched", "buffered", "shuffled", "passes", "preprocessed", "py_reader", "loader"]


@pytest.fixture
def crowded() -> Iterator[None]:
    """Let threads take turns every 20 microseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(2e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("kind", KINDS)
def test_no_sequence_of_events_hangs_loses_or_doubles(kind: str) -> None:
    drive(Machine, kind, settings(stateful_step_count=20))


@pytest.mark.parametrize("kind", KINDS)
def test_four_threads_that_share_a_program_lose_and_double_nothing(kind: str, crowded: None) -> None:
    drive(Crowd, kind, settings(stateful_step_count=12, max_examples=5, deadline=None))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
def test_four_threads_that_share_a_program_lose_and_double_nothing_for_long(kind: str, crowded: None) -> None:
    drive(Crowd, kind, settings(stateful_step_count=20, max_examples=100, deadline=None))


def drive(base: type[Machine], kind: str, given: settings) -> None:
    before = set(threading.enumerate())
    machine = type(f"{base.__name__}_{kind}", (base,), {"kind": kind})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_state_machine_as_test(machine, settings=given)
    gc.collect()  # programs that were built again are cycles; with them go their readers
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert set(threading.enumerate()) <= before

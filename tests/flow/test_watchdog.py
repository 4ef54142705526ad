"""A run that stands still says once who waits for whom; one that moves says nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.flow.thread_pool import ThreadPool
from fluidio.flow.threads import Channel
from fluidio.flow.watchdog import WATCHDOG, waiting


class Told:
    """What the watchdog says, and an event that it has spoken."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.event = threading.Event()

    def __call__(self, text: str) -> None:
        self.texts.append(text)
        self.event.set()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    heard = Told()
    monkeypatch.setattr(WATCHDOG, "say", heard)
    monkeypatch.setattr(WATCHDOG, "limit", 0.02)
    monkeypatch.setattr(WATCHDOG, "warned", False)
    monkeypatch.delenv("FLUIDIO_DEBUG", raising=False)
    return heard


def loop_over_a_stuck_generator(told: Told) -> None:
    x = fluid.layers.data("x", [4])
    loader = fluid.io.DataLoader.from_generator([x], capacity=2, iterable=True)

    def source() -> Iterator[Any]:
        yield [np.zeros((2, 4), "float32")]
        assert told.event.wait(30)
        yield [np.zeros((2, 4), "float32")]

    loader.set_batch_generator(source, places=fluid.CPUPlace())
    assert len(list(loader())) == 2


def test_a_stuck_generator_is_named_with_its_line_once(told: Told) -> None:
    loop_over_a_stuck_generator(told)
    (text,) = told.texts
    assert text.startswith(
        "fluidio: there has been no progress for 0 s. Who waits for whom:\n  MainThread waits for an item of"
    )
    assert "test_watchdog.py" in text and "in source: assert told.event.wait(30)" in text
    assert "FLUIDIO_WATCHDOG=SECONDS" in text and "stack of" not in text
    loop_over_a_stuck_generator(told)
    assert len(told.texts) == 1
    assert not WATCHDOG.waits


def test_debug_adds_the_stacks_of_all_threads(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUIDIO_DEBUG", "1")
    loop_over_a_stuck_generator(told)
    assert "stack of MainThread:" in told.texts[0] and "stack of fluidio-feed-" in told.texts[0]


def test_it_can_be_turned_off(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WATCHDOG, "limit", 0.0)
    with waiting("godot") as wait:
        wait.since -= 3600
        wait.look()
    assert told.texts == []


def test_a_wait_while_steps_end_is_not_told(told: Told) -> None:
    with waiting("an item") as wait:
        wait.since -= 3600
        WATCHDOG.steps += 1
        wait.look()
        assert told.texts == []
        wait.since -= 3600
        wait.look()
    assert len(told.texts) == 1


def test_a_chain_of_waits_names_each_thread_and_what_is_busy(told: Told) -> None:
    first: Channel[int] = Channel("first", 1)
    second: Channel[int] = Channel("second", 1)

    def pass_on() -> None:
        second.put(first.take()[0])

    def make() -> None:
        assert told.event.wait(30)
        first.put(1)

    threads = [threading.Thread(target=pass_on, name="middle"), threading.Thread(target=make, name="maker")]
    first.threads, second.threads = [threads[1]], [threads[0]]
    for thread in threads:
        thread.start()
    assert second.take() == [1]
    for thread in threads:
        thread.join()
    assert "maker, which brings an item of first, is busy, at " in told.texts[0]
    assert "in make: assert told.event.wait(30)" in told.texts[0]


def test_waiting_for_a_chunk_is_told(told: Told) -> None:
    pool: ThreadPool[int] = ThreadPool("files", 1)
    started = threading.Event()

    def job() -> int:
        started.set()
        assert told.event.wait(30)
        return 7

    read = pool.submit(job)
    assert started.wait(30)
    assert pool.result(read) == 7
    pool.stop()
    assert "MainThread waits for a chunk of reader files" in told.texts[0]


def test_a_reader_that_nobody_pushes_to_is_told(told: Told) -> None:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        reader: Any = fluid.layers.py_reader(2, [[-1, 4]], ["float32"])
        fluid.layers.read_file(reader)
    queue = reader.queue

    def push() -> None:
        assert told.event.wait(30)
        queue.push([np.zeros((2, 4), "float32")])
        queue.close()

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    thread = threading.Thread(target=push)
    thread.start()
    exe.run(main)
    thread.join()
    assert "somebody to push the first item into the queue" in told.texts[0]
    queue.reset()

"""Copies to a GPU are told to whoever watches, with the times at which they really happened."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from fluidio.flow.observer import Copy, Observer, observing
from fluidio.pages.recorder import Recorder
from tests.gpu.readers import batch, buffered

pytestmark = pytest.mark.gpu


class Copies(Observer):
    def __init__(self) -> None:
        self.seen: list[Copy] = []

    def copy_ended(self, copy: Copy) -> None:
        self.seen.append(copy)


def _read_all(sim: Any, count: int) -> None:
    reader = buffered(lambda: iter([batch(n) for n in range(count)]), 0, 3)
    try:
        while (tensors := reader.read_next()) is not None:
            float(tensors[0][0].sum().get())
        sim.drain()
    finally:
        reader.shutdown()


def test_each_copy_is_told_once_in_order_and_within_the_run(sim: Any, cupy: Any) -> None:
    sim.delays(copy=500)
    began = time.perf_counter()
    with observing(Copies()) as copies:
        _read_all(sim, 8)
    ended = time.perf_counter()
    size = sum(np.asarray(array).nbytes for array, _ in batch(0))
    assert len(copies.seen) == 8
    assert all(copy.device == 0 and copy.size >= size for copy in copies.seen)
    assert all(copy.stop - copy.start >= 0.0004 for copy in copies.seen)
    times = [moment for copy in copies.seen for moment in (copy.start, copy.stop)]
    assert times == sorted(times)
    assert began - 0.01 <= times[0] and times[-1] <= ended + 0.01


def test_nothing_is_timed_while_nobody_watches(sim: Any, cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy.cuda, "get_elapsed_time", lambda *_: pytest.fail("a copy was timed"))
    _read_all(sim, 4)


def test_the_page_of_a_run_has_a_lane_for_the_copies(sim: Any, cupy: Any) -> None:
    recorder = Recorder(times_ops=False)
    recorder.start()
    try:
        _read_all(sim, 4)
    finally:
        recorder.stop()
    told = recorder.as_json()
    assert [event[0] for event in told["events"] if event[1] == "copy"] == ["copies to GPU 0"] * 4
    assert sum(told["time"]["lanes"]["copied"]) >= 4 * np.asarray(batch(0)[0][0]).nbytes

"""Counters, the timeline, delays and schedules."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from tests import cudasim

_needs_cupy = pytest.mark.gpu


def _span(start: float, end: float, kind: str = "kernel") -> cudasim.Span:
    return cudasim.Span(kind, "x", 8, 0, 0, start, end)


def test_hidden_counts_each_moment_once() -> None:
    copies = [_span(0, 10, "h2d")]
    assert cudasim.hidden(copies, [_span(0, 4), _span(2, 5), _span(8, 20)]) == pytest.approx(0.7)
    assert cudasim.hidden(copies, []) == 0
    assert cudasim.hidden([], [_span(0, 1)]) == 0


@_needs_cupy
def test_counters_tell_copies_launches_and_waits(cupy: Any) -> None:
    x = cupy.asarray(np.zeros(4, "float32"))
    (x + 1).get()
    cudasim.reset()
    x = cupy.empty(4, "float32")
    x.set(np.zeros(4, "float32"))
    y = x + 1
    y.get()
    found = cudasim.counters()
    assert (found["h2d"], found["d2h"], found["launch"]) == (1, 1, 1)
    assert (found["h2d_bytes"], found["d2h_bytes"]) == (16, 16)
    assert found["blocking_copy"] + found["stream_sync"] >= 1


@_needs_cupy
def test_only_pinned_memory_makes_an_asynchronous_copy(cupy: Any) -> None:
    stream, device = cupy.cuda.Stream(non_blocking=True), cupy.empty(4, "float32")
    device.set(np.zeros(4, "float32"), stream=stream)
    assert cudasim.counters()["pageable_async"] == 1
    cudasim.reset()
    device.set(np.frombuffer(cupy.cuda.alloc_pinned_memory(16), "float32", 4), stream=stream)
    assert cudasim.counters()["pageable_async"] == 0


@_needs_cupy
def test_memory_streams_and_events_are_counted_while_they_live(cupy: Any) -> None:
    before = cudasim.counters()
    memory, stream, event = cupy.cuda.Memory(1000), cupy.cuda.Stream(), cupy.cuda.Event()
    during = cudasim.counters()
    assert [during[k] - before[k] for k in ("device_bytes", "streams", "events")] == [1000, 1, 1]
    del memory, stream, event
    assert [cudasim.counters()[k] - before[k] for k in ("device_bytes", "streams", "events")] == [0, 0, 0]


@_needs_cupy
def test_lazy_schedule_runs_nothing_before_somebody_waits(cupy: Any) -> None:
    cudasim.schedule("lazy")
    stream = cupy.cuda.Stream(non_blocking=True)
    seen: list[int] = []
    stream.launch_host_func(seen.append, 1)
    event = stream.record()
    assert seen == []
    event.synchronize()
    assert seen == [1]


@_needs_cupy
def test_lazy_schedule_wakes_the_streams_that_are_waited_for(cupy: Any) -> None:
    cudasim.schedule("lazy")
    first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    seen: list[int] = []
    first.launch_host_func(seen.append, 1)
    second.wait_event(first.record())
    second.launch_host_func(seen.append, 2)
    second.synchronize()
    assert seen == [1, 2]


@_needs_cupy
def test_copies_and_kernels_of_two_streams_overlap(cupy: Any) -> None:
    x, y = cupy.zeros(4, "float32"), cupy.empty(4, "float32")
    _ = x + 1
    copying = cupy.cuda.Stream(non_blocking=True)
    host = np.frombuffer(cupy.cuda.alloc_pinned_memory(16), "float32", 4)
    best = 0.0
    for _ in range(5):  # a busy machine can spoil a run
        cudasim.reset()
        cudasim.delays(copy=3000, kernel=3000)
        for _ in range(4):
            y.set(host, stream=copying)
            _ = x + 1
        cudasim.drain()
        spans = cudasim.timeline()
        copies, kernels = ([s for s in spans if s.kind == kind] for kind in ("h2d", "kernel"))
        assert len(copies) == len(kernels) == 4
        assert all(span.seconds >= 0.003 for span in copies + kernels)
        best = max(best, cudasim.hidden(copies, kernels))
    assert best > 0.5


@_needs_cupy
def test_a_reset_keeps_the_random_delays_of_the_test(cupy: Any) -> None:
    x = cupy.zeros(4, "float32")
    _ = x + 1
    cudasim.usual_delays(jitter=20_000, seed=5)
    cudasim.reset()
    for _ in range(40):
        _ = x + 1
    cudasim.drain()
    assert sum(s.seconds for s in cudasim.timeline() if s.kind == "kernel") > 0.03  # ten of them, up to 20 ms each


@_needs_cupy
def test_waits_of_the_host_carry_their_thread(cupy: Any) -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    cudasim.reset()
    thread = threading.Thread(target=stream.synchronize)
    thread.start()
    ident = thread.ident
    thread.join()
    assert [(s.name, s.thread) for s in cudasim.timeline() if s.kind == "sync"] == [("streamSynchronize", ident)]


@_needs_cupy
def test_elapsed_time_includes_the_delay(cupy: Any) -> None:
    x = cupy.zeros(4, "float32")
    _ = x + 1
    cudasim.delays(kernel=2000)
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    _ = x + 1
    end.record()
    end.synchronize()
    assert cupy.cuda.get_elapsed_time(start, end) >= 2

"""Each classic ordering bug is flagged, whatever the timing; the correct code beside it is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests import cudasim

pytestmark = pytest.mark.gpu
_N = 4096
SCHEDULES = ("eager", "slow copies", "slow kernels", "jitter", "lazy")


@pytest.fixture(params=SCHEDULES)
def schedule(cupy: Any, request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test in each schedule, after the kernels it needs have been compiled."""
    x = cupy.zeros(_N, "float32") + 1
    (x * 2).get()
    cudasim.reset()
    match request.param:
        case "slow copies":
            cudasim.delays(copy=2000)
        case "slow kernels":
            cudasim.delays(kernel=2000)
        case "jitter":
            cudasim.delays(jitter=1000, seed=7)
        case "lazy":
            cudasim.schedule("lazy")
    yield request.param


def _pinned(cupy: Any, value: float) -> Any:
    array = np.frombuffer(cupy.cuda.alloc_pinned_memory(4 * _N), "float32", _N)
    array[:] = value
    return array


def _streams(cupy: Any) -> tuple[Any, Any]:
    return cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)


def _seen(kind: str) -> bool:
    """Wait for everything, tell whether such a violation was seen, and start afresh."""
    cudasim.drain()
    found = cudasim.violations()
    cudasim.reset()
    return any(text.startswith(kind + ":") for text in found)


@pytest.mark.parametrize("bug", [False, True])
def test_kernel_that_does_not_wait_for_its_copy(cupy: Any, schedule: str, bug: bool) -> None:
    copying, computing = _streams(cupy)
    device, host = cupy.empty(_N, "float32"), _pinned(cupy, 1)
    device.set(host, stream=copying)
    if not bug:
        computing.wait_event(copying.record())
    with computing:
        _ = device * 2
    assert _seen("race") is bug


@pytest.mark.parametrize("bug", [False, True])
def test_slot_overwritten_while_a_kernel_may_read_it(cupy: Any, schedule: str, bug: bool) -> None:
    copying, computing = _streams(cupy)
    device, first, second = cupy.empty(_N, "float32"), _pinned(cupy, 1), _pinned(cupy, 2)
    device.set(first, stream=copying)
    computing.wait_event(copying.record())
    with computing:
        _ = device * 2
        released = computing.record()
    if not bug:
        copying.wait_event(released)
    device.set(second, stream=copying)
    assert _seen("race") is bug


@pytest.mark.parametrize("bug", [False, True])
def test_pinned_slot_refilled_under_its_copy(cupy: Any, bug: bool) -> None:
    cudasim.schedule("lazy")  # the copy runs only when somebody waits: no luck with timing
    copying, _ = _streams(cupy)
    device, host = cupy.empty(_N, "float32"), _pinned(cupy, 1)
    device.set(host, stream=copying)
    if not bug:
        copying.record().synchronize()
    host[:] = 2
    assert _seen("pinned-overwrite") is bug


def test_pinned_memory_given_back_under_its_copy(cupy: Any) -> None:
    cudasim.schedule("lazy")
    copying, _ = _streams(cupy)
    device, host = cupy.empty(_N, "float32"), _pinned(cupy, 1)
    device.set(host, stream=copying)
    del host  # back in the pool, which hands the same memory out again
    other = _pinned(cupy, 7)
    assert _seen("pinned-overwrite")
    assert other[0] == 7


@pytest.mark.parametrize("bug", [False, True])
def test_pool_memory_reused_while_another_stream_reads_it(cupy: Any, schedule: str, bug: bool) -> None:
    owner, reader = _streams(cupy)
    with owner:
        first = cupy.zeros(_N, "float32")
    reader.wait_event(owner.record())
    with reader:
        _ = first * 2
        read = reader.record()
    address = first.data.ptr
    del first  # free for the owner's stream at once; CuPy knows nothing of the reader
    if not bug:
        owner.wait_event(read)
    with owner:
        second = cupy.zeros(_N, "float32")
    assert second.data.ptr == address
    assert _seen("race") is bug


@pytest.mark.parametrize("bug", [False, True])
def test_result_read_before_its_copy_has_arrived(cupy: Any, bug: bool) -> None:
    cudasim.schedule("lazy")
    stream, _ = _streams(cupy)
    with stream:
        device = cupy.zeros(_N, "float32") + 5
    host = _pinned(cupy, 5)
    device.get(stream=stream, out=host, blocking=False)
    if not bug:
        stream.record().synchronize()
    assert (host[0] == 5) is np.bool_(not bug)  # poisoned until the copy has run
    cudasim.drain()
    assert host[0] == 5


@pytest.mark.parametrize("non_blocking", [False, True])
def test_the_default_stream_orders_blocking_streams_only(cupy: Any, schedule: str, non_blocking: bool) -> None:
    stream = cupy.cuda.Stream(non_blocking=non_blocking)
    x = cupy.zeros(_N, "float32")
    with stream:
        _ = x * 2
    assert _seen("race") is non_blocking


def test_one_stream_is_always_in_order(cupy: Any, schedule: str) -> None:
    x = cupy.zeros(_N, "float32")
    for _ in range(5):
        x += 1
    assert x.get()[0] == 5
    assert not _seen("race")


def test_two_readers_are_no_race(cupy: Any, schedule: str) -> None:
    first, second = _streams(cupy)
    x = cupy.zeros(_N, "float32")
    cupy.cuda.get_current_stream().synchronize()
    with first:
        _ = x * 2
    with second:
        _ = x * 2
    assert not _seen("race")


def test_parts_of_one_block_are_apart(cupy: Any, schedule: str) -> None:
    first, second = _streams(cupy)
    x = cupy.zeros(_N, "float32")
    cupy.cuda.get_current_stream().synchronize()
    with first:
        x[: _N // 2] *= 2
    with second:
        x[_N // 2 :] *= 2
    assert not _seen("race")


def test_strided_views_are_followed_to_their_last_byte(cupy: Any, schedule: str) -> None:
    first, second = _streams(cupy)
    x = cupy.zeros((4, _N // 4), "float32")
    cupy.cuda.get_current_stream().synchronize()
    with first:
        x[:, 0] *= 2  # 4 numbers, but they reach into the last row
    with second:
        x[3] *= 2
    assert _seen("race")


def test_event_recorded_on_a_stream_of_another_device(cupy: Any) -> None:
    event = cupy.cuda.Event(disable_timing=True)
    with cupy.cuda.Device(1):
        other = cupy.cuda.Stream(non_blocking=True)
        with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="InvalidResourceHandle"):
            event.record(other)
    assert _seen("wrong-device")


def test_copy_beyond_the_end_of_a_block(cupy: Any) -> None:
    cudasim.schedule("lazy")
    memory = cupy.cuda.memory.Memory(512)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.runtime.memsetAsync(memory.ptr + 256, 0, 256, stream.ptr)
    assert not _seen("out-of-bounds")
    tail = cupy.ndarray(128, "float32", cupy.cuda.MemoryPointer(memory, 256))
    cupy.cuda.runtime.memcpyAsync(memory.ptr, tail.data.ptr, 257, 3, stream.ptr)
    assert _seen("out-of-bounds")


def test_host_pointer_given_to_a_device_copy(cupy: Any) -> None:
    host, device = np.zeros(4, "float32"), cupy.zeros(4, "float32")
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="InvalidValue"):
        cupy.cuda.runtime.memcpy(device.data.ptr, host.ctypes.data, 16, 3)
    assert _seen("wrong-side")


def test_double_free(cupy: Any) -> None:
    pointer = cupy.cuda.runtime.malloc(64)
    cupy.cuda.runtime.free(pointer)
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="InvalidValue"):
        cupy.cuda.runtime.free(pointer)
    assert _seen("bad-free")

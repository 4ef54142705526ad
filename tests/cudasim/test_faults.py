"""Memory that runs out, and copies and launches that fail when told to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import cudasim

pytestmark = pytest.mark.gpu


def test_device_memory_runs_out_at_its_limit(cupy: Any) -> None:
    cudasim.leave_memory(1 << 20)
    with cupy.cuda.using_allocator(cupy.cuda.MemoryPool().malloc):  # one that keeps no blocks of earlier tests
        cupy.empty(1 << 18, "uint8")
        with pytest.raises(cupy.cuda.memory.OutOfMemoryError):
            cupy.empty(1 << 21, "uint8")
    assert cupy.cuda.runtime.memGetInfo()[1] < 1 << 30


def test_each_device_has_its_own_limit(cupy: Any) -> None:
    cudasim.leave_memory(1, device=1)
    with cupy.cuda.using_allocator(cupy.cuda.MemoryPool().malloc):
        cupy.empty(4096, "uint8")
        with cupy.cuda.Device(1), pytest.raises(cupy.cuda.memory.OutOfMemoryError):
            cupy.empty(1 << 22, "uint8")


def test_pinned_memory_can_be_refused(cupy: Any) -> None:
    cudasim.fail("host_alloc", error=2)
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="MemoryAllocation"):
        cupy.cuda.runtime.hostAlloc(64, 0)
    cupy.cuda.runtime.freeHost(cupy.cuda.runtime.hostAlloc(64, 0))


def test_copy_fails_after_so_many_good_ones(cupy: Any) -> None:
    host, device = np.zeros(4, "float32"), cupy.empty(4, "float32")
    cudasim.fail("h2d", after=2)
    device.set(host)
    device.set(host)
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="LaunchFailure"):
        device.set(host)
    device.set(host)


def test_deferred_fault_comes_out_of_the_next_wait(cupy: Any) -> None:
    host, device = np.zeros(4, "float32"), cupy.empty(4, "float32")
    stream = cupy.cuda.Stream(non_blocking=True)
    cudasim.fail("h2d", deferred=True)
    device.set(host, stream=stream)
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="LaunchFailure"):
        stream.synchronize()


def test_download_fails(cupy: Any) -> None:
    device = cupy.zeros(4, "float32")
    cudasim.fail("d2h")
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="LaunchFailure"):
        device.get()


def test_launch_fails(cupy: Any) -> None:
    device = cupy.zeros(4, "float32")
    _ = device + 1
    cudasim.fail("launch", error=700)
    with pytest.raises(cupy.cuda.driver.CUDADriverError):
        _ = device + 1
    assert (device + 1).get().tolist() == [1, 1, 1, 1]


def test_fresh_and_freed_memory_is_poisoned(cupy: Any) -> None:
    with cupy.cuda.using_allocator(None):  # no pool: every array is a block of its own
        assert set(cupy.empty(64, "uint8").get().tolist()) == {0xDB}
    assert set(np.frombuffer(cupy.cuda.PinnedMemoryPointer(cupy.cuda.PinnedMemory(64), 0), "uint8", 64)) == {0xCB}

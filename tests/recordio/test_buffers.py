"""Memory that is used again, and never while somebody still looks at it."""

from __future__ import annotations

import os

import numpy as np
import pytest

from fluidio.recordio.decode.buffers import Buffer, Pool

BIG = 1 << 20


def address(view: memoryview) -> int:
    return int(np.frombuffer(view, np.uint8).__array_interface__["data"][0])


def test_large_buffers_start_on_a_page() -> None:
    assert address(Buffer().view(BIG)) % 4096 == 0
    assert address(Pool().view(BIG)) % 4096 == 0


def test_a_buffer_comes_back_when_its_last_slice_is_gone() -> None:
    pool = Pool()
    view = pool.view(BIG)
    first = address(view)
    part = view[5:9]
    del view
    assert address(pool.view(BIG)) != first
    del part
    assert first in [address(view) for view in [pool.view(BIG), pool.view(BIG)]]


def test_a_view_of_an_array_keeps_its_memory() -> None:
    pool = Pool()
    array = pool.array((1024, 256), np.float32)
    array[:] = 7
    row = array.reshape(-1).view(np.int32).reshape(256, 1024)[3]
    del array
    pool.array((1024, 256), np.float32)[:] = 0
    assert row.view(np.float32).tolist() == [7.0] * 1024


def test_small_ones_take_what_they_need() -> None:
    pool = Pool()
    views = [pool.view(100) for _ in range(10)]
    assert [len(view) for view in views] == [100] * 10
    assert pool.largest == 100


def test_a_pool_keeps_little_for_later() -> None:
    pool = Pool()
    del (views := [pool.view(100 * BIG) for _ in range(3)])[:]
    assert not views
    assert len(pool._free) == 1
    assert not pool._leased


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process")  # it has threads: the child leaves at once
def test_a_forked_process_writes_into_memory_of_its_own() -> None:
    pool = Pool()
    ours = pool.array((BIG,), np.uint8)
    ours[:] = 1
    child = os.fork()
    if not child:
        ours[:] = 2
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert set(ours.tolist()) == {1}

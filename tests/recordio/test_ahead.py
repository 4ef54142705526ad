"""Reading ahead on threads, and forks in the midst of it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio import recordio
from fluidio.flow.thread_pool import ThreadPool
from fluidio.recordio.files.ahead import ReadAhead

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:This process"),  # it has threads, which is what this is about
]


@pytest.fixture
def pool() -> Iterator[ThreadPool[Any]]:
    found: ThreadPool[Any] = ThreadPool("ahead", 1)
    yield found
    found.stop()


def test_a_forked_process_does_not_wait_for_work_of_its_parent(pool: ThreadPool[Any]) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def load(offset: int) -> int:
        begun.set()
        may_end.wait(20)
        return offset

    ahead = ReadAhead(pool, load, lambda offset: offset + 1 if offset < 3 else None)
    ahead.go_on(0)
    assert begun.wait(20)
    child = os.fork()
    if not child:
        signal.alarm(20)
        code = 1
        try:
            code = 0 if ahead.take(0) is None else 2
            ahead.stop()
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    may_end.set()
    assert (status, ahead.take(0)) == (0, 0)
    ahead.stop()


def test_a_forked_process_reads_on_without_the_helpers(tmp_path: Path) -> None:
    path = str(tmp_path / "numbers.recordio")
    with recordio.Writer(path, "none", max_num_records=10) as writer:
        writer.write_block([np.arange(40_000, dtype=np.int64).reshape(1000, 40)])
    batches = recordio.iter_batches(path, 7, threads=1)
    before = len(next(batches)[0])
    child = os.fork()
    if not child:
        signal.alarm(20)
        code = 1
        try:
            code = 0 if before + sum(len(batch[0]) for batch in batches) == 1000 else 2
        finally:
            os._exit(code)
    assert before + sum(len(batch[0]) for batch in batches) == 1000
    assert os.waitpid(child, 0)[1] == 0


def test_a_reader_who_would_wait_reads_what_no_helper_has_begun(pool: ThreadPool[Any]) -> None:
    begun, others, loaded = threading.Event(), threading.Event(), []

    def load(offset: int) -> int:
        if not offset:
            begun.set()
            assert others.wait(20)
            return offset
        assert threading.current_thread() is threading.main_thread()
        loaded.append(offset)
        if len(loaded) == 2:
            others.set()
            first.result(20)
        return offset

    ahead = ReadAhead(pool, load, lambda offset: offset + (1 << 20) if offset < 9 << 20 else None)
    ahead.go_on(0)
    first = ahead._pending[0].job
    assert begun.wait(20)
    assert ahead.take(0) == 0
    assert loaded == [1 << 20, 2 << 20]
    assert [ahead.take(1 << 20), ahead.take(2 << 20), len(loaded)] == [1 << 20, 2 << 20, 2]
    ahead.stop()

"""The engine under all readers: whatever the threads do, records and errors come as they would without them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio import recordio
from fluidio.errors import RecordIOError
from fluidio.recordio import BlockReader, Column, Writer
from fluidio.recordio.blocks.engine import Engine
from fluidio.recordio.blocks.lane import Lane
from fluidio.recordio.blocks.rotation import Rotation
from fluidio.recordio.decode import direct
from fluidio.recordio.decode.block_reader import Loaded
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.spans import gather
from fluidio.recordio.files.batches import iter_blocks
from fluidio.recordio.format.chunks import OnError

fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
forked_threads = pytest.mark.filterwarnings("ignore:This process")  # it has threads, which is what this is about


def numbered(path: Path, count: int, chunk: int, first: int = 0, compressor: str = "snappy") -> str:
    with Writer(path, compressor, chunk) as writer:
        writer.write_block([np.arange(first, first + count).reshape(-1, 1)])
    return str(path)


def lanes(paths: list[str], on_error: OnError = "raise") -> list[Lane]:
    return [Lane(path, partial(BlockReader, path, on_error=on_error)) for path in paths]


def drain(engine: Engine) -> list[int]:
    """Return the numbers to the end, and close."""
    found: list[int] = []
    try:
        while (part := engine.next()) is not None:
            found += gather([part], Pool()).columns[0].data.ravel().tolist()
    finally:
        engine.stop()
    return found


def outcome(make: Callable[[], Engine]) -> tuple[list[int], str]:
    """Return the numbers before the end or an error, and the error."""
    engine = make()
    found: list[int] = []
    try:
        while (part := engine.next()) is not None:
            found += gather([part], Pool()).columns[0].data.ravel().tolist()
    except RecordIOError as error:
        return found, str(error)
    finally:
        engine.stop()
    return found, ""


def begun(paths: list[str], threads: int, active: int, on_error: OnError = "raise") -> Engine:
    engine = Engine("numbers", threads)
    engine.begin(lanes(paths, on_error), active)
    return engine


@pytest.mark.parametrize("active", [1, 2, 3, 9])
@pytest.mark.parametrize("threads", [0, 1, 3])
def test_a_chunk_of_each_active_file_comes_in_turn_whatever_the_threads(
    tmp_path: Path, active: int, threads: int
) -> None:
    sizes = [7, 0, 23, 4, 12, 1]
    paths = [numbered(tmp_path / f"{n}", size, 4, 100 * n) for n, size in enumerate(sizes)]
    chunks = [
        [list(range(100 * n, 100 * n + size))[at : at + 4] for at in range(0, size, 4)] for n, size in enumerate(sizes)
    ]
    rotation, expected = Rotation(chunks, active), list[int]()
    while rotation.turn:
        file = rotation.turn[0]
        rotation.advance(not file)
        expected += file.pop(0) if file else []
    assert drain(begun(paths, threads, active)) == expected


@pytest.mark.parametrize("place", range(4, 60))
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_damage_is_found_in_the_same_place_with_threads(tmp_path: Path, place: int, on_error: OnError) -> None:
    paths = [numbered(tmp_path / name, 60, 7, first) for first, name in enumerate("abc")]
    data = bytearray(Path(paths[1]).read_bytes())
    data[len(data) * place // 60] ^= 0x10
    Path(paths[1]).write_bytes(data)
    for active in (1, 3):
        with_threads, alone = (outcome(partial(begun, paths, n, active, on_error)) for n in (2, 0))
        assert with_threads == alone


@pytest.mark.parametrize(("size", "helped"), [(100, False), (8000, True)])
def test_without_the_c_threads_read_records_of_different_lengths_only_if_they_are_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, helped: bool
) -> None:
    monkeypatch.setattr(direct, "serves", lambda source: False)
    path = tmp_path / "a"
    offsets = np.arange(31) * size + np.arange(31) % 2  # lengths go up and down
    with Writer(path, "none", 10) as writer:
        writer.write_block([Column(np.zeros((offsets[-1], 1), np.uint8), offsets, (offsets,))])
    blocks = iter_blocks(path, threads=2)
    count = len(next(blocks))
    assert any("fluidio-recordio" in thread.name for thread in threading.enumerate()) == helped
    assert count + sum(map(len, blocks)) == 30


def test_a_consumer_that_would_wait_reads_what_no_thread_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    with Writer(path, "none", 1) as writer:
        writer.write_block([np.zeros((9, 1 << 19), np.float32) + np.arange(9, dtype=np.float32)[:, None]])
    begun, others, alone = threading.Event(), threading.Event(), list[int]()
    load = Lane.load

    def slow(self: Lane, offset: int, batch: int) -> Loaded | None:
        if not offset:
            begun.set()
            assert others.wait(20)
        else:
            assert threading.current_thread() is threading.main_thread()
            alone.append(offset)
            if len(alone) == 2:
                others.set()
                assert engine._works[0].job.exception(20) is None
        return load(self, offset, batch)

    monkeypatch.setattr(Lane, "load", slow)
    engine = Engine("numbers", 1)
    engine.begin(lanes([str(path)]))
    assert begun.wait(20)
    part = engine.next()
    monkeypatch.setattr(Lane, "load", load)
    assert part is not None
    assert len(alone) == 2
    assert drain(engine)[:: 1 << 19] == list(range(1, 9))


@fork
@forked_threads
def test_a_forked_process_reads_on_without_the_threads(tmp_path: Path) -> None:
    path = numbered(tmp_path / "numbers", 1000, 10, compressor="none")
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


def test_many_small_files_are_not_all_open_at_once(tmp_path: Path) -> None:
    paths = [numbered(tmp_path / f"{n:03}", 3, 3, 3 * n) for n in range(200)]
    engine = begun(paths, 2, 1)
    opened = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert drain(engine) == list(range(600))
    if opened:
        assert opened - len(os.listdir("/proc/self/fd")) <= 20


@pytest.mark.parametrize("threads", [0, 2])
def test_chunks_in_random_order_come_the_same_with_threads(tmp_path: Path, threads: int) -> None:
    paths = [numbered(tmp_path / name, 60, 7, 100 * first) for first, name in enumerate("abc")]
    options: dict[str, Any] = {"shuffle": True, "seed": 3, "drop_last": False}
    found, again = (
        [int(n) for (batch,) in recordio.iter_batches(paths, 8, threads=count, **options) for n in batch.ravel()]
        for count in (threads, 1)
    )
    assert found == again
    assert sorted(found) == [100 * first + n for first in range(3) for n in range(60)]

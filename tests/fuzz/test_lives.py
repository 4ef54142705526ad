"""Many lives of readers: four threads that hardly get a turn, stops in the middle, and every record once."""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fluidio.executor.readers.base import Reader
from fluidio.executor.readers.batch import Batch
from fluidio.executor.readers.double_buffer import double_buffer
from fluidio.executor.readers.open_files import OpenFiles
from fluidio.executor.readers.shuffle import Shuffle
from fluidio.recordio import Writer

FILES, RECORDS = 4, 25


@pytest.fixture(autouse=True)
def _crowded() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(2e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    found = [str(tmp_path / f"{number}") for number in range(FILES)]
    for number, path in enumerate(found):
        with Writer(path, "snappy", 4) as writer:
            writer.write_block([np.arange(number * RECORDS, (number + 1) * RECORDS)[:, None]])
    return found


def chain(paths: list[str], chance: random.Random) -> Reader:
    """Return some decorators on some files."""
    reader: Reader = OpenFiles(
        "files", paths, chance.randint(1, 4), chance.random() < 0.7, arrival=chance.random() < 0.2
    )
    if chance.random() < 0.7:
        reader = Shuffle("shuffle", reader, chance.randint(1, 60), chance.randint(0, 9), ())
    reader = Batch("batch", reader, chance.randint(1, 9), False, ())
    return double_buffer("buffer", reader) if chance.random() < 0.8 else reader


def drain(reader: Reader, threads: int, most: int | None) -> list[int]:
    """Read with several threads, to the end or until each has so many items."""
    found: list[int] = []
    errors: list[BaseException] = []

    def read() -> None:
        try:
            left = most
            while left is None or left > 0:
                item = reader.read_next()
                if item is None:
                    return
                found.extend(item[0][0].reshape(-1).tolist())
                left = None if left is None else left - 1
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=read) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    return found


def live(paths: list[str], seed: int) -> None:
    """Live one life: some epochs, some of them broken off, then the end."""
    chance = random.Random(seed)
    reader = chain(paths, chance)
    try:
        for _ in range(chance.randint(1, 3)):
            whole = chance.random() < 0.6
            found = drain(reader, chance.randint(1, 4), None if whole else chance.randint(0, 2))
            assert len(set(found)) == len(found), "doubled"
            assert not whole or sorted(found) == list(range(FILES * RECORDS)), "lost"
            reader.reset()
    finally:
        reader.shutdown()


def test_some_lives_leave_nothing_behind(paths: list[str]) -> None:
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for seed in range(60):
        live(paths, seed)
    assert not descriptors or len(os.listdir("/proc/self/fd")) <= descriptors


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_lives_leave_nothing_behind(paths: list[str]) -> None:
    for seed in range(5000):
        live(paths, seed)

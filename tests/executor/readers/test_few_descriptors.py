"""Many files and few descriptors: every record comes, in the same order as ever."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fluidio.errors import RecordIOError
from fluidio.executor.readers.open_files import OpenFiles
from fluidio.recordio import BlockReader, Writer

resource = pytest.importorskip("resource", reason="no limits on descriptors here")
FILES, CHUNKS = 150, 3


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    found = [str(tmp_path / f"{number:03d}") for number in range(FILES)]
    for number, path in enumerate(found):
        with Writer(path, "none", 2) as writer:
            writer.write_block([np.arange(number * 10, number * 10 + 2 * CHUNKS)[:, None]])
    return found


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 40
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 60, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def numbers(paths: list[str], threads: int) -> list[int]:
    reader = OpenFiles("files", paths, threads, side_by_side=True)
    try:
        found: list[int] = []
        while (item := reader.read_next()) is not None:
            found += item[0][0].reshape(-1).tolist()
        return found
    finally:
        reader.shutdown()


@pytest.mark.parametrize("threads", [1, 4, FILES])
def test_the_order_is_that_of_a_process_with_many(
    paths: list[str], threads: int, request: pytest.FixtureRequest
) -> None:
    expected = numbers(paths, threads)
    assert sorted(expected) == sorted(n * 10 + i for n in range(FILES) for i in range(2 * CHUNKS))
    request.getfixturevalue("few_descriptors")
    assert numbers(paths, threads) == expected


def test_a_file_that_was_replaced_is_noticed(paths: list[str]) -> None:
    with BlockReader(paths[0]) as reader:
        assert reader.read() is not None
        reader.park()
        os.replace(paths[1], paths[0])
        with pytest.raises(RecordIOError, match="was replaced while it was being read"):
            reader.read()

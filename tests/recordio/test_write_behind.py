"""Large blocks are written by a helper thread: same bytes, same promises."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from fluidio.recordio import BlockReader, Column, Writer
from tests.recordio.test_writer import read


def large_block() -> list[Column]:
    """Return 4500 records, 14 MB: enough for the helper thread that writes."""
    numbers = np.arange(4500, dtype=np.int64).reshape(-1, 1)
    return [Column(np.repeat(numbers.astype(np.float32), 784, axis=1)), Column(numbers)]


@pytest.mark.parametrize("compressor", ["none", "snappy"])
def test_a_large_block_is_written_behind_and_complete_when_the_call_returns(tmp_path: Path, compressor: str) -> None:
    block = large_block()
    plain = io.BytesIO()
    threads = set(threading.enumerate())  # fsspec, once used, keeps one for good
    with Writer(tmp_path / "a", compressor) as local, Writer(plain, compressor) as stream:
        for writer in (local, stream):
            writer.write(b"first")
            writer.write_block(block)
        chunks = plain.getvalue()
        assert (tmp_path / "a").read_bytes() == chunks
        assert len(chunks) > 500_000
    assert (tmp_path / "a").read_bytes() == plain.getvalue()
    assert set(threading.enumerate()) <= threads


@pytest.mark.parametrize("good", [0, 1, 3])
def test_a_write_behind_that_fails_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: int) -> None:
    path = tmp_path / "full.recordio"
    calls = []

    def full(fd: int, views: list[memoryview]) -> int:
        calls.append(fd)
        data = b"".join(views)
        if len(calls) <= good:
            return os.write(fd, data)
        os.write(fd, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    with Writer(path, "none") as writer:
        with monkeypatch.context() as patch:
            patch.setattr(os, "writev", full)
            with pytest.raises(OSError, match="No space"):
                writer.write_block([column.slice(0, 4000) for column in large_block()])
        assert len(calls) == good + 1
        writer.write(b"again")
    records = read(path)
    assert len(records) == 1000 * good + 1
    assert records[-1] == b"again"


KILLED_IN_A_BLOCK = """
import sys
import numpy as np
from fluidio.recordio import Writer
numbers = np.arange(20000, dtype=np.int64).reshape(-1, 1)
images = np.repeat(numbers.astype(np.float32), 784, axis=1)
print("ready", flush=True)
with Writer(sys.argv[1], "none") as writer:
    for _ in range(3):
        writer.write_block([images, numbers])
    sys.stdin.read()
"""


@pytest.mark.parametrize("size", [0, 5_000_000, 40_000_000])
def test_kill_in_a_large_block_leaves_whole_chunks_and_a_cut_one(tmp_path: Path, size: int) -> None:
    path = tmp_path / "killed.recordio"
    command = [sys.executable, "-c", KILLED_IN_A_BLOCK, str(path)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    while not path.exists() or path.stat().st_size < size:
        assert child.poll() is None
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdin.close()
    child.stdout.close()
    written_bytes = path.stat().st_size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a cut tail is possible, not certain
        Writer(path, mode="a").close()
    assert written_bytes - path.stat().st_size < 3_205_020
    with BlockReader(path) as reader:
        numbers = [int(n) for block in reader for n in block.columns[1].data[:, 0]]
    assert numbers == [i % 20000 for i in range(len(numbers))]
    assert len(numbers) == written_bytes // 3_205_020 * 1000


@pytest.mark.parametrize("most", [7, 19, 20, 21, 1000])
def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    write = os.write

    def short(fd: int, data: bytes | memoryview) -> int:
        return write(fd, data[:most])

    records = [bytes([i]) * 1500 for i in range(30)]
    with Writer(tmp_path / "whole", "none", 10) as writer:
        for record in records:
            writer.write(record)
    with Writer(tmp_path / "short", "none", 10) as writer, monkeypatch.context() as patch:
        patch.setattr(os, "write", short)
        patch.setattr(os, "writev", lambda fd, views: short(fd, b"".join(views)))
        for record in records:
            writer.write(record)
    assert (tmp_path / "short").read_bytes() == (tmp_path / "whole").read_bytes()
    assert read(tmp_path / "short") == records

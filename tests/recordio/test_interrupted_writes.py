"""An exception between any two instructions of a writer: the file stays whole, nothing is lost or doubled."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from fluidio.errors import RecordIOError
from fluidio.recordio import File, Writer, load
from fluidio.recordio.write import sink, writer

SOURCES = {writer.__file__, sink.__file__}


class Interrupt:
    """Raise KeyboardInterrupt before the n-th instruction of the writer; `reached` tells whether it came to that."""

    def __init__(self, after: int) -> None:
        self.left = after
        self.reached = False

    def __enter__(self) -> Interrupt:
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        if self.reached or frame.f_code.co_filename not in SOURCES:
            return None
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "opcode":
            self.left -= 1
            if self.left < 0:
                self.reached = True
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._step


def interrupted_everywhere(attempt: Callable[[Interrupt], None], step: int) -> int:
    """Run `attempt` with an interrupt at every `step`-th instruction, until it ends before it comes to that."""
    for number in range(100_000):
        interrupt = Interrupt(number * step)
        attempt(interrupt)
        if not interrupt.reached:
            return number
    raise AssertionError("it never ends")


def check(found: list[int], taken: list[int], doubtful: set[int]) -> None:
    assert sorted(set(found)) == found, "doubled or out of order"
    assert set(taken) <= set(found) <= set(taken) | doubtful


@pytest.mark.parametrize("compressor", ["none", "snappy"])
@pytest.mark.parametrize("parts", [False, True])
def test_a_record_is_written_whole_or_not_at_all(tmp_path: Path, compressor: str, parts: bool) -> None:
    path = tmp_path / "a"

    def attempt(interrupt: Interrupt) -> None:
        taken, doubtful = [], set()
        writer = Writer(path, compressor, 3)
        for number in range(7):
            body = number.to_bytes(4, "little")
            try:
                with interrupt:
                    writer.write_parts([body[:2], body[2:]]) if parts else writer.write(body)
                taken.append(number)
            except KeyboardInterrupt:
                doubtful.add(number)
        writer.close()
        with File(path) as file:
            check([int.from_bytes(record, "little") for record in file], taken, doubtful)

    assert interrupted_everywhere(attempt, 2 if compressor == "none" else 5) > 50


@pytest.mark.parametrize("threads", [0, 2])
def test_a_block_is_written_in_whole_chunks(tmp_path: Path, threads: int) -> None:
    path = str(tmp_path / "a")

    def attempt(interrupt: Interrupt) -> None:
        taken: list[int] = []
        doubtful: set[int] = set()
        writer = Writer(path, "none", 3, threads=threads)
        for start in range(0, 20, 5):
            numbers = range(start, start + 5)
            try:
                with interrupt:
                    writer.write_block([np.arange(start, start + 5)[:, None]])
                taken += numbers
            except KeyboardInterrupt:
                doubtful.update(numbers)
        writer.close()
        (column,) = load(path, threads=0)
        check(column.data[:, 0].tolist(), taken, doubtful)

    assert interrupted_everywhere(attempt, 3 + threads) > 50


def test_an_interrupted_stream_is_not_continued() -> None:
    """A file object cannot be cut, so the writer refuses to put anything behind half a chunk."""

    class Slow(io.BytesIO):
        interrupt = False

        def write(self, data: Any) -> int:
            if self.interrupt and len(data) != 20:
                raise KeyboardInterrupt
            return super().write(data)

    stream = Slow()
    writer = Writer(stream, "none", 1)
    writer.write(b"first")
    stream.interrupt = True
    with pytest.raises(KeyboardInterrupt):
        writer.write(b"second")
    stream.interrupt = False
    with pytest.raises(RecordIOError, match="interrupted in the middle of a chunk"):
        writer.write(b"third")
    writer.abort()


def test_records_before_a_full_disk_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    writer = Writer(path, "none", 3)
    for body in (b"0", b"1"):
        writer.write(body)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "writev", full)
        for _ in range(2):
            with pytest.raises(OSError, match="No space"):
                writer.write(b"2")
    writer.write(b"2")
    assert writer.num_records == 3
    writer.close()
    with File(path) as file:
        assert list(file) == [b"0", b"1", b"2"]


def test_an_atomic_file_that_cannot_be_synced_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"what was there")
    writer = Writer(path, atomic=True)
    writer.write(b"x")

    def broken(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        with pytest.raises(OSError, match="Input/output"):
            writer.close()
    assert [each.name for each in tmp_path.iterdir()] == ["a"]
    assert path.read_bytes() == b"what was there"


def test_two_atomic_writers_do_not_share_their_part(tmp_path: Path) -> None:
    path = tmp_path / "a"
    first, second = Writer(path, "none", atomic=True), Writer(path, "none", atomic=True)
    first.write(b"first")
    second.write(b"second")
    first.close()
    with File(path) as file:
        assert list(file) == [b"first"]
    second.close()
    with File(path) as file:
        assert list(file) == [b"second"]
    assert [each.name for each in tmp_path.iterdir()] == ["a"]

"""Files that grow, and pipes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fluidio.errors import RecordIOError
from fluidio.recordio import Writer, follow
from tests.house.repository import ROOT


class Steps:
    """Does one step whenever the follower waits, and ends it after the last."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self.steps: Iterator[Callable[[], object]] = iter(steps)

    def wait(self, timeout: float) -> bool:
        step = next(self.steps, None)
        if step is not None:
            step()
        return step is None


def append(path: Path, *records: bytes, dialect: str = "fluid") -> Callable[[], None]:
    def step() -> None:
        with Writer(str(path), "snappy", 2, mode="a", dialect=dialect) as writer:
            for record in records:
                writer.write(record)

    return step


def test_records_come_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a"
    steps = Steps(append(path, b"1"), append(path, b"2", b"3", b"4"), append(path, b"5"))  # it is not there at first
    assert list(follow(str(path), stop=steps)) == [b"1", b"2", b"3", b"4", b"5"]


@pytest.mark.parametrize("dialect", ["fluid", "go", "elasticdl"])
@pytest.mark.parametrize("piece", [1, 7, 50])
def test_a_chunk_counts_when_all_of_it_is_there(tmp_path: Path, dialect: str, piece: int) -> None:
    path = tmp_path / "a"
    append(path, b"one", b"two", b"three", dialect=dialect)()
    data, growing = path.read_bytes(), tmp_path / "b"

    def add(start: int) -> None:
        with open(growing, "ab") as file:
            file.write(data[start : start + piece])

    steps = Steps(*(lambda start=start: add(start) for start in range(0, len(data), piece)))
    assert list(follow(str(growing), stop=steps)) == [b"one", b"two", b"three"]


def test_what_a_killed_writer_tore_is_passed_over_when_it_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def tear() -> None:
        with open(path, "ab") as file:
            file.write(path.read_bytes()[:30])

    steps = Steps(append(path, b"1"), tear, append(path, b"2"))
    with pytest.warns(UserWarning, match="of an unfinished chunk"):
        assert list(follow(str(path), stop=steps)) == [b"1", b"2"]


def test_damage_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a"
    append(path, b"1", b"2")()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(RecordIOError, match="checksum"):
        list(follow(str(path), stop=Steps()))


def test_a_file_that_is_cut_or_replaced_is_an_error(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    append(path, b"1")()
    append(other, b"2")()
    with pytest.raises(RecordIOError, match="was cut to 0 bytes"):
        list(follow(str(path), stop=Steps(lambda: os.truncate(path, 0), lambda: None)))
    append(path, b"1")()
    with pytest.raises(RecordIOError, match="was replaced"):
        list(follow(str(path), stop=Steps(lambda: os.replace(other, path), lambda: None)))


def test_it_ends_when_nothing_comes(tmp_path: Path) -> None:
    path = tmp_path / "a"
    append(path, b"1")()
    assert list(follow(str(path), poll=0.001, idle=0.01)) == [b"1"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="platform: there are no named pipes")
def test_a_pipe_ends_with_its_writer(tmp_path: Path) -> None:
    path, pipe = tmp_path / "a", tmp_path / "pipe"
    append(path, *(b"%d" % number for number in range(100)))()
    os.mkfifo(pipe)

    def fill() -> None:
        with open(pipe, "wb", 0) as file:
            for start in range(0, path.stat().st_size, 11):
                file.write(path.read_bytes()[start : start + 11])

    thread = threading.Thread(target=fill)
    thread.start()
    assert list(follow(str(pipe))) == [b"%d" % number for number in range(100)]
    thread.join()


def test_cat_follows_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "a"
    append(path, b"abc", b"def")()
    command = [sys.executable, "-m", "fluidio", "records", "cat", "-f", "-", "--json"]
    done = subprocess.run(command, input=path.read_bytes(), capture_output=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines() == [b'{"record": "abc"}', b'{"record": "def"}']
    cut = subprocess.run(command, input=path.read_bytes()[:-3], capture_output=True, cwd=ROOT)
    assert (cut.returncode == 1 and b"stdin" in cut.stderr) or b"-:" in cut.stderr

"""PipeReader: lines from commands."""

from __future__ import annotations

import gzip
import itertools
import sys
from pathlib import Path

import pytest

from fluidio.era import use_era
from fluidio.errors import ReaderError
from fluidio.reader import PipeReader


def cat(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return f"cat {path}"


def test_lines_come_without_their_breaks_and_the_last_one_is_kept(tmp_path: Path) -> None:
    reader = PipeReader(cat(tmp_path / "a", b"one\ntwo\n\nlast"))
    assert list(reader.get_line()) == list(reader.get_line()) == ["one", "two", "", "last"]
    with use_era("1.5", strict=True):
        assert list(reader.get_line()) == ["one", "two", ""]


def test_another_line_break_and_no_cutting(tmp_path: Path) -> None:
    reader = PipeReader(cat(tmp_path / "a", b"a;;b;c;;"))
    assert list(reader.get_line(line_break=";;")) == ["a", "b;c"]
    assert "".join(reader.get_line(cut_lines=False)) == "a;;b;c;;"


def test_letters_on_the_border_of_two_reads_stay_whole(tmp_path: Path) -> None:
    text = "äöü€\n" * 50
    assert list(PipeReader(cat(tmp_path / "a", text.encode()), bufsize=3).get_line()) == text.split()


@pytest.mark.parametrize("bufsize", [7, 8192])
def test_gzip_of_several_streams(tmp_path: Path, bufsize: int) -> None:
    data = gzip.compress(b"a\nb") + gzip.compress(b"c\n")
    assert list(PipeReader(cat(tmp_path / "a", data), bufsize, "gzip").get_line()) == ["a", "bc"]
    assert list(PipeReader(cat(tmp_path / "b", b""), bufsize, "gzip").get_line()) == []


@pytest.mark.parametrize("data", [gzip.compress(b"abc\n" * 100)[:-12], b"not gzip at all"], ids=["cut", "foreign"])
def test_damaged_gzip_is_an_error(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ReaderError, match="gzip"):
        list(PipeReader(cat(tmp_path / "a", data), file_type="gzip").get_line())


def test_a_failing_command_is_an_error() -> None:
    with pytest.raises(ReaderError, match="exit code 1: false"):
        list(PipeReader("false").get_line())
    with pytest.raises(FileNotFoundError):
        list(PipeReader("no-such-command-here").get_line())


def test_an_abandoned_command_is_ended() -> None:
    lines = PipeReader("yes").get_line()
    assert list(itertools.islice(lines, 2)) == ["y", "y"]
    lines.close()  # type: ignore[attr-defined]


def test_bad_arguments() -> None:
    with pytest.raises(TypeError, match="string"):
        PipeReader(["cat"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="file_type"):
        list(PipeReader(f"{sys.executable} -V", file_type="zip").get_line())

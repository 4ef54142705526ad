"""`inspect` looks at huge records without reading them, and tells how lengths are distributed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.cli import main
from fluidio.recordio import Writer
from fluidio.recordio.files import peek as module
from fluidio.recordio.files.source import LocalSource
from fluidio.recordio.files.survey import survey


@pytest.fixture(autouse=True)
def small_is_huge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HUGE", 100_000)
    monkeypatch.setattr(module, "_LOOK", 70_000)


@pytest.fixture
def bytes_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many bytes are read, one number for each call."""
    found: list[int] = []
    read, readinto = LocalSource.read, LocalSource.readinto

    def counted(self: LocalSource, offset: int, size: int) -> bytes:
        found.append(size)
        return read(self, offset, size)

    def counted_into(self: LocalSource, offset: int, target: memoryview) -> int:
        found.append(len(target))
        return readinto(self, offset, target)

    monkeypatch.setattr(LocalSource, "read", counted)
    monkeypatch.setattr(LocalSource, "readinto", counted_into)
    return found


NOISE = np.random.default_rng(1).integers(0, 255, 1_000_000, np.uint8)
CASES = [
    ("fluid", "none"),
    ("fluid", "snappy"),
    ("go", "none"),
    ("go", "snappy"),
    ("go", "gzip"),
    ("elasticdl", "none"),
]


@pytest.mark.parametrize(("dialect", "compressor"), CASES)
def test_huge_records_are_not_read(dialect: Any, compressor: Any, bytes_read: list[int], tmp_path: Path) -> None:
    path = str(tmp_path / "a.recordio")
    with Writer(path, compressor, dialect=dialect) as writer:
        for _ in range(3):
            writer.write_tensors([(NOISE.reshape(1, 10, -1), ()), (np.array([[7]]), ())])
    del bytes_read[:]
    found = survey(path)
    assert sum(bytes_read) < 300_000 < found.size
    assert (found.dialects, found.records, found.peeked) == ([dialect], 3, True)
    whole = survey(path, verify=True)
    assert not whole.peeked and whole.dialects == found.dialects
    assert found.slots == whole.slots[: len(found.slots)]
    assert found.preview[0] == whole.preview[0] or whole.preview[0].startswith(found.preview[0] + "; ")
    assert found.slots == whole.slots or "its first record has more slots than these" in found.notes


def test_a_call_with_less_slots_is_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a.recordio")
    with Writer(path) as writer:
        writer.write_tensors([(NOISE.reshape(1, -1), ()), (np.array([[7]]), ())])
    assert main(["inspect", path]) == 0
    text = capsys.readouterr().out
    assert "--verify prints the call" in text and "open_files" not in text
    assert main(["inspect", "--verify", path]) == 0
    assert "shapes=[(-1, 1000000), (-1, 1)]" in capsys.readouterr().out


@pytest.mark.parametrize("record", [b"hello " * 50_000, bytes(NOISE[:300_000])])
def test_huge_bytes_are_shown_by_their_beginning(record: bytes, tmp_path: Path) -> None:
    path = str(tmp_path / "a.recordio")
    with Writer(path, "none", dialect="go") as writer:
        writer.write(record)
    found = survey(path)
    assert found.content == ("text" if record.isascii() else "bytes")
    assert found.preview[0].startswith(f"300,000 bytes that begin with {record[:5]!r}"[:-1])


def test_the_distribution_of_lengths_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a.recordio")
    with Writer(path, max_num_records=100) as writer:
        writer.write_samples((([0] * length, 1) for length in range(1, 201)), lod_levels=[1, 0])
    assert survey(path, verify=True).slots[0].quantiles() == [50, 100, 150]
    assert survey(path).slots[1].quantiles() == []
    main(["inspect", path])
    text = capsys.readouterr().out
    assert "lengths 1 to 100, quartiles 25, 50, 75 (first 100 records)\n" in text
    main(["inspect", "--verify", path])
    assert "lengths 1 to 200, quartiles 50, 100, 150\n" in capsys.readouterr().out

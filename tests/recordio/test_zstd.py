"""Chunks compressed with zstd, which fluidio alone writes and reads."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest

from fluidio import recordio
from fluidio.cli import main
from fluidio.era import use_era
from fluidio.errors import RecordIOError
from fluidio.recordio.format.checksum import crc32
from fluidio.recordio.format.dialects import FLUID, HEADER_SIZE, Header
from fluidio.recordio.format.zstd import NUMBER


def written(compressor: str, records: list[bytes], dialect: str = "fluid") -> bytes:
    stream = io.BytesIO()
    with recordio.Writer(stream, compressor, 100, dialect=dialect) as writer:
        for record in records:
            writer.write(record)
    return stream.getvalue()


def read(data: bytes) -> list[bytes]:
    return list(recordio.File(io.BytesIO(data)))


def test_records_come_back_and_take_less_room_than_with_snappy() -> None:
    records = [f"row {number} of many".encode() for number in range(1000)]
    assert read(written("zstd", records)) == records
    assert len(written("zstd", records)) < len(written("snappy", records))


def test_blocks_come_back() -> None:
    stream = io.BytesIO()
    with recordio.Writer(stream, "zstd", 64) as writer:
        writer.write_block([np.zeros((200, 300), "f4"), np.arange(200)[:, None]])  # far denser than is usual
    data, labels = recordio.load(io.BytesIO(stream.getvalue()))
    assert data.data.shape == (200, 300) and labels.data.reshape(-1).tolist() == list(range(200))


def test_a_file_may_change_its_compressor() -> None:
    data = written("zstd", [b"a"]) + written("snappy", [b"b"]) + written("zstd", [b"c"])
    assert read(data) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("dialect", ["go", "elasticdl"])
def test_other_dialects_have_no_zstd(dialect: str) -> None:
    with pytest.raises(ValueError, match="has the compressors none, snappy, gzip, got 'zstd'"):
        written("zstd", [b"a"], dialect)


def test_files_for_the_real_fluid_have_no_zstd() -> None:
    with use_era("1.5", strict=True), pytest.raises(ValueError, match="Fluid cannot read zstd"):
        written("zstd", [b"a"])


def sealed(stored: bytes) -> bytes:
    return FLUID.pack(Header(1, crc32(stored), NUMBER, len(stored))) + stored


@pytest.mark.parametrize("size", [0, 1, 4, 1 << 20, 1 << 29, 1 << 40, (1 << 64) - 1])
def test_a_size_that_lies_is_refused(size: int) -> None:
    frame = written("zstd", [b"abc" * 100])[HEADER_SIZE + 8 :]
    with pytest.raises(RecordIOError, match="zstd data became|cannot be decompressed|above the limit"):
        read(sealed(struct.pack("<Q", size) + frame))


@pytest.mark.parametrize("stored", [b"", b"short", bytes(8), struct.pack("<Q", 9) + b"no frame"])
def test_damaged_data_is_refused(stored: bytes) -> None:
    with pytest.raises(RecordIOError):
        read(sealed(stored))


def test_recompress_makes_zstd(tmp_path: Path) -> None:
    (tmp_path / "a.recordio").write_bytes(written("snappy", [b"abc"] * 50))
    command = ["records", "recompress", str(tmp_path / "a.recordio"), "--compressor", "zstd", "--output"]
    assert main([*command, str(tmp_path / "out")]) == 0
    assert read((tmp_path / "out" / "a.recordio").read_bytes()) == [b"abc"] * 50

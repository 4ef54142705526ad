"""Any damage to any byte: never a wrong record, never a hang, never a giant allocation, always a RecordIOError."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pytest

from fluidio.errors import CutTailError, RecordIOError
from fluidio.recordio import Writer
from fluidio.recordio.format.checksum import crc32c
from fluidio.recordio.format.chunks import ChunkReader
from tests.recordio import fuzz

DATA = Path(__file__).resolve().parents[1] / "data" / "recordio"


@pytest.mark.parametrize("seed", range(4))
def test_thousands_of_damaged_files(seed: int) -> None:
    fuzz.run(800, 1000 + seed)


@pytest.mark.parametrize("name", ["raw_snappy_one_per_chunk", "raw_none_zerolen", "raw_snappy_zerolen"])
def test_every_single_bit_of_a_small_file(name: str) -> None:
    data = (DATA / f"{name}.recordio").read_bytes()
    good = fuzz.chunks_of(data)
    for position in range(len(data)):
        for bit in range(8):
            bad = bytearray(data)
            bad[position] ^= 1 << bit
            with ChunkReader(io.BytesIO(bytes(bad)), on_error="skip") as reader:
                assert all(tuple(chunk.records()) in good for chunk in reader)
                assert reader.damage


@pytest.mark.parametrize("name", ["go_paddle_gzip_basic", "elasticdl_snappy_basic", "raw_snappy_multichunk"])
def test_every_cut_delivers_the_chunks_before_it(name: str) -> None:
    data = (DATA / f"{name}.recordio").read_bytes()
    with ChunkReader(io.BytesIO(data)) as reader:
        ends = [0] + [chunk.end for chunk in reader]
    for length in range(len(data)):
        whole = sum(end <= length for end in ends) - 1
        delivered = 0
        with ChunkReader(io.BytesIO(data[:length])) as reader:
            if length in ends:
                delivered = sum(1 for _ in reader)
            elif length - max(end for end in ends if end <= length) < 4:
                with pytest.warns(UserWarning, match="stray"):
                    delivered = sum(1 for _ in reader)
            else:
                with pytest.raises(CutTailError):
                    for _ in reader:
                        delivered += 1
        assert delivered == whole


def test_a_damaged_length_is_not_taken_for_a_cut_tail() -> None:
    data = bytearray((DATA / "raw_none_multichunk.recordio").read_bytes())
    data[335 + 16 : 335 + 20] = struct.pack("<I", 1 << 30)
    with ChunkReader(io.BytesIO(bytes(data))) as reader, pytest.raises(RecordIOError, match="announces") as caught:
        list(reader)
    assert not isinstance(caught.value, CutTailError)
    assert (caught.value.chunk, caught.value.offset) == (1, 335)


def test_a_recordio_file_inside_a_damaged_record_is_not_delivered() -> None:
    inner = (DATA / "raw_none_multichunk.recordio").read_bytes()
    out = io.BytesIO()
    with Writer(out, "none", 1) as writer:
        for record in (b"before", inner, b"after"):
            writer.write(record)
    data = bytearray(out.getvalue())
    data[data.index(b"0024:")] ^= 1  # in the middle chunk, behind the inner file's good chunks
    with ChunkReader(io.BytesIO(bytes(data)), on_error="skip") as reader:
        assert [chunk.records() for chunk in reader] == [[b"before"], [b"after"]]


def test_a_file_of_false_chunk_starts_does_not_keep_us_busy() -> None:
    size = 1 << 20
    fake = b"".join(struct.pack("<5I", 0x01020304, 1, 0, 0, max(1, size - 20 * (i + 2))) for i in range(size // 20))
    with ChunkReader(io.BytesIO(fake), on_error="skip") as reader:
        assert list(reader) == []


@pytest.mark.parametrize("claim", [1 << 20, 1 << 30, (1 << 32) - 1])
def test_a_lying_snappy_length_allocates_nothing(claim: int) -> None:
    varint = b""
    while claim > 127:
        varint += bytes([claim & 127 | 128])
        claim >>= 7
    stored = varint + bytes([claim]) + b"\x00a"
    data = struct.pack("<5I", 0x01020304, 1, crc32c(stored), 2, len(stored)) + stored
    with ChunkReader(io.BytesIO(data)) as reader:
        with pytest.raises(RecordIOError, match=r"claims|decompress"):
            reader.next()
        assert reader._buffers.largest <= 1 << 16


def test_snappy_blocks_that_say_they_are_large_allocate_little() -> None:
    block = struct.pack(">BHI", 0, 1, 0) + b"x"
    stored = b"snappy\0" + block * 5000
    data = struct.pack("<5I", 0x01020304, 1, zlib.crc32(stored), 1, len(stored)) + stored
    with ChunkReader(io.BytesIO(data)) as reader:
        with pytest.raises(RecordIOError):
            reader.next()
        assert reader._buffers.largest < 30 * len(stored)


def test_errors_carry_their_numbers() -> None:
    path = DATA / "bad_crc_field.recordio"
    with ChunkReader(path) as reader, pytest.raises(RecordIOError) as caught:
        list(reader)
    error = caught.value
    assert (error.path, error.chunk, error.offset) == (str(path), 1, 335)
    assert error.expected == 0x0064888D
    assert error.found == 0x0064888C
    assert "fluidio check --repair IN OUT" in str(error)

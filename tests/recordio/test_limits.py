"""Numbers in a file that nothing verifies: they cost no memory and no time before they prove true."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio
from fluidio import recordio
from fluidio.errors import RecordIOError
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.files.index import build_index
from fluidio.recordio.format import compressors
from fluidio.recordio.format.compressors import FRAMED, GZIP, RAW, SNAPPYSTREAM, CodecError, Compressor
from fluidio.recordio.format.tensor_codec import encode_record


def chunk(count: int, payload: bytes, compressor: int = 0) -> bytes:
    words = struct.pack("<4s4I", b"\x04\x03\x02\x01", count, zlib.crc32(payload), compressor, len(payload))
    return words + payload


def records(*arrays: np.ndarray[Any, Any], lod: tuple[Any, ...] = ()) -> bytes:
    bodies = [encode_record([(array, lod)]) for array in arrays]
    return b"".join(struct.pack("<I", len(body)) + body for body in bodies)


ONE = records(np.zeros((1, 784), "f4"))
EMPTY = struct.pack("<4s4I", b"\x04\x03\x02\x01", 0, 0, 0, 0)


def written(path: Path, *parts: bytes) -> str:
    path.write_bytes(b"".join(parts))
    return str(path)


@pytest.fixture
def small_limit() -> Iterator[int]:
    before = recordio.set_chunk_limit(1 << 16)
    yield 1 << 16
    recordio.set_chunk_limit(before)


def peak(function: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("compressor", [0, 2])
@pytest.mark.parametrize("count", [793, 8_000_000, (1 << 32) - 1])
def test_a_false_number_of_records_is_damage(tmp_path: Path, compressor: int, count: int) -> None:
    stored = gzip.compress(ONE) if compressor else ONE
    path = written(tmp_path / "a", chunk(1, stored, compressor), chunk(count, stored, compressor))
    for read in (recordio.load, lambda path: recordio.tasks(path, 1), lambda path: list(recordio.File(path))):
        with pytest.raises(RecordIOError, match=f"chunk 1 .*{count}"):
            read(path)


def test_room_for_arrays_follows_the_bytes_and_not_the_header(tmp_path: Path) -> None:
    """The header of the second chunk is as large as a header of so much gzip may be."""
    payload = gzip.compress(ONE)
    count = len(payload)
    path = written(tmp_path / "a", chunk(1, payload, 2), *[chunk(count, payload, 2)] * 300)

    def read() -> None:
        with pytest.raises(RecordIOError, match=f"of {count} would start"):
            recordio.load(path, threads=0)

    assert peak(read) < 1 << 27


def test_arrays_grow_when_files_hold_more_than_is_usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fluidio.recordio.files import batches

    with recordio.Writer(str(tmp_path / "a"), max_num_records=7) as writer:
        for number in range(100):
            writer.write_tensors([(np.full((1, 3), number, "f4"), ())])
    monkeypatch.setattr(batches, "_believable", lambda files, like: 10)
    (column,) = recordio.load(str(tmp_path / "a"))
    np.testing.assert_array_equal(column.data, np.repeat(np.arange(100, dtype="f4"), 3).reshape(100, 3))


@pytest.mark.parametrize("compressor", [SNAPPYSTREAM, FRAMED, RAW, GZIP], ids=lambda each: each.name)
def test_a_chunk_becomes_no_more_than_the_limit(compressor: Compressor, small_limit: int) -> None:
    stored = memoryview(compressor.compress(bytes(small_limit + 1)))
    with pytest.raises(CodecError, match=r"limit of 65536 bytes.*set_chunk_limit"):
        compressor.decompress(stored, Pool(), False)
    fits = memoryview(compressor.compress(bytes(small_limit)))
    assert len(compressor.decompress(fits, Pool(), False)) == small_limit
    recordio.set_chunk_limit(small_limit + 1)
    assert len(compressor.decompress(stored, Pool(), False)) == small_limit + 1


@pytest.mark.parametrize("compressor", [SNAPPYSTREAM, FRAMED, RAW, GZIP], ids=lambda each: each.name)
def test_a_chunk_that_hardly_grows_is_read_whatever_its_size(compressor: Compressor, small_limit: int) -> None:
    payload = np.random.default_rng(0).bytes(3 * small_limit)
    assert bytes(compressor.decompress(memoryview(compressor.compress(payload)), Pool(), False)) == payload


def test_many_small_frames_are_not_taken_for_a_trap(small_limit: int) -> None:
    """Some Go writers make a frame of every length and every record."""
    frames = [bytes(FRAMED.compress(bytes([number % 256]) * 4))[10:] for number in range(5000)]
    stored = memoryview(compressors.FRAME_MAGIC + b"".join(frames))
    assert len(FRAMED.decompress(stored, Pool(), False)) == 20_000


def test_a_gzip_bomb_is_left_at_the_limit(small_limit: int) -> None:
    bomb = memoryview(gzip.compress(bytes(1 << 26)))

    def read() -> None:
        with pytest.raises(CodecError, match="limit"):
            GZIP.decompress(bomb, Pool(), False)

    assert peak(read) < 1 << 20


def test_gzip_members_are_read_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = 0

    class Counting:
        def __init__(self, bits: int) -> None:
            self.real = zlib.decompressobj(bits)

        def decompress(self, data: bytes, room: int) -> bytes:
            nonlocal copied
            part = self.real.decompress(data, room)
            copied += len(self.real.unused_data)
            return part

        def __getattr__(self, name: str) -> Any:
            return getattr(self.real, name)

    class Inflate:
        error = zlib.error
        decompressobj = Counting

    monkeypatch.setattr(compressors, "_inflate", Inflate)
    members = [gzip.compress(bytes([number % 256]) * (number % 9)) for number in range(3000)]
    members[1500] = gzip.compress(np.random.default_rng(0).bytes(100_000))
    stored = b"".join(members)
    assert GZIP.decompress(memoryview(stored), Pool(), False) == gzip.decompress(stored)
    assert copied < 40 * len(stored)


def test_rows_of_no_bytes_take_no_memory(tmp_path: Path) -> None:
    rows = 200_000_000
    wide = records(np.zeros((rows, 0), "f4"), lod=(np.array([0, rows]),))
    path = written(tmp_path / "a", chunk(2, wide + records(np.zeros((3, 0), "f4"), lod=(np.array([0, 3]),))))

    def read() -> None:
        (batch,) = recordio.iter_batches(path, 2, shuffle=True)
        assert batch[0][0].shape == (rows + 3, 0)

    assert peak(read) < 1 << 24


@pytest.mark.parametrize("dims", [(0, 1 << 62), (1 << 62, 0), (1 << 40, 0)])
def test_dims_beside_a_zero_are_bounded(tmp_path: Path, dims: tuple[int, ...]) -> None:
    from fluidio.recordio.format.tensor_codec import tensor_prefix

    body = struct.pack("<I", 1) + tensor_prefix(np.dtype("f4"), dims)
    one = struct.pack("<I", len(body)) + body
    path = written(tmp_path / "a", chunk(2, one + one))
    for read in (recordio.load, lambda path: list(recordio.iter_batches(path, 1))):
        with pytest.raises(RecordIOError, match="items of no bytes"):
            read(path)


def test_an_empty_chunk_is_skipped_with_a_warning(tmp_path: Path) -> None:
    path = written(tmp_path / "a", chunk(1, ONE), EMPTY, chunk(1, ONE), EMPTY, EMPTY, chunk(1, ONE), EMPTY)
    with pytest.warns(UserWarning) as caught:
        (column,) = recordio.load(path, threads=0)
    assert len(column.data) == 3
    assert any("4 empty chunks" in str(warning.message) for warning in caught)
    with pytest.warns(UserWarning, match=f"skipped an empty chunk at byte {len(chunk(1, ONE))}"):
        assert build_index(path).num_records == 3
    with pytest.warns(UserWarning, match="empty chunk"), recordio.File(path) as file:
        assert len(file) == 3 and file[2] == file[0]


def test_an_empty_chunk_is_an_error_in_strict_mode(tmp_path: Path) -> None:
    path = written(tmp_path / "a", chunk(1, ONE), EMPTY, chunk(1, ONE))
    with fluidio.use_era("1.5", strict=True), pytest.raises(RecordIOError, match="payload of 0 bytes"):
        recordio.load(path)


def test_writing_goes_on_behind_an_empty_chunk(tmp_path: Path) -> None:
    path = written(tmp_path / "a", chunk(1, ONE), EMPTY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with recordio.Writer(path, mode="a") as writer:
            writer.write_tensors([(np.ones((1, 784), "f4"), ())])
        (column,) = recordio.load(path)
    assert column.data.sum(axis=1).tolist() == [0, 784]

"""Chunks that are checked and copied while they are read give what is read in the usual way, damaged ones too."""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from fluidio.errors import RecordIOError
from fluidio.recordio import Column, Writer, iter_batches
from fluidio.recordio.decode import direct
from fluidio.recordio.files import fetch
from fluidio.recordio.format.dialects import FLUID, HEADER_SIZE

compiled: Any = fetch.compiled
pytestmark = pytest.mark.skipif(compiled is None, reason="there was no C compiler when fluidio was installed")
Read = list[Any]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Return a file of several chunks of dense records."""
    images = np.random.default_rng(0).random((200, 3, 5), np.float32)
    with Writer(tmp_path / "made", "none", 40) as writer:
        writer.write_block([images, np.arange(200).reshape(-1, 1)])
    return tmp_path / "made"


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list that tells of each chunk read ahead whether it was copied while it was read."""
    if not compiled.FAST:  # slow here, but the same
        monkeypatch.setattr(fetch, "serves", lambda source: True)
        monkeypatch.setattr(direct, "serves", lambda source: True)
    found: list[bool] = []
    monkeypatch.setattr(direct, "rows", partial(_watched, fetch.rows, found))
    monkeypatch.setattr(direct, "ragged", partial(_watched, fetch.ragged, found))
    return found


def _watched(read: Callable[..., Any], found: list[bool], *args: Any) -> Any:
    value = read(*args)
    found.append(value is not None)
    return value


def both_ways(path: Path, batch: int, threads: int = 1, **options: Any) -> tuple[Read, Read]:
    """Return what is read, and what is read without the C."""
    found = read(path, batch, threads, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct, "serves", lambda source: False)
        return found, read(path, batch, threads=0, **options)


def read(path: Path, batch: int, threads: int = 1, **options: Any) -> Read:
    """Return the batches, and the text of an error at their end."""
    found: Read = []
    try:
        for items in iter_batches(str(path), batch, threads=threads, **options):
            found.append([(array.tolist(), lod) for array, lod in map(with_lod, items)])
    except RecordIOError as error:
        found.append(str(error))
    return found


def with_lod(item: Any) -> tuple[Any, list[list[int]]]:
    array, lod = item if isinstance(item, tuple) else (item, ())
    return array, [level.tolist() for level in lod]


# -- the checksum -------------------------------------------------------------------------------------------------


@given(st.integers(0, 3000), st.integers(0, 15), st.integers(0, 0xFFFFFFFF), st.randoms(use_true_random=False))
def test_checksums_are_those_of_zlib(size: int, first: int, value: int, rng: random.Random) -> None:
    data = memoryview(rng.randbytes(size + first))[first:]
    for bits in (0, 128, 512):
        assert compiled.crc32(data, value, bits) == zlib.crc32(data, value)


# -- rows ---------------------------------------------------------------------------------------------------------


@given(st.data(), st.integers(1, 60), st.integers(1, 700), st.integers(0, 40))
def test_columns_are_where_they_are_said_to_be(data: st.DataObject, count: int, stride: int, offset: int) -> None:
    records = np.random.default_rng(count).integers(0, 256, (count, stride), np.uint8)
    cuts = sorted(data.draw(st.lists(st.integers(0, stride), min_size=2, max_size=8)))
    same = tuple((a, bytes(records[0, a:b])) for a, b in zip(cuts[::2], cuts[1::2]))
    for first, wanted in same:
        records[:, first : first + len(wanted)] = np.frombuffer(wanted, np.uint8)
    columns = [(a, np.zeros((count, b - a), np.uint8)) for a, b in zip(cuts[1::2], cuts[2::2])]
    scratch = bytearray(stride * data.draw(st.integers(1, 70)) + data.draw(st.integers(0, stride - 1)))
    with in_memory(bytes(offset) + records.tobytes()) as fd:
        found = compiled.rows(fd, offset, count, stride, same, tuple(columns), scratch)
        assert found == zlib.crc32(records.tobytes())
        for first, array in columns:
            assert (array == records[:, first : first + array.shape[1]]).all()
        assert compiled.rows(fd, offset + 1, count, stride, (), tuple(columns), scratch) is None  # the file ends before
    lengths = [len(wanted) for _, wanted in same]
    if any(lengths):
        at = data.draw(st.sampled_from([first + i for first, wanted in same for i in range(len(wanted))]))
        records[data.draw(st.integers(0, count - 1)), at] ^= 1
        with in_memory(records.tobytes()) as fd:
            assert compiled.rows(fd, 0, count, stride, same, (), scratch) is None


class in_memory:
    """A file that holds some bytes, while the block runs."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __enter__(self) -> int:
        self.fd = os.memfd_create("rows") if hasattr(os, "memfd_create") else os.open(os.devnull, os.O_RDWR)
        os.write(self.fd, self.data)
        return self.fd

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)


@pytest.mark.parametrize(
    ("count", "stride", "same", "columns", "room"),
    [
        (0, 8, (), (), 8),
        (1, 0, (), (), 8),
        (1, 9, (), (), 8),
        (1 << 62, 8, (), (), 8),
        (2, 8, ((-1, b"a"),), (), 8),
        (2, 8, ((8, b"a"),), (), 8),
        (2, 8, ((0, bytes(9)),), (), 8),
        (2, 8, (), ((0, bytearray(3)),), 8),  # not the same for both
        (2, 8, (), ((5, bytearray(8)),), 8),
        (2, 8, (), ((0, bytearray(2)), (1 << 62, bytearray(2))), 8),
        (2, 8, ((0, b"a"),) * 65, (), 8),
    ],
)
def test_impossible_columns_are_refused(count: int, stride: int, same: Any, columns: Any, room: int) -> None:
    with in_memory(bytes(64)) as fd, pytest.raises(ValueError):
        compiled.rows(fd, 0, count, stride, same, columns, bytearray(room))


def test_what_is_no_tuple_of_tuples_is_refused() -> None:
    with in_memory(bytes(64)) as fd:
        for same, columns in (((1,), ()), ((), (1,)), (((0,),), ()), ((), ((0, b"read-only"),)), ((), (("a", b""),))):
            with pytest.raises(TypeError):
                compiled.rows(fd, 0, 1, 8, same, columns, bytearray(8))


def test_a_read_that_fails_raises() -> None:
    with in_memory(b"") as fd:
        pass
    with pytest.raises(OSError, match="Bad file descriptor"):
        compiled.rows(fd, 0, 1, 8, (), (), bytearray(8))


# -- reading files ------------------------------------------------------------------------------------------------


def test_chunks_after_the_first_are_copied_while_they_are_read(made: Path, taken: list[bool]) -> None:
    found, wanted = both_ways(made, 7)
    assert found == wanted and len(found) == 29
    assert taken == [True] * 4


@pytest.mark.parametrize("batch", [1, 9, 10, 11, 40, 64])
def test_batches_of_any_size_are_the_same(made: Path, batch: int) -> None:
    found, wanted = both_ways(made, batch)
    assert found == wanted


@pytest.mark.parametrize("shape", [(2,), (0, 3), ()])
def test_records_with_one_lod_are_copied_too(tmp_path: Path, taken: list[bool], shape: tuple[int, ...]) -> None:
    rows = np.random.default_rng(1).random((300, *shape))
    offsets = np.arange(0, 301, 3)
    with Writer(tmp_path / "a", "none", 25) as writer:
        writer.write_block([Column(rows, offsets, (offsets,)), np.arange(100.0)])
    found, wanted = both_ways(tmp_path / "a", 6)
    assert found == wanted and taken == [True] * 3


def test_a_chunk_of_another_layout_is_read_in_the_usual_way(tmp_path: Path, taken: list[bool]) -> None:
    with Writer(tmp_path / "a", "none", 20) as writer:
        writer.write_block([np.arange(60, dtype=np.float32)])
        writer.write_block([np.arange(60, dtype=np.int32)])  # as many bytes
        writer.write_block([np.arange(40, dtype=np.float64)])
    found, wanted = both_ways(tmp_path / "a", 5)
    assert found == wanted and taken[:3] == [True, True, False]


def test_any_damage_is_reported_as_in_the_usual_way(made: Path, taken: list[bool]) -> None:
    whole, rng = made.read_bytes(), random.Random(5)
    chunk = len(whole) // 5
    for _ in range(60):
        data = bytearray(whole)
        at = rng.choice([rng.randrange(len(data)), rng.randrange(1, 5) * chunk + rng.randrange(HEADER_SIZE + 90)])
        data[at] ^= 1 << rng.randrange(8)
        made.write_bytes(data[: rng.choice([len(data), len(data), rng.randrange(len(data))])])
        for on_error in ("raise", "skip"):
            found, wanted = both_ways(made, 7, on_error=on_error)
            assert found == wanted, at
    assert any(taken) and not all(taken)


def test_a_right_checksum_over_other_framing_is_read_in_the_usual_way(made: Path, taken: list[bool]) -> None:
    data = bytearray(made.read_bytes())
    chunk = len(data) // 5
    start = 2 * chunk + HEADER_SIZE
    stride = (chunk - HEADER_SIZE) // 40
    data[start + 3 * stride + 4] = 3  # the fourth record says that it has three tensors
    header = FLUID.parse(bytes(data[2 * chunk : start]))._replace(checksum=zlib.crc32(data[start : 3 * chunk]))
    data[2 * chunk : start] = FLUID.pack(header)
    made.write_bytes(data)
    found, wanted = both_ways(made, 7, on_error="skip")
    assert found == wanted and False in taken


def test_batches_may_be_changed_and_kept(made: Path) -> None:
    kept = []
    for image, label in iter_batches(str(made), 8, threads=1):
        image[:] = label[:, :, None]
        kept.append((image, label))
    for image, label in kept:
        assert (image == label[:, :, None]).all()
    assert np.concatenate([label for _, label in kept])[:, 0].tolist() == list(range(200))

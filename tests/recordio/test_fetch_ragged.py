"""Chunks of records that differ in height are copied while they are read, with the same results as in the usual way."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from fluidio.recordio import Column, Writer, iter_batches
from fluidio.recordio.decode.expected import Fixed, ragged_plan
from fluidio.recordio.decode.ragged import locate
from fluidio.recordio.files.batches import iter_blocks
from fluidio.recordio.format.dialects import FLUID, HEADER_SIZE
from fluidio.recordio.format.records import split
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray

from .test_fetch import both_ways, compiled, in_memory, pytestmark, taken

__all__ = ["pytestmark", "taken"]
ROOM = 500


def ragged_file(path: Path, lengths: list[int], records_each: int, *, lod: bool = True, more: bool = False) -> Path:
    """Write sequences of these lengths with a label, and shorter sequences of pairs if wanted."""
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = np.arange(bounds[-1] * 2, dtype=np.int32).reshape(-1, 2)
    columns: list[Any] = [Column(rows, bounds, (bounds,) if lod else ()), np.arange(len(lengths)).reshape(-1, 1)]
    if more:
        halves = bounds // 2
        columns.append(Column(np.arange(halves[-1], dtype=np.float64), halves, (halves,)))
    with Writer(path, "none", records_each) as writer:
        writer.write_block(columns)
    return path


# -- the loop in C ------------------------------------------------------------------------------------------------


class Chunk:
    """The records of a file's first chunk, and what `ragged` takes to read them."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        header = FLUID.parse(data[:HEADER_SIZE])
        self.records = header.num_records
        self.data = data[HEADER_SIZE : HEADER_SIZE + header.size]
        payload = memoryview(self.data)
        table = split(payload, self.records)
        span = locate(payload, table)
        plan = None if span is None else ragged_plan(payload, table, span)
        assert plan is not None
        self.rows: list[Array] = []
        self.offsets: list[IntArray] = []
        tensors: list[tuple[Any, ...]] = []
        for tensor in plan:
            if isinstance(tensor, Fixed):
                size = self.records * (tensor.head.stop - tensor.head.start)
                tensors.append((tensor.framing, self._room(size)))
            else:
                self.offsets.append(np.zeros(self.records + 1, np.int64))
                tensors.append((*tensor.pattern, self._room(len(self.data)), self.offsets[-1]))
        self.tensors = tuple(tensors)

    def _room(self, size: int) -> Array:
        self.rows.append(np.zeros(size, np.uint8))
        return self.rows[-1]

    def read(self, data: bytes | None = None, piece: int = 200, room: int = ROOM, before: int = 0) -> Any:
        """Return what `ragged` returns for these bytes."""
        data = self.data if data is None else data
        with in_memory(bytes(before) + data) as fd:
            return compiled.ragged(fd, before, len(data), self.records, self.tensors, bytearray(room + piece), room)


@pytest.fixture
def chunk(tmp_path: Path) -> Chunk:
    return Chunk(ragged_file(tmp_path / "a", [3, 0, 5, 1, 130, 2, 2], 7))


@given(piece=st.integers(30, 900), before=st.integers(0, 40))
def test_pieces_of_any_size_give_the_same(tmp_path_factory: pytest.TempPathFactory, piece: int, before: int) -> None:
    chunk = Chunk(ragged_file(tmp_path_factory.mktemp("a") / "a", [3, 0, 5, 1, 13, 2, 2], 7, more=True))
    checksum, heights = chunk.read(piece=piece, before=before)
    assert checksum == zlib.crc32(chunk.data)
    assert heights == [(26, False), (13, False)]
    assert chunk.offsets[0].tolist() == [0, 3, 3, 8, 9, 22, 24, 26]
    assert chunk.rows[0][: 26 * 8].view(np.int32).tolist() == list(range(52))
    assert chunk.rows[1].view(np.int64).tolist() == list(range(7))
    assert chunk.rows[2][: 13 * 8].view(np.float64).tolist() == list(range(13))


def test_equal_heights_are_told_apart(tmp_path: Path) -> None:
    chunk = Chunk(ragged_file(tmp_path / "a", [3, 3, 3], 3))
    assert chunk.read()[1] == [(9, True)]


def test_a_record_that_does_not_fit_the_room_is_left_to_the_usual_way(chunk: Chunk) -> None:
    assert chunk.read(room=40) is None
    assert chunk.read(room=2000) is not None


def test_records_that_look_otherwise_are_left_to_the_usual_way(chunk: Chunk) -> None:
    framing = [0, 4, 8, 12, 30, 40, 44]
    for at in framing:
        data = bytearray(chunk.data)
        data[at] ^= 1
        assert chunk.read(bytes(data), room=2000) is None, at
    assert chunk.read(chunk.data[:-1], room=2000) is None
    assert chunk.read(chunk.data + chunk.data[: 4 + int.from_bytes(chunk.data[:4], "little")], room=2000) is None


@given(st.randoms(use_true_random=False))
def test_no_damage_writes_outside_the_arrays(tmp_path_factory: pytest.TempPathFactory, rng: random.Random) -> None:
    chunk = Chunk(ragged_file(tmp_path_factory.mktemp("a") / "a", [3, 0, 5, 1, 13, 2, 2], 7, more=True))
    data = bytearray(chunk.data)
    for _ in range(rng.randint(1, 4)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    found = chunk.read(bytes(data), piece=rng.randint(1, 400), room=rng.randint(1, 500))
    assert found is None or found[0] == zlib.crc32(data)


@pytest.mark.parametrize(
    ("records", "size", "room", "tensors"),
    [
        (0, 8, 1, ((b"", bytearray(8)),)),
        (1, 0, 1, ((b"", bytearray(8)),)),
        (1, 8, 64, ((b"", bytearray(8)),)),
        (1, 8, -1, ((b"", bytearray(8)),)),
        (1, 8, 1, ()),
        (1, 8, 1, ((b"", bytearray(8)),) * 65),
        (3, 8, 1, ((b"", bytearray(8)),)),
        (1, 8, 1, ((b"", False, b"", b"", 0, bytearray(8), np.zeros(2, np.int64)),)),
        (1, 8, 1, ((b"", False, b"", b"", 4, bytearray(8), np.zeros(3, np.int64)),)),
        (1, 8, 1, ((b"", False, b"", b"", 4, bytearray(8), np.zeros(4, np.int32)),)),
    ],
)
def test_impossible_tensors_are_refused(records: int, size: int, room: int, tensors: Any) -> None:
    with in_memory(bytes(64)) as fd, pytest.raises(ValueError):
        compiled.ragged(fd, 0, size, records, tensors, bytearray(64), room)


def test_what_is_no_tuple_of_tuples_is_refused() -> None:
    with in_memory(bytes(64)) as fd:
        for tensors in ((1,), ((0,),), ((b"", b"read-only"),), ((b"", bytearray(8)), ("a", bytearray(8)))):
            with pytest.raises(TypeError):
                compiled.ragged(fd, 0, 8, 1, tensors, bytearray(64), 8)


def test_a_read_that_fails_raises(chunk: Chunk) -> None:
    with in_memory(b"") as fd:
        pass
    with pytest.raises(OSError, match="Bad file descriptor"):
        compiled.ragged(fd, 0, 8, 1, ((b"", bytearray(8)),), bytearray(64), 8)


# -- reading files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 9, 10, 11, 40, 64])
@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize(("lod", "more"), [(True, False), (False, True), (True, True)])
def test_batches_of_any_size_are_the_same(
    tmp_path: Path, taken: list[bool], batch: int, threads: int, lod: bool, more: bool
) -> None:
    lengths = np.random.default_rng(0).integers(0, 300, 200).tolist()
    found, wanted = both_ways(ragged_file(tmp_path / "a", lengths, 40, lod=lod, more=more), batch, threads=threads)
    assert found == wanted and len(found) == -(-200 // batch)
    assert taken == [True] * 4


def test_blocks_are_copied_while_they_are_read(tmp_path: Path, taken: list[bool]) -> None:
    path = ragged_file(tmp_path / "a", [1, 2, 3, 0, 2, 2, 9, 1], 2)
    blocks = [[column.data.tolist() for column in block.columns] for block in iter_blocks(path, threads=0)]
    assert taken == [True] * 3
    assert [label for _, label in blocks] == [[[0], [1]], [[2], [3]], [[4], [5]], [[6], [7]]]
    assert [pair for rows, _ in blocks for pair in rows] == np.arange(40).reshape(-1, 2).tolist()


def test_chunks_of_equal_heights_among_others_are_the_same(tmp_path: Path, taken: list[bool]) -> None:
    lengths = [1, 2, 3, 4, 5, 5, 5, 5, 0, 0, 0, 0, 1, 2, 3, 4]
    found, wanted = both_ways(ragged_file(tmp_path / "a", lengths, 4), 3)
    assert found == wanted and taken == [True] * 3


def test_layouts_that_alternate_are_the_same_and_guessed_a_few_times_only(tmp_path: Path, taken: list[bool]) -> None:
    bounds = np.array([0, 1, 3, 6])
    with Writer(tmp_path / "a", "none", 3) as writer:
        for _ in range(12):
            for dtype in (np.int32, np.float32):
                writer.write_block([Column(np.arange(6, dtype=dtype), bounds, (bounds,))])
    found, wanted = both_ways(tmp_path / "a", 3, threads=0)
    assert found == wanted and taken == [False] * 4


def test_any_damage_is_reported_as_in_the_usual_way(tmp_path: Path, taken: list[bool]) -> None:
    made = ragged_file(tmp_path / "a", np.random.default_rng(0).integers(0, 9, 60).tolist(), 12, more=True)
    whole, rng = made.read_bytes(), random.Random(5)
    for _ in range(80):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        made.write_bytes(data[: rng.choice([len(data), len(data), rng.randrange(len(data))])])
        for on_error in ("raise", "skip"):
            for threads in (0, 1):
                found, wanted = both_ways(made, 5, on_error=on_error, threads=threads)
                assert found == wanted
    assert any(taken) and not all(taken)


def test_batches_may_be_changed_and_kept(tmp_path: Path) -> None:
    path = ragged_file(tmp_path / "a", [n % 5 for n in range(200)], 40)
    kept = []
    for (rows, lod), label in iter_batches(str(path), 8, threads=1):
        rows[:] = np.repeat(label, np.diff(lod[0]), axis=0)
        kept.append((rows, lod, label))
    for rows, lod, label in kept:
        assert (rows == np.repeat(label, np.diff(lod[0]), axis=0)).all()
    assert np.concatenate([label for _, _, label in kept])[:, 0].tolist() == list(range(200))

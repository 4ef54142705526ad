"""What is written in C and what stands in for it give the same, also for input that nobody would write."""

from __future__ import annotations

import random
import struct
import sys
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from fluidio.recordio.decode import loops
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.columnar import Decoder
from fluidio.recordio.format import compressors
from fluidio.recordio.format.compressors import CodecError
from fluidio.recordio.format.records import split
from fluidio.recordio.format.tensor_codec import encode_record
from fluidio.recordio.write import encode
from fluidio.recordio.write.sample_buffer import SampleBuffer
from tests.recordio import fuzz
from tests.recordio.strategies import Tensor, alike, mixed, same

pytestmark = pytest.mark.skipif(loops.compiled is None, reason="there was no C compiler when fluidio was installed")


def without_c(function: Any, *args: Any) -> Any:
    """Return what a function gives where nothing was compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "compiled", None)
        patch.setattr(compressors, "compiled", None)
        patch.setattr(encode, "compiled", None)
        return function(*args)


def test_the_fast_way_is_what_is_used() -> None:
    assert compressors.compiled is not None and encode.compiled is not None


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=9), st.integers(-3, 3), st.integers(-4, 4))
def test_records_are_found_alike(bodies: list[bytes], more: int, bytes_more: int) -> None:
    whole = b"".join(struct.pack("<I", len(body)) + body for body in bodies)
    payload = memoryview(whole[: len(whole) + bytes_more] + bytes(max(0, bytes_more)))
    count = max(1, len(bodies) + more)
    assert loops.walk(payload, count).tolist() == without_c(loops.walk, payload, count).tolist()


@given(mixed())
def test_tensors_are_decoded_alike(records: list[list[Tensor]]) -> None:
    bodies = [encode_record(record) for record in records]
    payload = memoryview(b"".join(struct.pack("<I", len(body)) + body for body in bodies))

    def decoded() -> list[Any]:
        return [block.tensors() for block in Decoder().decode(payload, split(payload, len(records)))]

    found, wanted = decoded(), without_c(decoded)
    assert len(found) == len(wanted) and all(same(a, b) for a, b in zip(found, wanted))


@given(mixed(), st.data())
def test_records_are_encoded_alike(records: list[list[Tensor]], data: st.DataObject) -> None:
    bodies = [encode_record(record) for record in records]
    payload = memoryview(b"".join(struct.pack("<I", len(body)) + body for body in bodies))
    for block in Decoder().decode(payload, split(payload, len(records))):
        start = data.draw(st.integers(0, len(block)))
        part = block.slice(start, data.draw(st.integers(start, len(block))))
        wanted = without_c(encode.record_sizes, part), bytes(without_c(encode.encode_block, part))
        assert encode.record_sizes(part).tolist() == wanted[0].tolist()
        assert bytes(encode.encode_block(part)) == wanted[1]


@pytest.mark.parametrize(
    ("records", "column"),
    [
        (3, (bytes(16), 8, 1, None, None, (), b"a", b"")),  # less rows than records
        (1, (bytes(16), 8, 0, np.array([0, 3]), None, (), b"a", b"")),
        (1, (bytes(16), 8, 0, np.array([-1, 1]), None, (), b"a", b"")),
        (1, (bytes(16), 8, 0, np.array([2, 1]), None, (), b"a", b"")),
        (2, (bytes(16), 8, 0, np.array([0, 1]), None, (), b"a", b"")),
        (1, (bytes(16), 8, 0, np.array([0, 2]), np.array([0, 2]), (np.array([0, 2]),), b"a", b"")),
        (1, (bytes(16), 8, 0, np.array([0, 2]), np.array([0, 1]), (np.array([0, 5]), np.array([0, 2])), b"a", b"")),
        (2, (bytes(16), 8, 1, None, None, (np.array([0, 1]),), b"a", b"")),
        (1, (bytes(16), -8, 1, None, None, (), b"a", b"")),
        (1, (bytes(16), 8, 1 << 62, None, None, (), b"a", b"")),
        (1, (bytes(16), 8, 1, np.array([0, 1], "i4"), None, (), b"a", b"")),
        (1, (bytes(16), 8, 1, None, None, (np.array([0, 1]),) * 9, b"a", b"")),
        (-1, (bytes(16), 8, 1, None, None, (), b"a", b"")),
    ],
)
def test_offsets_that_leave_the_data_are_refused(records: int, column: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError):
        encode.compiled.encode(records, (column,), bytearray(64))
    with pytest.raises(ValueError):
        encode.compiled.sizes(records, (column,), np.zeros(max(0, records), np.int64))


@pytest.mark.filterwarnings("ignore:.* bytes after the last tensor", "ignore:.*LoD levels are stored innermost first")
@given(alike(), st.randoms(use_true_random=False))
def test_damaged_tensors_are_refused_alike(records: list[list[Tensor]], rng: random.Random) -> None:
    bodies = [encode_record(record) for record in records]
    data = bytearray(b"".join(struct.pack("<I", len(body)) + body for body in bodies))
    for _ in range(rng.randrange(1, 4)):
        data[rng.randrange(len(data))] = rng.choice([0, 1, 2, 8, 16, 127, 128, 255])
    payload = memoryview(bytes(data))

    def decoded() -> Any:
        try:
            return fuzz.outcome(Decoder().decode(payload, split(payload, len(records))))
        except CodecError as error:
            return [], str(error)

    (found, at), (wanted, wanted_at) = decoded(), without_c(decoded)
    assert at == wanted_at and len(found) == len(wanted) and all(same(a, b) for a, b in zip(found, wanted))


def test_damaged_files_are_read_without_c_as_well() -> None:
    without_c(fuzz.run, 400, 4)


@given(st.data())
def test_pieces_of_several_chunks_are_joined_alike(data: st.DataObject) -> None:
    cuts = []
    for size in data.draw(st.lists(st.integers(1, 5000), min_size=1, max_size=3)):
        edges = np.sort(data.draw(st.lists(st.integers(0, size), max_size=8).map(lambda e: np.array(e * 2, np.int64))))
        payload = memoryview(np.random.default_rng(size).bytes(size))
        cuts.append((payload, edges[0::2].copy(), edges[1::2].copy()))
    wanted = b"".join(bytes(p[a:b]) for p, starts, stops in cuts for a, b in zip(starts, stops))
    like = np.empty(len(wanted), np.uint8)
    assert loops.join(cuts, like, Pool()).tobytes() == wanted
    listed = [(payload, starts.tolist(), stops.tolist()) for payload, starts, stops in cuts]
    assert without_c(loops.join, listed, like, Pool()).tobytes() == wanted


@given(st.integers(0, 9), st.integers(1, 40), st.sampled_from([1, 4, 9, 4000]), st.integers(0, 3), st.integers(1, 12))
def test_items_are_copied_alike(first: int, gap: int, size: int, at: int, count: int) -> None:
    stride = size + gap
    payload = memoryview(np.random.default_rng(size).bytes(first + count * stride))
    found, wanted = np.zeros((2, at + count + 1, size), np.uint8)
    loops.copy(payload, first, stride, size, found, at, count)
    without_c(loops.copy, payload, first, stride, size, wanted, at, count)
    assert found.tobytes() == wanted.tobytes()
    assert found[at].tobytes() == payload[first : first + size] and not found[:at].any() and not found[-1].any()


@pytest.mark.parametrize(
    ("first", "stride", "size", "at", "count"),
    [
        (-1, 4, 4, 0, 1),
        (0, -4, 4, 0, 2),
        (0, 4, 0, 0, 1),
        (0, 4, 4, -1, 1),
        (0, 4, 4, 0, 0),
        (0, 4, 17, 0, 1),
        (13, 4, 4, 0, 1),
        (1, 4, 4, 0, 4),
        (0, 1 << 62, 4, 0, 4),
        (0, 4, 4, 2, 1),
        (0, 0, 4, 0, 3),
        (0, 0, 4, 1 << 61, 1),
        (1 << 62, 4, 4, 0, 1),
    ],
)
def test_items_that_are_not_there_are_refused(first: int, stride: int, size: int, at: int, count: int) -> None:
    with pytest.raises(ValueError, match="not all inside the payload and the target"):
        loops.compiled.copy(bytes(16), first, stride, size, bytearray(8), at, count)


@pytest.mark.parametrize(
    ("starts", "stops", "room"),
    [([-1], [3], 4), ([2], [1], 1), ([0], [9], 9), ([0, 4], [4, 8], 7), ([0], [4], 5), ([1 << 62], [(1 << 62) + 1], 1)],
)
def test_pieces_that_are_not_there_are_refused(starts: list[int], stops: list[int], room: int) -> None:
    with pytest.raises(ValueError, match="do not fill the target"):
        loops.compiled.join(bytes(8), np.array(starts), np.array(stops), bytearray(room))


def test_numbers_of_the_wrong_kind_are_refused() -> None:
    words = np.zeros(2, np.int32)
    with pytest.raises(ValueError, match="numbers of 8 bytes"):
        loops.compiled.walk(bytes(8), words)
    with pytest.raises(ValueError, match="starts must be 1 numbers of 8 bytes"):
        loops.compiled.join(bytes(8), words, np.zeros(1, np.int64), bytearray(1))
    with pytest.raises(ValueError, match="stops must be 1 numbers of 8 bytes"):
        loops.compiled.join(bytes(8), np.zeros(1, np.int64), np.zeros(2, np.int64), bytearray(1))
    with pytest.raises(ValueError, match="four numbers of 8 bytes"):
        compressors.compiled.decompress(bytes(8), words, 5, bytearray(5))


class Odd(np.ndarray[Any, Any]):
    """An array that is not just an array."""


VALUES: list[Any] = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.arange(12, dtype=np.float32).reshape(2, 6)[:, ::2],
    np.arange(6, dtype=np.float32).reshape(3, 2).T,
    np.arange(6, dtype=">f4").reshape(2, 3),
    np.arange(6, dtype=np.float64).reshape(2, 3),
    np.arange(6, dtype=np.int32).reshape(2, 3),
    np.arange(6, dtype=np.float32).reshape(2, 3).view(Odd),
    [[1, 2, 3], [4, 5, 6]],
    np.array([["a", "b", "c"]] * 2),
    np.array([[1, None, 3]] * 2),
    np.zeros((2, 3), "datetime64[s]"),
    np.arange(6, dtype=np.float32),
    np.zeros((1, 2, 3), np.float32),
    np.float32(1),
    b"abc",
    None,
]


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "object", "datetime64[s]", ">f4", "f2"])
@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_values_of_every_kind_are_taken_or_refused_alike(value: Any, dtype: str) -> None:
    def taken() -> Any:
        buffer = SampleBuffer(3, None, ())
        first = np.zeros((2, 3), dtype)
        try:
            buffer.fill(iter([(first,), (value,), (first,)]))
        except Exception as error:
            return type(error), str(error), len(buffer)
        return buffer.take()[0].data.tolist()

    assert taken() == without_c(taken)


def test_a_table_is_freed_with_what_fills_it() -> None:
    table = np.zeros((2, 3))
    put = loops.putter(table, lambda row, value: row)
    before = sys.getrefcount(table)
    assert put(1, np.ones(3)) is None and put(7, np.ones(3)) == 7 and put(-1, np.ones(3)) == -1
    assert table.tolist() == [[0, 0, 0], [1, 1, 1]]
    with pytest.raises(TypeError, match="the number of a row and a value"):
        put(1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        put("1", np.ones(3))  # type: ignore[arg-type]
    del put
    assert sys.getrefcount(table) == before - 1
    with pytest.raises(ValueError, match="no Python objects"):
        loops.compiled.putter(np.zeros(3, object), print)


# -- snappy -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(loops.compiled, "pick"), reason="there was no C compiler when fluidio was installed")
@pytest.mark.parametrize(
    ("which", "starts", "stops", "room"),
    [
        ([2], [0], [4], 4),
        ([-1], [0], [4], 4),
        ([0], [-1], [3], 4),
        ([0], [4], [8], 3),
        ([0], [4], [9], 5),
        ([0], [4], [3], 0),
        ([0, 1], [0, 0], [4, 2], 7),
        ([0, 1], [0, 0], [4, 2], 5),
    ],
)
def test_pieces_outside_of_a_payload_or_of_the_target_are_refused(
    which: list[int], starts: list[int], stops: list[int], room: int
) -> None:
    numbers = [np.array(each, np.int64) for each in (which, starts, stops)]
    with pytest.raises(ValueError, match="do not fill the target"):
        loops.compiled.pick((memoryview(bytes(8)), memoryview(bytes(2))), *numbers, np.zeros(room, np.uint8))


@given(
    st.integers(0, 9), st.integers(0, 9), st.integers(1, 9), st.binary(min_size=1, max_size=6), st.binary(max_size=99)
)
def test_equal_places_are_found_alike(first: int, stride: int, count: int, like: bytes, payload: bytes) -> None:
    data = bytearray(payload.ljust(first + stride * (count - 1) + len(like), b"\0"))
    for index in range(count - (len(payload) % 3 == 0)):
        data[first + index * stride : first + index * stride + len(like)] = like
    args = memoryview(data), first, stride, count, like
    assert loops.alike(*args) == without_c(loops.alike, *args)


@pytest.mark.parametrize(
    ("first", "stride", "count"), [(-1, 4, 2), (0, -4, 2), (0, 4, 0), (5, 4, 2), (0, 5, 2), (9, 0, 1), (0, 1 << 62, 9)]
)
def test_places_outside_of_a_payload_are_refused(first: int, stride: int, count: int) -> None:
    with pytest.raises(ValueError, match="not all inside the payload"):
        loops.compiled.alike(bytes(8), first, stride, count, b"abcd")

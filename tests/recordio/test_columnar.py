"""The three ways to decode a chunk agree, and a chunk encoded from columns is the chunk encoded record by record."""

from __future__ import annotations

import struct
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from fluidio.recordio.decode import ragged
from fluidio.recordio.decode.block import RecordBlock
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.columnar import Decoder, RecordError
from fluidio.recordio.decode.spans import Part, gather
from fluidio.recordio.format.records import split
from fluidio.recordio.format.tensor_codec import encode_record, encode_tensor, tensor_prefix
from fluidio.recordio.write.encode import encode_block, record_sizes
from tests.recordio.strategies import Tensor, alike, mixed, same


def payload_of(records: list[list[Tensor]]) -> memoryview:
    bodies = [encode_record(record) for record in records]
    return memoryview(b"".join(struct.pack("<I", len(body)) + body for body in bodies))


def decode(payload: memoryview, count: int, start: int = 0) -> list[RecordBlock]:
    return list(Decoder().decode(payload, split(payload, count), start))


def one_by_one(payload: memoryview, count: int) -> list[RecordBlock]:
    return list(Decoder()._each(payload, split(payload, count), 0))


def singles(blocks: list[RecordBlock]) -> list[list[Tensor]]:
    return [block.slice(i, i + 1).tensors() for block in blocks for i in range(len(block))]


@given(alike())
def test_records_of_one_layout_become_one_block_whichever_way(records: list[list[Tensor]]) -> None:
    payload = payload_of(records)
    fast = decode(payload, len(records))
    slow = one_by_one(payload, len(records))
    assert len(fast) == len(slow) == 1
    assert same(fast[0].tensors(), slow[0].tensors())
    for a, b in zip(fast[0].columns, slow[0].columns):
        assert a.rows_per_record == b.rows_per_record
        assert np.array_equal(a.offsets(), b.offsets())
        assert np.array_equal(a.sequences(), b.sequences())


@given(alike())
def test_lock_step_decodes_every_block_of_one_layout(records: list[list[Tensor]]) -> None:
    payload = payload_of(records)
    span = ragged.locate(payload, split(payload, len(records)))
    assert span is not None
    assert same(gather([Part(span, 0, len(records))], Pool()).tensors(), one_by_one(payload, len(records))[0].tensors())


@given(mixed())
def test_every_record_comes_back(records: list[list[Tensor]]) -> None:
    found = singles(decode(payload_of(records), len(records)))
    assert len(found) == len(records)
    assert all(same(a, b) for a, b in zip(found, records))


@given(alike())
def test_a_block_encodes_to_the_bytes_of_its_records(records: list[list[Tensor]]) -> None:
    payload = payload_of(records)
    (block,) = decode(payload, len(records))
    assert bytes(encode_block(block)) == bytes(payload)
    assert record_sizes(block).tolist() == [len(encode_record(record)) for record in records]
    half = len(block) // 2
    assert bytes(encode_block(block.slice(half, len(block)))) == bytes(payload_of(records[half:]))


@given(mixed())
def test_decoding_can_start_at_any_record(records: list[list[Tensor]]) -> None:
    start = len(records) // 2
    found = singles(decode(payload_of(records), len(records), start))
    assert all(same(a, b) for a, b in zip(found, records[start:], strict=True))


def test_the_blocks_do_not_share_memory_with_the_chunk() -> None:
    records: list[list[Tensor]] = [[(np.full((1, 3), i, np.float32), ()), (np.full((1, 1), i), ())] for i in range(5)]
    payload = bytearray(payload_of(records))
    (block,) = decode(memoryview(payload), 5)
    payload[:] = bytes(len(payload))
    assert block.columns[0].data[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert block.columns[1].data[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert all(column.data.flags.writeable for column in block.columns)


def record_with_desc(desc: bytes, data: bytes) -> bytes:
    return struct.pack("<IIQIi", 1, 0, 0, 0, len(desc)) + desc + data


@pytest.mark.parametrize(
    "desc",
    [
        b"\x08\x05\x12\x02\x01\x04",  # packed
        b"\x10\x01\x10\x04\x08\x05",  # dims first
        b"\x08\x03\x08\x05\x10\x01\x10\x04",  # the last data_type wins
        b"\x08\x05\x10\x01\x1a\x03abc\x10\x04",  # an unknown field
        b"\x08\x05\x10\x81\x00\x10\x04",  # a varint longer than needed
    ],
)
def test_other_spellings_of_a_tensor_description_are_understood(desc: bytes) -> None:
    data = np.arange(4, dtype=np.float32)
    body = record_with_desc(desc, data.tobytes())
    plain = encode_record([(data.reshape(1, 4), ())])
    for bodies in ([body], [body, body], [plain, body], [body, plain]):
        payload = memoryview(b"".join(struct.pack("<I", len(b)) + b for b in bodies))
        (block,) = decode(payload, len(bodies))
        assert block.columns[0].data.tolist() == [[0, 1, 2, 3]] * len(bodies)


def test_a_bad_record_is_named_and_the_ones_before_are_delivered() -> None:
    good = encode_record([(np.ones((1, 2), np.float32), ())])
    bodies = [good, good, b"\x01\0\0\0nonsense!", good]
    payload = memoryview(b"".join(struct.pack("<I", len(b)) + b for b in bodies))
    decoder = Decoder()
    blocks = decoder.decode(payload, split(payload, 4))
    assert len(next(blocks)) == 2
    with pytest.raises(RecordError) as caught:
        next(blocks)
    assert caught.value.record == 2
    assert [len(block) for block in decoder.decode(payload, split(payload, 4), 3)] == [1]


def test_levels_stored_innermost_first_are_put_in_order() -> None:
    ids = np.arange(8).reshape(8, 1)
    outer, inner = np.array([0, 3, 4]), np.array([0, 1, 3, 6, 8])
    right = encode_tensor(ids, (outer, inner))
    wrong = encode_tensor(ids, (inner, outer))
    # Fits both ways by itself: the others decide.
    both = encode_tensor(np.arange(2).reshape(2, 1), (np.array([0, 1, 2]), np.array([0, 2, 2])))
    bodies = [struct.pack("<I", 1) + tensor for tensor in (both, wrong)]
    payload = memoryview(b"".join(struct.pack("<I", len(b)) + b for b in bodies))
    with pytest.warns(UserWarning, match="innermost first"):
        (block,) = decode(payload, 2)
    assert [level.tolist() for level in block.slice(1, 2).columns[0].lod] == [outer.tolist(), inner.tolist()]
    assert [level.tolist() for level in block.slice(0, 1).columns[0].lod] == [[0, 2, 2], [0, 1, 2]]
    payload = memoryview(struct.pack("<II", len(right) + 4, 1) + right)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (block,) = decode(payload, 1)
    assert block.columns[0].lod[0].tolist() == [0, 3, 4]


def test_the_example_of_the_format_description() -> None:
    array = np.array([[1, 2], [3, 4]], np.float32)
    expected = "000000000000000000000000" + "00000000" + "06000000" + "080510021002"
    assert encode_tensor(array).hex() == expected + array.tobytes().hex()
    assert len(tensor_prefix(np.dtype("float32"), (1, 784))) == 31 - 4
    record: list[Tensor] = [(np.zeros((1, 784), np.float32), ()), (np.zeros((1, 1), np.int64), ())]
    assert len(encode_record(record)) == 3201


def test_a_record_without_tensors_is_a_record() -> None:
    payload = memoryview(struct.pack("<II", 4, 0) * 3)
    (block,) = decode(payload, 3)
    assert len(block) == 3
    assert block.columns == ()
    assert bytes(encode_block(block)) == bytes(payload)


def test_big_endian_arrays_are_written_little_endian() -> None:
    array: np.ndarray[Any, Any] = np.arange(6, dtype=">i4").reshape(3, 2)
    assert encode_tensor(array) == encode_tensor(array.astype("<i4"))

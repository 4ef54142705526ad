"""Snappy in C gives what cramjam gives, also for blocks that are damaged."""

from __future__ import annotations

import random
import struct
from typing import Any

import cramjam
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.format import compressors
from fluidio.recordio.format.compressors import FRAMED, RAW, SNAPPYSTREAM, CodecError
from tests.recordio.test_compiled import without_c

pytestmark = pytest.mark.skipif(
    compressors.compiled is None, reason="there was no C compiler when fluidio was installed"
)

texts = st.one_of(
    st.binary(max_size=300),
    st.lists(st.tuples(st.binary(min_size=1, max_size=12), st.integers(1, 90)), max_size=12).map(
        lambda runs: b"".join(text * count for text, count in runs)
    ),
    st.lists(st.sampled_from([-1.0, 0.25, 0.5, 0.75]), max_size=400).map(lambda v: np.array(v, np.float32).tobytes()),
)


def theirs(stored: bytes, limit: int) -> bytes | None:
    out = bytearray(limit)
    try:
        return bytes(out[: cramjam.snappy.decompress_raw_into(stored, out)])
    except cramjam.DecompressionError:
        return None


def ours(stored: bytes, limit: int) -> bytes | None:
    memory, block = np.full(limit + 256, 7, np.uint8), np.array([[1, 0, 0, len(stored)]])
    done = compressors.compiled.decompress(stored, block, limit, memory[:limit])
    assert (memory[limit:] == 7).all(), "it wrote past its end"
    return memory[: block[0, 1]].tobytes() if done else None


@given(texts, st.integers(-1, 100), st.randoms(use_true_random=False))
def test_snappy_blocks_are_what_cramjam_says(text: bytes, more: int, rng: random.Random) -> None:
    stored = bytearray(cramjam.snappy.compress_raw(text))
    limit = max(0, len(text) + more)
    assert ours(bytes(stored), limit) == theirs(bytes(stored), limit) == (text if limit >= len(text) else None)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(stored))
        stored[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
        if not stored:
            break
    assert ours(bytes(stored), limit) == theirs(bytes(stored), limit)


@pytest.mark.parametrize("offset", range(1, 40))
@pytest.mark.parametrize("length", [1, 4, 7, 8, 9, 31, 32, 33, 63, 64])
def test_copies_may_overlap_what_they_copy(offset: int, length: int) -> None:
    start = bytes(range(offset))
    text = start + bytes([i % offset for i in range(length)]) + bytes(120)

    def copy(length: int, offset: int) -> bytes:
        return struct.pack("<BH", (length - 1) << 2 | 2, offset)

    size = bytes([len(text) & 127 | 128, len(text) >> 7])
    zeros = bytes(2) + copy(60, 1) + copy(59, 1)  # a literal zero, then it again and again
    stored = size + bytes([(offset - 1) << 2]) + start + copy(length, offset) + zeros
    assert ours(stored, len(text)) == theirs(stored, len(text)) == text


LONG = bytes([200, 1, 59 << 2]) + bytes(60)  # 200 bytes, of which a literal gives 60


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"\x80",
        b"\xff\xff\xff\xff\xff\x01" + bytes(9),
        LONG,
        LONG + b"\xfe\x01\x00" * 2 + bytes([12 << 2]) + bytes(12),
        LONG + b"\xfe\x00\x00" + bytes([58 << 2]) + bytes(59) + bytes([16 << 2]) + bytes(17),
        LONG + b"\xfe\x3d\x00" + bytes([58 << 2]) + bytes(59) + bytes([16 << 2]) + bytes(17),
        LONG + b"\xfe\x01\x00" * 3,
        LONG + b"\xfe\x01\x00" * 2 + b"\x2e\x00\x00",
        LONG + b"\xfe\x01\x00" * 2 + b"\x2e\x01",
        LONG + b"\xfe\x01\x00" * 2 + b"\x2f\x01\x00\x00",
        LONG + b"\xfc\xff\xff\xff\xff",
        LONG + b"\xf0",
        LONG + b"\xf0\xff" + bytes(99),
    ],
)
def test_what_is_no_snappy_block_is_refused(stored: bytes) -> None:
    """Nothing, sizes without end; too short; offsets of 0 and before the start; too long; cut inside an element."""
    assert ours(stored, 200) is theirs(stored, 200) is None


@given(st.lists(texts, min_size=1, max_size=3), st.integers(0, 3), st.randoms(use_true_random=False))
def test_the_blocks_of_a_stream_are_found_alike(parts: list[bytes], strokes: int, rng: random.Random) -> None:
    stored = bytearray(b"".join(bytes(SNAPPYSTREAM.compress(part)) for part in parts))
    for _ in range(strokes):
        at = rng.randrange(len(stored))
        stored[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
    view = memoryview(bytes(stored))

    def found() -> Any:
        try:
            return [tuple(map(int, block)) for block in compressors._stream_blocks(view)]
        except CodecError as error:
            return str(error)

    assert found() == without_c(found)


def test_a_stream_may_have_many_blocks() -> None:
    block = struct.pack(">BHI", 0, 1, 7) + b"x"
    found = compressors._stream_blocks(memoryview(b"snappy\0" + block * 1000))
    assert len(found) == 1000 and found[999].tolist() == [0, 7, 7 + 8 * 999 + 7, 7 + 8 * 1000]


@pytest.mark.parametrize("compressor", [SNAPPYSTREAM, FRAMED, RAW])
def test_whole_chunks_are_decompressed_alike(compressor: Any) -> None:
    text = np.random.default_rng(3).choice([-1.0, -1.0, 0.5, 0.25], 70_000).astype(np.float32).tobytes() + bytes(9)
    noise = np.random.default_rng(4).bytes(50_000)  # its blocks are stored as they are
    for payload in (text, noise, text + noise, b"x"):
        stored = memoryview(compressor.compress(payload))
        for verify in (False, True):
            assert compressor.decompress(stored, Pool(), verify) == payload
            assert without_c(compressor.decompress, stored, Pool(), verify) == payload

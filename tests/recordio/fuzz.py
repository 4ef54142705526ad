"""Damage RecordIO files in every way and look at what the readers say.

    python -m tests.recordio.fuzz [--count 100000] [--seed 0]

Never a wrong record, never a hang, never more memory than a small multiple of the file, and no exception but
RecordIOError. Two kinds of damage: plain (the checksums are left as they are) and sealed (a payload is changed and its
checksum made to fit, as only an attacker or a broken writer would), where the three ways to decode must agree.
"""

from __future__ import annotations

import argparse
import io
import random
import resource
import struct
import sys
import time
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from fluidio.errors import RecordIOError
from fluidio.recordio import BlockReader, Column, File, RecordBlock, Writer
from fluidio.recordio.decode.columnar import Decoder, RecordError
from fluidio.recordio.format.chunks import ChunkReader
from fluidio.recordio.format.dialects import HEADER_SIZE
from fluidio.recordio.format.records import split
from fluidio.recordio.write.encode import encode_block
from tests.recordio.strategies import same

Chunks = set[tuple[bytes, ...]]
INTERESTING = (0, 1, 2, 3, 4, 7, 19, 20, 127, 128, 255, 256, 32767, 32768, 32769, 65536, 1 << 31, (1 << 32) - 1)
SLOWEST = 2.0  # seconds for one small file


def byte_records(rng: random.Random) -> list[bytes]:
    kinds: list[Callable[[], bytes]] = [
        lambda: b"",
        lambda: rng.randbytes(rng.randrange(40)),
        lambda: bytes([rng.randrange(256)]) * rng.randrange(300),
        lambda: b"%d:" % rng.randrange(1000) * rng.randrange(1, 60),
        lambda: struct.pack("<I", rng.choice(INTERESTING)),
    ]
    return [rng.choice(kinds)() for _ in range(rng.randrange(1, 30))]


def tensor_block(rng: random.Random) -> RecordBlock:
    count = rng.randrange(1, 12)
    lengths = [rng.randrange(5) if rng.random() < 0.7 else 3 for _ in range(count)]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    dense = Column(np.arange(count * 3, dtype=np.float32).reshape(count, 3))
    words = Column(np.arange(offsets[-1])[:, None], offsets, (offsets,))
    return RecordBlock(rng.choice([[dense], [dense, words], [words], [words, words, dense]]))


def make_file(rng: random.Random) -> bytes:
    out = io.BytesIO()
    dialect, compressor = rng.choice(["fluid", "fluid", "go", "elasticdl"]), rng.choice(["none", "snappy", "gzip"])
    with Writer(out, compressor, rng.choice([1, 2, 5, 1000]), dialect=dialect, max_chunk_bytes=1 << 20) as writer:
        if rng.random() < 0.3:
            writer.write_block(tensor_block(rng))
        else:
            for record in byte_records(rng):
                writer.write(record)
    return out.getvalue()


def chunks_of(data: bytes) -> Chunks:
    with ChunkReader(io.BytesIO(data)) as reader:
        return {tuple(chunk.records()) for chunk in reader}


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return `data` after one to three strokes of bad luck."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if not out:
            break
        a, b = sorted(rng.randrange(len(out) + 1) for _ in range(2))
        b = min(b, a + rng.choice([1, 4, 20, 100, 10000]))
        at = rng.randrange(len(out))
        stroke = rng.randrange(9)
        if stroke == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif stroke == 1:
            out[at] = rng.randrange(256)
        elif stroke == 2:
            del out[at:]
        elif stroke == 3:
            del out[a:b]
        elif stroke == 4:
            out[at:at] = out[a:b]
        elif stroke == 5:
            out[at:at] = rng.randbytes(rng.choice([1, 4, 20]))
        elif stroke == 6:
            out[a:b] = rng.randbytes(b - a)
        elif stroke == 7:
            out[a:b] = bytes(b - a)
        else:  # a word of the first header, or of any place that looks like one
            start = max(0, out.find(b"\x04\x03\x02\x01", at)) + 4 * rng.randrange(5)
            out[start : start + 4] = struct.pack("<I", rng.choice(INTERESTING))
    return bytes(out)


def check_plain(data: bytes, good: Chunks) -> None:
    """Read a damaged file in every way; each chunk that is delivered must be one that was written."""
    for on_error in ("raise", "skip"):
        with ChunkReader(io.BytesIO(data), on_error=on_error) as reader:
            delivered = []
            try:
                for chunk in reader:
                    delivered.append(tuple(chunk.records()))
            except RecordIOError as error:
                if error.path is None:
                    raise AssertionError(f"an error without a path: {error}") from error
            for records in delivered:
                if records not in good:
                    raise AssertionError(f"a wrong chunk was passed as good: {records}")
            room = max(1 << 16, 2 * len(data)) + 44 * len(data) + (1 << 17)
            if 2 * reader._buffers.largest > room:
                raise AssertionError("too much memory")
        try:
            with File(io.BytesIO(data), on_error=on_error) as file:
                known = {record for records in good for record in records}
                for record in file:
                    if record not in known:
                        raise AssertionError(f"a wrong record was passed as good: {record!r}")
        except RecordIOError:
            pass
        try:
            with BlockReader(io.BytesIO(data), on_error=on_error) as blocks:
                for _ in blocks:
                    pass
        except RecordIOError:
            pass


def check_sealed(rng: random.Random) -> None:
    """Change the payload of tensor records: whichever way they are decoded, the result is the same."""
    block = tensor_block(rng)
    payload = bytearray(encode_block(block))
    for _ in range(rng.choice([1, 1, 2])):
        at = rng.randrange(len(payload))
        if rng.random() < 0.5:
            payload[at] = rng.choice([0, 1, 2, 8, 16, 18, 127, 128, 255, rng.randrange(256)])
        else:
            payload[at : at + 8] = struct.pack("<Q", rng.choice(INTERESTING))[: len(payload) - at]
    view = memoryview(bytes(payload))
    try:
        table = split(view, len(block))
    except ValueError:
        return
    quick = outcome(Decoder().decode(view, table))
    slow = outcome(Decoder()._each(view, table, 0))
    if quick[1] != slow[1] or len(quick[0]) != len(slow[0]):
        raise AssertionError(f"the ways to decode disagree: {quick} against {slow}")
    for left, right in zip(quick[0], slow[0]):
        if not same(left, right):
            raise AssertionError(f"the ways to decode disagree: {left} against {right}")
    seal = struct.pack("<5I", 0x01020304, len(block), zlib.crc32(view), 0, len(view))
    with BlockReader(io.BytesIO(seal + bytes(view)), on_error="skip") as reader:
        for _ in reader:
            pass


def outcome(blocks: Any) -> tuple[list[Any], int | None]:
    """Return the records of some blocks one by one, and the number of the record that failed."""
    found: list[Any] = []
    try:
        for block in blocks:
            found += [block.slice(i, i + 1).tensors() for i in range(len(block))]
    except RecordError as error:
        return found, error.record
    return found, None


def run(count: int, seed: int, report: bool = False) -> None:
    """Check `count` damaged files; AssertionError or any other exception is a find."""
    rng = random.Random(seed)
    data, good = b"", set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(count):
            state = rng.getstate()
            start = time.process_time()
            try:
                if number % 10 == 0:
                    data = make_file(rng)
                    good = chunks_of(data)
                if number % 4 == 3:
                    check_sealed(rng)
                else:
                    check_plain(mutate(data, rng), good)
                if time.process_time() - start > SLOWEST:
                    raise AssertionError(f"too slow: {time.process_time() - start:.1f} s")
            except Exception as error:
                raise AssertionError(f"file {number} of seed {seed} (state {hash(state)}): {error!r}") from error
            if report and number % 5000 == 4999:
                print(f"{number + 1} files", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    run(args.count, args.seed, report=True)
    print(f"{args.count} damaged files: nothing wrong passed as good (header {HEADER_SIZE} bytes, all dialects)")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Damage to bytes: flipped, cut, doubled, spliced, and numbers that parsers fear."""

from __future__ import annotations

import random
import struct

FEARED = [
    0,
    1,
    2,
    7,
    127,
    128,
    255,
    256,
    1 << 15,
    1 << 16,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 62,
    (1 << 64) - 1,
]
WORDS = [
    b"[" * 50,
    b"[" * 20000,
    b'{"":' * 20000,
    b"{" * 50,
    b"9" * 400,
    b"9" * 5000,  # more digits than Python takes
    b"-1",
    b"1e999",
    b"../",
    b"\xff" * 10,
    b"\x80" * 9 + b"\x01",
]


def mutated(data: bytes, others: list[bytes], random: random.Random) -> bytes:
    """Return `data` after one to four strokes."""
    out = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 3, 4])):
        at = random.randrange(len(out) + 1)
        end = min(len(out), at + random.choice([1, 2, 4, 8, 30, 200]))
        other = random.choice(others)
        cut = random.randrange(len(other) + 1)
        stroke = random.randrange(9)
        if stroke == 0 and at < len(out):
            out[at] ^= 1 << random.randrange(8)
        elif stroke == 1:
            out[at:end] = random.randbytes(end - at)
        elif stroke == 2:
            del out[at:end]
        elif stroke == 3:
            out[at:at] = out[at:end]
        elif stroke == 4:
            out[at:end] = other[cut : cut + random.randint(1, 60)]
        elif stroke == 5:
            number = random.choice(FEARED)
            width = random.choice("BHIQ")
            size = struct.calcsize(width)
            out[at : at + size] = struct.pack("<" + width, number & ((1 << 8 * size) - 1))
        elif stroke == 6:
            out[at:end] = random.choice(WORDS)
        elif stroke == 7:
            del out[random.randrange(len(out) + 1) :]
        else:
            out[at:end] = bytes(end - at)
    return bytes(out)

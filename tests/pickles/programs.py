"""Pickles that nobody would write: mutated ones, and random opcodes with arguments that make sense to them."""

from __future__ import annotations

import collections
import pickle
import random
import struct
from typing import Any

import numpy as np

NAMES = [
    b"numpy\nndarray",
    b"numpy\ndtype",
    b"numpy\nfloat32",
    b"numpy.core.multiarray\n_reconstruct",
    b"numpy.core.multiarray\nscalar",
    b"numpy.core.numeric\n_frombuffer",
    b"collections\nOrderedDict",
    b"collections\ndefaultdict",
    b"collections\ndeque",
    b"_codecs\nencode",
    b"builtins\nbytes",
    b"builtins\nbytearray",
    b"builtins\nset",
    b"builtins\nlist",
    b"builtins\ndict",
    b"builtins\nint",
    b"builtins\ncomplex",
]
TEXTS = [b"O", b"f4", b"i8", b"V8", b"S0", b"O8", b"M8", b"<", b"|", b"latin1", b"a", b"", b"\x00" * 8, b"A" * 16]
PLAIN = b"()]}N\x88\x89"
WORK = b"tesuRbb\x85\x86\x87\x8f\x90\x91a0120\x94\x81"

VALUES: list[Any] = [
    {"a": np.arange(6, dtype="i2"), "b": [1, "two", b"three"]},
    (np.ones((3, 4), "f4"), 7, np.float64(2.5), "text"),
    np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8", (2,))]),
    np.array([[1, "x"], None], dtype=object),
    [collections.OrderedDict(a=1), collections.defaultdict(int, {"a": 1}), collections.deque([1, 2], 5)],
    [{1, 2}, frozenset({3}), bytearray(b"ab"), 3j, np.datetime64("2020-01-01"), np.asfortranarray(np.ones((2, 3)))],
]
WHOLE = [pickle.dumps(value, protocol) for value in VALUES for protocol in range(6)]


def mutated(random: random.Random) -> bytes:
    """Return a pickle of data with some of its bytes changed, doubled, dropped or swapped for another pickle's."""
    data = bytearray(random.choice(WHOLE))
    for _ in range(random.randint(1, 5)):
        at = random.randrange(len(data))
        other = random.choice(WHOLE)
        cut = random.randrange(len(other))
        piece = [
            bytes([random.randrange(256)]),
            bytes([random.choice(PLAIN + WORK)]),
            other[cut : cut + random.randint(0, 30)],
            struct.pack("<I", random.choice([0, 1, 255, 1 << 16, (1 << 31) - 1, (1 << 32) - 1])),
        ][random.randrange(4)]
        data[at : at + random.choice([0, 1, len(piece)])] = piece
    return bytes(data)


def program(random: random.Random) -> bytes:
    """Return random opcodes: names that are allowed, small values, and everything that works on them."""
    parts = [b"\x80\x04"]
    for _ in range(random.randint(3, 40)):
        kind = random.randrange(12)
        if kind < 2:
            parts.append(b"c" + random.choice(NAMES) + b"\n")
        elif kind < 4:
            text = random.choice(TEXTS)
            parts.append(random.choice([b"\x8c", b"C", b"U"]) + bytes([len(text)]) + text)
        elif kind < 6:
            number = random.choice([0, 1, 2, 3, 255, 1 << 20, (1 << 31) - 1, -1])
            parts.append(b"J" + struct.pack("<i", number))
        elif kind < 7:
            parts.append(b"h" + bytes([random.randrange(6)]))
        elif kind < 9:
            parts.append(bytes([random.choice(PLAIN)]))
        else:
            parts.append(bytes([random.choice(WORK)]))
    return b"".join(parts) + b"."


def valid_program(random: random.Random) -> bytes:
    """Return opcodes that the scan lets through, by adding one at a time and keeping those that have what they need."""
    from fluidio.pickles.opcodes import scan

    data = b"\x80\x04N\x94"
    for _ in range(40):
        piece = program(random)[2:-1]
        for candidate in (data + piece, data + piece[:3]):
            try:
                scan(candidate + b".")
            except ValueError:
                continue
            data = candidate
            break
        if len(data) > 400:
            break
    return data + b"."

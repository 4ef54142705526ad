"""hash: map ids to other ids below a bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__ = ["xxh64"]

_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(n)
    for n in (
        11400714785074694791,
        14029467366897019727,
        1609587929392839161,
        9650029242287828579,
        2870177450012600261,
    )
)


def _rotate(x: Array, bits: int) -> Array:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


def _round(lane: Any, word: Any) -> Any:
    return _rotate(lane + word * _P2, 31) * _P1


def xxh64(rows: Array, seed: int) -> Array:
    """Return the 64-bit xxHash of each row of bytes [n, length]."""
    with np.errstate(over="ignore"):
        return _xxh64(np.ascontiguousarray(rows), np.uint64(seed))


def _xxh64(rows: Any, seed: Any) -> Any:
    count, length = rows.shape
    at = 0
    if length >= 32:
        lanes = [np.full(count, start, np.uint64) for start in (seed + _P1 + _P2, seed + _P2, seed, seed - _P1)]
        while at + 32 <= length:
            words = np.ascontiguousarray(rows[:, at : at + 32]).view("<u8")
            lanes = [_round(lane, words[:, i]) for i, lane in enumerate(lanes)]
            at += 32
        found = sum((_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))), np.zeros(count, np.uint64))
        for lane in lanes:
            found = (found ^ _round(np.uint64(0), lane)) * _P1 + _P4
    else:
        found = np.full(count, seed + _P5, np.uint64)
    found = found + np.uint64(length)
    return _scramble(_tail(found, rows[:, at:]))


def _tail(found: Array, rest: Any) -> Array:
    """Mix in the remaining bytes, fewer than 32."""
    at, length = 0, rest.shape[1]
    while at + 8 <= length:
        word = np.ascontiguousarray(rest[:, at : at + 8]).view("<u8")[:, 0]
        found = _rotate(found ^ _round(np.uint64(0), word), 27) * _P1 + _P4
        at += 8
    if at + 4 <= length:
        word = np.ascontiguousarray(rest[:, at : at + 4]).view("<u4")[:, 0].astype(np.uint64)
        found = _rotate(found ^ (word * _P1), 23) * _P2 + _P3
        at += 4
    for i in range(at, length):
        found = _rotate(found ^ (rest[:, i].astype(np.uint64) * _P5), 11) * _P1
    return found


def _scramble(found: Array) -> Array:
    found = (found ^ (found >> np.uint64(33))) * _P2
    found = (found ^ (found >> np.uint64(29))) * _P3
    return found ^ (found >> np.uint64(32))


def _infer(c: InferContext) -> None:
    shape = c.shape("X")
    c.check(len(shape) == 2, f"X must have 2 dims, its shape is {list(shape)}")
    c.set("Out", (shape[0], c.attrs["num_hash"], 1), "int64", c.input("X").lod_level)


@op("hash", "X", "Out", {"num_hash": 1, "mod_by": 100000}, infer=_infer, grad=False)
def hash_(k: Call, x: Array) -> Array:
    """Out = num_hash hashes of each row of X, modulo mod_by. On the host."""
    rows = np.ascontiguousarray(k.dev.download(x))
    found = [
        xxh64(rows.view(np.uint8).reshape(rows.shape[0], -1), n) % np.uint64(k.attrs["mod_by"] % 2**64)
        for n in range(k.attrs["num_hash"])
    ]
    return k.dev.upload(np.stack(found, axis=1).astype(rows.dtype)[..., None])

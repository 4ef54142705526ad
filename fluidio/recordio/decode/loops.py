"""Loops over records that NumPy has no operation for, in C if it could be compiled.

`_loops.c` is built when fluidio is installed, if there is a C compiler. Otherwise `compiled` is None and Python code
gives the same results.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.format.tensor_codec import TensorHead
from fluidio.tensor.array import Array, DType
from fluidio.tensor.lod import IntArray
from fluidio.varint import varint

compiled: Any
try:
    from fluidio.recordio import _loops as compiled
except ImportError:
    compiled = None

__all__ = [
    "Cuts",
    "Pattern",
    "Places",
    "alike",
    "compiled",
    "copy",
    "join",
    "pattern",
    "pick",
    "places",
    "prefixes",
    "putter",
    "untyped",
    "walk",
]

_LARGE = 2048  # bytes of a piece: copying into existing memory is cheaper than joining into fresh pages
_WORTH_RELEASING = 1 << 15  # bytes to copy
_BYTES = np.dtype(np.uint8)
_unpack_length = struct.Struct("<I").unpack_from


def walk(payload: memoryview, count: int) -> IntArray:
    """Return where `count` records begin and the last one ends; fewer if one would begin past the payload.

    Each length says where the next one is.
    """
    if compiled is not None:
        edges = np.empty(count + 1, np.int64)
        return edges[: compiled.walk(payload, edges) + 1]
    found = [0] * (count + 1)
    index = position = 0
    try:
        for index in range(count):
            found[index] = position
            (length,) = _unpack_length(payload, position)
            position += length + 4
    except struct.error:
        return np.array(found[: index + 1], np.int64)
    found[count] = position
    return np.array(found, np.int64)


def alike(payload: memoryview, first: int, stride: int, count: int, like: bytes) -> bool:
    """Return whether the bytes `like` are at first, first + stride, ..., `count` times."""
    if hasattr(compiled, "alike"):  # not in a module that was built for an older fluidio
        return bool(compiled.alike(payload, first, stride, count, like))
    # Much faster than comparing arrays word by word.
    return np.ndarray((count,), untyped(len(like)), payload, first, (stride,)).tobytes() == like * count


def prefixes(
    payload: memoryview, at: IntArray, ends: IntArray, head: TensorHead, lead: int, row_size: int
) -> tuple[IntArray, IntArray, IntArray] | None:
    """Return the heights of a tensor in all records and where its data begins and ends; None without C.

    Also None if the prefix of a record differs in more than its height, or its LoD has more than one sequence.
    """
    if compiled is None:
        return None
    like = pattern(payload, int(at[0]), head, lead, row_size)
    if like is None:
        return None
    rows, starts, stops = np.empty((3, len(at)), np.int64)
    alike = compiled.prefixes(payload, at, ends, *like, rows, starts, stops)
    return (rows, starts, stops) if alike else None


class Pattern(NamedTuple):
    """What stands before a tensor's data, the same in all records but for the height and the size of the TensorDesc.

    Attributes:
        before: up to the height in the LoD if there is one, else up to the TensorDesc's framing.
        start: of the TensorDesc, up to the height.
        tail: of the TensorDesc, behind the height.
    """

    before: bytes
    has_lod: bool
    start: bytes
    tail: bytes
    row_size: int


def pattern(payload: memoryview, first: int, head: TensorHead, lead: int, row_size: int) -> Pattern | None:
    """Return the pattern of the tensor at first + lead of a record; None if its LoD has more than one sequence.

    Args:
        lead: number of bytes before the tensor that are part of the pattern.
    """
    if row_size <= 0 or len(head.lod) > 1:
        return None
    if head.lod and (len(head.lod[0]) != 2 or head.lod[0][0] != 0):
        return None
    lod = first + lead + 12 + 16 * len(head.lod)
    desc = lod + 8 * len(head.lod) + 8
    height = desc + 3
    start = bytes(payload[desc:height])
    if start[0] != 8 or start[1] > 0x7F or start[2] != 0x10:
        return None
    tail = height + len(varint(head.dims[0]))
    return Pattern(bytes(payload[first:lod]), bool(head.lod), start, bytes(payload[tail : head.start]), row_size)


@functools.lru_cache(maxsize=256)
def untyped(size: int) -> DType:
    """Return the dtype of `size` raw bytes."""
    return np.dtype(f"V{size}")


def copy(payload: memoryview, first: int, stride: int, size: int, target: Array, at: int, count: int) -> None:
    """Copy items of `size` bytes, `stride` bytes from one to the next, to items at, at + 1, ... of the target."""
    if compiled is not None:
        compiled.copy(payload, first, stride, size, target, at, count)
        return
    # Copy raw bytes, whatever their alignment: small items as untyped ones, others as bytes, for which NumPy releases
    # the interpreter lock.
    found: Array
    if count * size < _WORTH_RELEASING:
        found = np.ndarray((count,), untyped(size), payload, first, (stride,))
    else:
        found = np.ndarray((count, size), _BYTES, payload, first, (stride, 1))
    np.ndarray(found.shape, found.dtype, target, at * size)[:] = found


def putter(table: Array, put: Callable[[int, Any], object]) -> Callable[[int, Any], object]:
    """Return a `put(row, value)` that is faster for arrays with exactly the dtype and shape of the table's rows."""
    if compiled is None or table.dtype.kind not in "biuf":
        return put
    quicker: Callable[[int, Any], object] = compiled.putter(table, put)
    return quicker


Places = Any
"""Positions as `join` takes them: an array where it is compiled, else a list."""
Cuts = tuple[memoryview, Places, Places]
"""Pieces of a payload: it, their starts and their stops."""


def places(positions: IntArray) -> Places:
    """Return positions in the form that `join` takes."""
    return positions if compiled is not None else positions.tolist()


def join(cuts: list[Cuts], like: Array, pool: Pool, out: Array | None = None) -> Array:
    """Return the pieces concatenated into an array like this one, or into `out` if given."""
    if compiled is None:
        return _join(cuts, like, pool, out)
    data = pool.array(like.shape, like.dtype) if out is None else out
    target = data.reshape(-1).view(np.uint8)
    if len(cuts) == 1:
        compiled.join(*cuts[0], target)
        return data
    end = 0
    for payload, starts, stops in cuts:
        start, end = end, end + int((stops - starts).sum())
        compiled.join(payload, starts, stops, target[start:end])
    return data


def pick(payloads: tuple[memoryview, ...], which: IntArray, starts: IntArray, stops: IntArray, target: Array) -> None:
    """Fill the target with pieces of several payloads, one after another."""
    view = target.reshape(-1).view(np.uint8)
    if hasattr(compiled, "pick"):  # not in a module that was built for an older fluidio
        compiled.pick(payloads, which, starts, stops, view)
        return
    end, memory = 0, view.data
    for number, first, last in zip(which.tolist(), starts.tolist(), stops.tolist()):
        start, end = end, end + last - first
        memory[start:end] = payloads[number][first:last]


def _join(cuts: list[Cuts], like: Array, pool: Pool, out: Array | None) -> Array:
    pieces = [whole[a:b] for whole, starts, stops in cuts for a, b in zip(starts, stops)]
    if out is None and like.nbytes < _LARGE * len(pieces):
        # Joining slices beats indexing with 8 bytes of index for every 8 bytes of data.
        return np.ndarray(like.shape, like.dtype, bytearray().join(pieces))
    data = pool.array(like.shape, like.dtype) if out is None else out
    target = data.reshape(-1).view(np.uint8).data
    end = 0
    for piece in pieces:
        start, end = end, end + len(piece)
        target[start:end] = piece
    return data

"""Read the prefixes of a tensor's data in many records at once, if all LoDs have the same length.

The prefix of the first record is the pattern: only LoD offsets and the height, a varint in the middle of a TensorDesc
of at most 8 bytes, may differ from it. This is the usual case of sequences: one gather instead of a dozen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fluidio.recordio.format.tensor_codec import TensorHead
from fluidio.tensor.lod import IntArray
from fluidio.varint import varint

__all__ = ["DESC_ROOM", "Prefixes", "desc_start", "read_prefixes"]

DESC_ROOM = 8

Words = np.ndarray[Any, np.dtype[np.uint64]]


class Prefixes(NamedTuple):
    """One tensor in all records: heights, the lengths of its sequences for each LoD level, and sizes of its descs."""

    rows: IntArray
    lengths: list[IntArray]
    sizes: IntArray


def desc_start(head: TensorHead) -> int:
    """Return the number of bytes before a tensor's TensorDesc."""
    return 20 + sum([8 + 8 * len(level) for level in head.lod])


def read_prefixes(found: npt.NDArray[np.uint8], head: TensorHead, lead: int) -> Prefixes | None:
    """Return the contents of the prefixes; None if they differ from the first in more than offsets and heights.

    Args:
        found: the prefix of every record, one in each row, with DESC_ROOM bytes for the TensorDesc; it is overwritten.
        head: the parsed first prefix.
        lead: number of bytes before the tensor.
    """
    desc = lead + desc_start(head)
    sizes = found[:, desc - 4 : desc].copy().view("<u4").reshape(-1).astype(np.int64)
    heights = _heights(found[:, desc:].copy().view("<u8").reshape(-1), sizes, len(varint(head.dims[0])))
    if heights is None:
        return None
    levels = []
    position = lead + 12
    for level in head.lod:
        start, position = position + 8, position + 8 + 8 * len(level)
        levels.append(found[:, start:position].copy().view("<i8"))
        found[:, start:position] = 0
    framing = found[:, : desc - 4]
    if framing.tobytes() != framing[0].tobytes() * len(found):
        return None
    lengths = _lengths(levels, heights)
    return None if lengths is None else Prefixes(heights, lengths, sizes)


def _heights(words: Words, sizes: IntArray, first_width: int) -> IntArray | None:
    """Return the heights in TensorDescs `08 dtype 10 height tail` of `sizes` bytes; None unless all have this form."""
    first, tail_size = int(words[0]), int(sizes[0]) - 3 - first_width
    if tail_size < 0 or first & 0xFF80FF != 0x100008 or ((words ^ words[0]) & 0xFFFFFF).any():
        return None
    left: Words = words >> np.uint64(24)
    rows = left & 0x7F
    width = np.ones(len(words), np.int64)
    more = (left >> 7) & 1
    for shift in (7, 14):
        if not more.any():
            break
        digit = left >> (shift + shift // 7)
        rows |= ((digit & 0x7F) << shift) * more
        width += more.astype(np.int64)
        more &= digit >> 7
    if more.any() or (sizes != width + (3 + tail_size)).any() or int(sizes.max()) > DESC_ROOM:
        return None
    if tail_size:
        tails = (left >> (width * 8).astype(np.uint64)) & ((1 << 8 * tail_size) - 1)
        if (tails != tails[0]).any():
            return None
    return rows.astype(np.int64)


def _lengths(levels: list[npt.NDArray[np.int64]], rows: IntArray) -> list[IntArray] | None:
    """Return the lengths between the offsets; None if a record's LoD is inconsistent or does not match its rows."""
    found = []
    for index, offsets in enumerate(levels):
        below = levels[index + 1].shape[1] - 1 if index + 1 < len(levels) else rows
        if offsets.shape[1] == 0 or offsets[:, 0].any() or (offsets[:, -1] != below).any():
            return None
        lengths = offsets[:, 1:] - offsets[:, :-1]
        if lengths.shape[1] > 1 and int(lengths.min()) < 0:
            return None
        found.append(lengths.reshape(-1))
    return found

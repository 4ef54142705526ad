"""Read what stands before a tensor's data in all records at once, when it has the same length in all of them.

The prefix of the first record is the pattern: only LoD offsets and the digits of the height may differ from it. This
is the usual case of sequences (one for each record, heights below 128) and one gather instead of a dozen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fluidio.recordio.tensor_codec import TensorHead, varint
from fluidio.tensor.lod import IntArray, LoD

__all__ = ["Prefixes", "read_prefixes"]


class Prefixes(NamedTuple):
    """Heights and merged LoD of one tensor in all records."""

    rows: IntArray
    lod: LoD


def read_prefixes(found: npt.NDArray[np.uint8], pattern: bytes, head: TensorHead) -> Prefixes | None:
    """Return what the prefixes say; None when they differ from the pattern in more than offsets and heights.

    Args:
        found: the prefix of every record, one in each row; it is overwritten.
        pattern: the prefix of the first record.
        head: what that prefix says.
    """
    expected = bytearray(pattern)
    levels = []
    position = 12
    for level in head.lod:
        start, stop = position + 8, position + 8 + 8 * len(level)
        levels.append(found[:, start:stop].copy().view("<i8"))
        found[:, start:stop] = 0
        expected[start:stop] = bytes(stop - start)
        position = stop
    start = position + 8  # of the TensorDesc, 08 dtype 10 height ...
    digits = varint(head.dims[0])
    if not pattern.startswith(b"\x10" + digits, start + 2) or pattern[start] != 8 or pattern[start + 1] > 0x7F:
        return None
    rows = _heights(found[:, start + 3 : start + 3 + len(digits)])
    if rows is None:
        return None
    found[:, start + 3 : start + 3 + len(digits)] = 0
    expected[start + 3 : start + 3 + len(digits)] = bytes(len(digits))
    if found.tobytes() != bytes(expected) * len(found):
        return None
    lod = _merge(levels, rows)
    return None if lod is None else Prefixes(rows, lod)


def _heights(digits: npt.NDArray[np.uint8]) -> IntArray | None:
    """Return varints of one width as numbers."""
    width = digits.shape[1]
    if width > 5 or (digits[:, -1] > 0x7F).any() or (width > 1 and (digits[:, :-1] < 0x80).any()):
        return None
    rows = (digits[:, 0] & 0x7F).astype(np.int64)
    for index in range(1, width):
        rows |= (digits[:, index] & 0x7F).astype(np.int64) << (7 * index)
    return rows


def _merge(levels: list[npt.NDArray[np.int64]], rows: IntArray) -> LoD | None:
    """Return the LoD over all records; None when some record's LoD does not fit itself or its rows."""
    merged = []
    for index, offsets in enumerate(levels):
        below = levels[index + 1].shape[1] - 1 if index + 1 < len(levels) else rows
        if offsets.shape[1] == 0 or offsets[:, 0].any() or (offsets[:, -1] != below).any():
            return None
        lengths = (offsets[:, 1:] - offsets[:, :-1]).reshape(-1)
        if lengths.size and int(lengths.min()) < 0:
            return None
        level = np.zeros(lengths.size + 1, np.int64)
        np.cumsum(lengths, out=level[1:])
        merged.append(level)
    return tuple(merged)

"""Read what stands before a tensor's data in many records at once, where it has the same length in all of them.

The prefix of the first record is the pattern: only LoD offsets and the digits of the height may differ from it. This
is the usual case of sequences (one for each record) and one gather instead of a dozen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fluidio.recordio.tensor_codec import TensorHead, varint
from fluidio.tensor.lod import IntArray

__all__ = ["Prefixes", "read_prefixes", "read_varints"]


class Prefixes(NamedTuple):
    """Heights of one tensor in all records, and for each LoD level the lengths of their sequences, record by record."""

    rows: IntArray
    lengths: list[npt.NDArray[np.int64]]


def read_prefixes(found: npt.NDArray[np.uint8], head: TensorHead, lead: int) -> Prefixes | None:
    """Return what the prefixes say; None when they differ from the first in more than offsets and heights.

    Args:
        found: the prefix of every record, one in each row; it is overwritten.
        head: what the first says.
        lead: how many bytes stand before the tensor.
    """
    pattern = found[0].tobytes()
    expected = bytearray(pattern)
    levels = []
    position = lead + 12
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
    start, stop = start + 3, start + 3 + len(digits)
    rows = read_varints(found[:, start:stop])
    if rows is None:
        return None
    found[:, start:stop] = 0
    expected[start:stop] = bytes(stop - start)
    if found.tobytes() != bytes(expected) * len(found):
        return None
    lengths = _lengths(levels, rows)
    return None if lengths is None else Prefixes(rows, lengths)


def read_varints(digits: npt.NDArray[np.uint8]) -> IntArray | None:
    """Return varints as numbers, one in each row; None unless they have just that width."""
    width = digits.shape[1]
    if width > 5 or int(digits[:, -1].max()) > 0x7F or (width > 1 and int(digits[:, :-1].min()) < 0x80):
        return None
    rows = (digits[:, 0] & 0x7F).astype(np.int64)
    for index in range(1, width):
        rows |= (digits[:, index] & 0x7F).astype(np.int64) << (7 * index)
    return rows


def _lengths(levels: list[npt.NDArray[np.int64]], rows: IntArray) -> list[npt.NDArray[np.int64]] | None:
    """Return the lengths between the offsets; None when some record's LoD does not fit itself or its rows."""
    found = []
    for index, offsets in enumerate(levels):
        below = levels[index + 1].shape[1] - 1 if index + 1 < len(levels) else rows
        if offsets.shape[1] == 0 or offsets[:, 0].any() or (offsets[:, -1] != below).any():
            return None
        lengths = offsets[:, 1:] - offsets[:, :-1]
        if lengths.shape[1] > 1 and int(lengths.min()) < 0:
            return None
        found.append(lengths)
    return found

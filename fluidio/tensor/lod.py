"""Level-of-detail arithmetic: how rows of one array belong to sequences, sequences to sequences of sequences.

A LoD is a tuple of levels, outermost first; a level is an int64 array of offsets `0 = o[0] <= o[1] <= ... <= o[n]`.
Level i counts entries of level i + 1, the last level counts rows. The empty tuple means "no LoD".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from fluidio.tensor.array import Array

__all__ = [
    "NO_LOD",
    "IntArray",
    "LoD",
    "from_lengths",
    "from_offsets",
    "is_valid",
    "lengths",
    "merge",
    "problem",
    "sequence_slice",
    "to_lengths",
    "to_lists",
]

IntArray = npt.NDArray[np.int64]
LoD = tuple[IntArray, ...]
NO_LOD: LoD = ()


def from_offsets(levels: Iterable[Sequence[int] | Array]) -> LoD:
    """Return a LoD from lists of offsets; TypeError if they are not lists of whole numbers; not checked further."""
    return tuple([_level(level) for level in levels])


def from_lengths(levels: Iterable[Sequence[int] | Array]) -> LoD:
    """Return a LoD from lists of lengths: [[2, 3]] becomes offsets [[0, 2, 5]]."""
    return tuple([_offsets(_level(level)) for level in levels])


def _level(numbers: Sequence[int] | Array) -> IntArray:
    level = np.asarray(numbers)
    if level.ndim != 1 or (level.size and level.dtype.kind not in "iu"):
        raise TypeError(
            "a LoD is a list of levels, and a level a list of whole numbers, such as [[2, 3]]; got the level "
            f"{numbers!r}"
        )
    return level.astype(np.int64)


def _offsets(level_lengths: IntArray) -> IntArray:
    offsets = np.zeros(level_lengths.size + 1, dtype=np.int64)
    np.cumsum(level_lengths, out=offsets[1:])
    return offsets


def lengths(offsets: IntArray) -> IntArray:
    """Return the lengths of one level."""
    return offsets[1:] - offsets[:-1]


def to_lists(lod: LoD) -> list[list[int]]:
    """Return the offsets as Python lists."""
    return [level.tolist() for level in lod]


def to_lengths(lod: LoD) -> list[list[int]]:
    """Return the lengths as Python lists."""
    return [lengths(level).tolist() for level in lod]


def problem(lod: LoD, rows: int | None) -> str:
    """Describe what is wrong with a LoD over `rows` rows; "" if it is valid.

    `rows` None or 0 skips the test of the last level's height, as an unset tensor has none.
    """
    for index, level in enumerate(lod):
        if level.size < 2:
            return f"level {index} needs at least two offsets, has {level.size}"
        if level[0] != 0:
            return f"level {index} must start with 0, starts with {level[0]}"
        if (level[1:] < level[:-1]).any():
            return f"level {index} must not descend: {level.tolist()[:20]}"
        last = int(level[-1])
        if index + 1 < len(lod):
            below = lod[index + 1].size - 1
            if last != below:
                return f"level {index} ends at {last}, but level {index + 1} has {below} sequences"
        elif rows and last != rows:
            return f"level {index} ends at {last}, but the tensor has {rows} rows"
    return ""


def is_valid(lod: LoD, rows: int | None) -> bool:
    """Return whether a LoD is consistent in itself and with `rows` rows."""
    return not problem(lod, rows)


def merge(lods: Sequence[LoD]) -> LoD:
    """Concatenate the LoDs of several items into the LoD of their rows stacked.

    Fluid: the graph `batch` shifted by the last offset written, wrong for items of several sequences; this is right.
    """
    if not lods:
        raise ValueError("no items to merge")
    first = lods[0]
    if any(len(lod) != len(first) for lod in lods):
        raise ValueError(
            f"items to merge must have the same number of LoD levels, got {sorted({len(lod) for lod in lods})}"
        )
    return tuple(_merge_level([lod[index] for lod in lods]) for index in range(len(first)))


def _merge_level(levels: Sequence[IntArray]) -> IntArray:
    return _offsets(np.concatenate([level[1:] - level[:-1] for level in levels]))


def sequence_slice(lod: LoD, start: int, stop: int) -> tuple[LoD, int, int]:
    """Return the LoD of top-level sequences start..stop and the range of rows they cover."""
    out = []
    for level in lod:
        part = level[start : stop + 1]
        start, stop = int(part[0]), int(part[-1])
        out.append(part - start)
    return tuple(out), start, stop

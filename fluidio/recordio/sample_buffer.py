"""Collect the samples of a Python reader into columns, a chunk at a time.

Values are taken over at once: a reader may fill the same array for every sample. Each slot keeps the dtype and the
shape of its first sample, so that all records of a file look alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from fluidio.recordio.block import Column

__all__ = ["SampleBuffer"]


class _Slot(Protocol):
    def add(self, value: Any, /) -> None: ...

    def take(self, count: int) -> Column: ...


class SampleBuffer:
    """A table of at most `limit` samples.

    Args:
        dtypes: one for each slot, None to take what the first sample has.
        lod_levels: 1 for slots that are sequences of varying length, else 0; missing ones are 0.
    """

    def __init__(self, limit: int, dtypes: Sequence[Any] | None, lod_levels: Sequence[int]) -> None:
        self._limit = limit
        self._dtypes = dtypes
        self._lod_levels = lod_levels
        self._slots: list[_Slot] = []
        self._count = 0

    def add(self, sample: Sequence[Any]) -> bool:
        """Take a sample over; True when the table is full and must be taken."""
        slots = self._slots
        if not slots:
            slots = self._slots = [self._slot(number, value) for number, value in enumerate(sample)]
        if len(sample) != len(slots):
            raise ValueError(f"a sample of {len(sample)} values after samples of {len(slots)}")
        for slot, value in zip(slots, sample):
            slot.add(value)
        self._count += 1
        return self._count >= self._limit

    def __len__(self) -> int:
        return self._count

    def take(self) -> list[Column]:
        """Return the samples as columns, valid until the next one is added, and begin anew."""
        count, self._count = self._count, 0
        return [slot.take(count) for slot in self._slots]

    def _slot(self, number: int, first: Any) -> _Slot:
        dtype = self._dtypes[number] if self._dtypes is not None else None
        level = self._lod_levels[number] if number < len(self._lod_levels) else 0
        if level > 1:
            raise ValueError(f"slot {number}: samples can have lod_level 0 or 1; use a DataFeeder for {level}")
        if level:
            return _Sequences(dtype)
        if isinstance(first, (int, float, np.generic)):
            return _Numbers(number, dtype)
        return _Arrays(number, np.asarray(first, dtype), self._limit, dtype is not None)


class _Numbers:
    """A slot of plain numbers: column (n, 1)."""

    def __init__(self, number: int, dtype: Any) -> None:
        self._number = number
        self._dtype = dtype
        self._found: Any = None
        self._values: list[Any] = []
        self.add = self._values.append

    def take(self, count: int) -> Column:
        data = np.array(self._values[:count], self._dtype)
        self._values.clear()
        if self._dtype is None:
            self._found = self._found or data.dtype
            _check_dtype(self._number, data.dtype, self._found)
            data = data.astype(self._found, copy=False)
        return Column(data.reshape(count, 1))


class _Arrays:
    """A slot of arrays of one shape: column (n, *shape)."""

    def __init__(self, number: int, first: Any, limit: int, convert: bool) -> None:
        self._number = number
        self._shape = first.shape
        self._rows = np.empty((limit, *first.shape), first.dtype)
        self._convert = convert
        self._count = 0

    def add(self, value: Any) -> None:
        if not isinstance(value, np.ndarray):
            value = np.asarray(value)
        rows = self._rows
        if value.shape != self._shape:
            raise ValueError(
                f"slot {self._number}: samples of unequal shape, {self._shape} and {value.shape}; "
                "sequences need lod_levels=1 for their slot"
            )
        if value.dtype != rows.dtype and not self._convert:
            _check_dtype(self._number, value.dtype, rows.dtype)
        rows[self._count] = value
        self._count += 1

    def take(self, count: int) -> Column:
        self._count = 0
        rows = self._rows[:count]
        return Column(rows.reshape(count, 1) if rows.ndim == 1 else rows)


def _check_dtype(number: int, found: np.dtype[Any], wanted: np.dtype[Any]) -> None:
    if not np.can_cast(found, wanted, "same_kind"):
        raise ValueError(f"slot {number}: {found} values after {wanted}: say which with dtypes=")


class _Sequences:
    """A slot of sequences: their items are rows, each sequence one LoD entry."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._arrays: list[np.ndarray[Any, Any]] = []

    def add(self, value: Any) -> None:
        array = np.array(value, self._dtype)
        if self._dtype is None and array.size:
            self._dtype = array.dtype
        self._arrays.append(array.reshape(-1, 1) if array.ndim == 1 else array)

    def take(self, count: int) -> Column:
        arrays, self._arrays = self._arrays[:count], []
        offsets = np.zeros(len(arrays) + 1, np.int64)
        np.cumsum([len(array) for array in arrays], out=offsets[1:])
        data = np.concatenate(arrays)
        return Column(data if self._dtype is None else data.astype(self._dtype, copy=False), offsets, (offsets,))

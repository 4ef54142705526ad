"""Collect the samples of a Python reader into columns, a chunk at a time.

Values are copied at once: a reader may fill the same array for every sample. Each slot keeps the dtype and the shape of
its first sample, so that all records of a file have the same layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from fluidio.recordio.decode import loops
from fluidio.recordio.decode.block import Column
from fluidio.recordio.write.narrowing import narrowed, unmasked
from fluidio.tensor.array import Array

__all__ = ["SampleBuffer"]

_EXACT = 2.0**53


class _Slot(Protocol):
    def put(self, row: int, value: Any, /) -> object: ...

    def take(self, count: int) -> Column: ...


class SampleBuffer:
    """A table of at most `limit` samples.

    Args:
        dtypes: one for each slot, None to use that of the first sample.
        lod_levels: 1 for slots that are sequences of varying length, else 0; missing ones are 0.
    """

    def __init__(self, limit: int, dtypes: Sequence[Any] | None, lod_levels: Sequence[int]) -> None:
        self._limit = limit
        self._dtypes = dtypes
        self._lod_levels = lod_levels
        self._slots: list[_Slot] = []
        self._puts: list[Callable[[int, Any], object]] = []
        self._count = 0

    def fill(self, samples: Iterator[Sequence[Any]]) -> bool:
        """Copy samples until the table is full and must be taken; return False if there are no more.

        One loop for all slots, because it runs for each sample.
        """
        puts = self._puts
        width = len(puts)
        for row, sample in zip(range(self._count, self._limit), samples):
            try:
                found = len(sample)
            except TypeError:
                raise TypeError(f"a sample must be a tuple with one value for each slot, got {sample!r:.40}") from None
            if found != width:
                if width:
                    raise ValueError(f"this sample has {found} values, earlier samples have {width}")
                puts = self._begin(sample)
                width = len(puts)
            for put, value in zip(puts, sample):
                put(row, value)
            self._count = row + 1
        return self._count >= self._limit

    def _begin(self, sample: Sequence[object]) -> list[Callable[[int, Any], object]]:
        """Make the slots for samples like the first one."""
        self._slots = [self._slot(number, value) for number, value in enumerate(sample)]
        self._puts = [slot.put for slot in self._slots]
        return self._puts

    def __len__(self) -> int:
        return self._count

    def take(self) -> list[Column]:
        """Return the samples as columns, valid until the next one is added, and start over."""
        count, self._count = self._count, 0
        return [slot.take(count) for slot in self._slots]

    def _slot(self, number: int, first: object) -> _Slot:
        dtype = self._dtypes[number] if self._dtypes is not None else None
        level = self._lod_levels[number] if number < len(self._lod_levels) else 0
        if level > 1:
            raise ValueError(f"slot {number}: samples can have lod_level 0 or 1; for {level}, use a DataFeeder")
        if level:
            return _Sequences(number, dtype)
        if isinstance(first, (int, float, np.generic)):
            return _Numbers(number, dtype)
        return _Arrays(number, np.asarray(unmasked(first), dtype), self._limit, dtype is not None)


class _Numbers:
    """A slot of plain numbers: column (n, 1)."""

    def __init__(self, number: int, dtype: Any) -> None:
        self._number = number
        self._dtype = dtype
        self._found: Any = None
        self._values: list[Any] = []
        self.put: Callable[[int, Any], object] = self._values.insert  # rows come in order

    def take(self, count: int) -> Column:
        values = self._values[:count]
        data = np.array(values, self._dtype)
        self._values.clear()
        if self._dtype is None:
            self._found = self._found or data.dtype
            _check_mixed(self._number, values, data)
            data = narrowed(f"slot {self._number}", data, self._found)
        return Column(data.reshape(count, 1))


def _check_mixed(number: int, values: Sequence[Any], data: Array) -> None:
    """Raise for whole numbers among floats that no float represents exactly."""
    if data.dtype.kind != "f" or data.ndim != 1:
        return
    with np.errstate(invalid="ignore"):
        large = np.flatnonzero(np.abs(data) >= _EXACT)
    for row in large.tolist():
        if isinstance(values[row], (int, np.integer)) and int(values[row]) != int(data[row]):
            raise ValueError(
                f"slot {number}: {values[row]} does not fit a float, the dtype of its other values: use dtypes="
            )


class _Arrays:
    """A slot of arrays of one shape: column (n, *shape)."""

    def __init__(self, number: int, first: Any, limit: int, convert: bool) -> None:
        self._rows = np.empty((limit, *first.shape), first.dtype)
        self.put: Callable[[int, Any], object] = loops.putter(self._rows, self._putter(number, convert))

    def _putter(self, number: int, convert: bool) -> Callable[[int, Any], None]:
        """Return a function with everything bound in advance, because it runs for each sample."""
        rows, shape, dtype = self._rows, self._rows.shape[1:], self._rows.dtype

        def put(row: int, value: Any) -> None:
            if type(value) is not np.ndarray:
                value = unmasked(value)
            if value.shape != shape:
                raise ValueError(
                    f"slot {number}: samples have different shapes, {shape} and {value.shape}; for sequences, "
                    "pass lod_levels=1 for this slot"
                )
            if value.dtype is not dtype and not convert:
                value = narrowed(f"slot {number}", value, dtype)
            rows[row] = value

        return put

    def take(self, count: int) -> Column:
        rows = self._rows[:count]
        return Column(rows.reshape(count, 1) if rows.ndim == 1 else rows)


class _Sequences:
    """A slot of sequences: their items are rows, each sequence one LoD entry."""

    def __init__(self, number: int, dtype: Any) -> None:
        self._number = number
        self._dtype = dtype
        self._found: Any = None
        self._arrays: list[Array] = []

    def put(self, row: int, value: Any) -> None:
        array = np.array(unmasked(value), self._dtype)
        if not array.ndim:
            raise ValueError(f"slot {self._number}: expected a sequence (lod_levels=1), got {array.item()!r}")
        if self._dtype is None and array.size:
            if isinstance(value, (list, tuple)):
                _check_mixed(self._number, value, array)
            if self._found is None:
                self._found = array.dtype
            array = narrowed(f"slot {self._number}", array, self._found)
        self._arrays.append(array.reshape(-1, 1) if array.ndim == 1 else array)

    def take(self, count: int) -> Column:
        arrays, self._arrays = self._arrays[:count], []
        offsets = np.zeros(len(arrays) + 1, np.int64)
        np.cumsum([len(array) for array in arrays], out=offsets[1:])
        data = np.concatenate(_alike(self._number, arrays))
        dtype = self._dtype or self._found
        return Column(data if dtype is None else data.astype(dtype, copy=False), offsets, (offsets,))


def _alike(number: int, arrays: list[Array]) -> list[Array]:
    """Return sequences whose items have the same shape; empty ones take the shape of the others."""
    shapes = {array.shape[1:] for array in arrays if len(array)}
    if len(shapes) > 1:
        raise ValueError(f"slot {number}: items have different shapes, {' and '.join(map(str, sorted(shapes)))}")
    shape = shapes.pop() if shapes else (1,)
    return [array if len(array) else array.reshape(0, *shape) for array in arrays]

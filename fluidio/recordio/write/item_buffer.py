"""Collect items with the layout of the first one into columns, without an object for each.

An item is what a `paddle.batch` reader yields, a list of samples, and becomes one record. Values are copied at once: a
reader may fill the same array for every sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fluidio.recordio.decode.block import Column
from fluidio.tensor.array import Array

__all__ = ["ItemBuffer"]

_MOST_BYTES = 16 << 20
_NUMBERS = frozenset({bool, int, float, *(np.dtype(code).type for code in "bBhHiIlLqQefd")})
_Put = Callable[[int, Any], bool]


class ItemBuffer:
    """A table of items of one layout.

    Args:
        first: an item that shows the layout: how many samples, and what each of their values is.
        dtypes: what the values of each slot are stored as.
        dims: the shape that each slot has in a record.
        limit: maximum number of items in the table; fewer if they are large. The attribute holds the actual number.
    """

    def __init__(
        self, first: Sequence[Sequence[Any]], dtypes: Sequence[Any], dims: Sequence[Sequence[int]], limit: int
    ) -> None:
        self._height = len(first)
        self._dims = [tuple(shape) for shape in dims]
        size = sum(np.dtype(dtype).itemsize * int(np.prod(shape)) for dtype, shape in zip(dtypes, dims))
        self.limit = max(1, min(limit, _MOST_BYTES // max(size, 1)))
        rows = self.limit * self._height
        self._slots = [np.empty((rows, *np.shape(v)), dtype) for v, dtype in zip(first[0], dtypes)]
        self._puts = [_put(rows, value) for rows, value in zip(self._slots, first[0])]
        self._rows = 0

    @staticmethod
    def fits(item: object) -> bool:
        """Return whether items like this one can be collected: numbers and arrays, the same in all samples."""
        if not isinstance(item, (list, tuple)) or not item or type(item[0]) not in (list, tuple):
            return False
        return all(type(v) in _NUMBERS or (type(v) is np.ndarray and v.dtype.kind in "biuf") for v in item[0])

    def __len__(self) -> int:
        return self._rows // self._height

    def add(self, item: object) -> bool:
        """Add an item; return False, adding nothing, if it is not like the first."""
        if type(item) is not list or len(item) != self._height:
            return False
        puts = self._puts
        row = self._rows
        for sample in item:
            if len(sample) != len(puts):
                return False
            for put, value in zip(puts, sample):
                if not put(row, value):
                    return False
            row += 1
        self._rows = row
        return True

    def take(self, order: Sequence[int]) -> list[Column]:
        """Return the slots with these numbers as columns, valid until the next item is added, and start over."""
        count, rows, self._rows = len(self), self._rows, 0
        columns = []
        for slot in order:
            height, *dims = self._dims[slot]
            columns.append(Column(self._slots[slot][:rows].reshape(count * height, *dims), num_records=count))
        return columns


def _put(rows: Array, first: Any) -> _Put:
    """Return a function that stores a value in a row, or reports that it is not like the first."""
    if type(first) in _NUMBERS:

        def put_number(row: int, value: object) -> bool:
            if type(value) not in _NUMBERS:
                return False
            rows[row] = value
            return True

        return put_number
    shape, dtype = first.shape, first.dtype

    def put_array(row: int, value: object) -> bool:
        if type(value) is not np.ndarray or value.shape != shape or value.dtype != dtype:
            return False
        rows[row] = value
        return True

    return put_array

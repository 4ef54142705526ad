"""SelectedRows: the sparse gradient of an embedding, some rows of a tall matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.tensor.lod import IntArray
from fluidio.tensor.lod_tensor import LoDTensor

__all__ = ["SelectedRows"]


class SelectedRows:
    """Rows `rows` (with repeats) of a matrix with `height` rows; `value[i]` belongs to row `rows[i]`."""

    __slots__ = ("_height", "_rows", "value")

    def __init__(self, rows: Any = (), height: int = 0, value: Any = None) -> None:
        self._rows = rows
        self._height = height
        self.value = value

    def rows(self) -> Any:
        return self._rows

    def set_rows(self, rows: Any) -> None:
        self._rows = np.asarray(rows, dtype=np.int64)

    def height(self) -> int:
        return self._height

    def set_height(self, height: int) -> None:
        self._height = height

    def get_tensor(self) -> LoDTensor:
        return LoDTensor.wrap(self.value)

    def merged(self, xp: Any = np) -> tuple[Any, Any]:
        """Return unique rows in ascending order and the sums of their values."""
        unique, inverse = xp.unique(xp.asarray(self._rows), return_inverse=True)
        out = xp.zeros((unique.size, *self.value.shape[1:]), self.value.dtype)
        _scatter_add(xp, out, inverse.reshape(-1), self.value)
        return unique, out

    def to_dense(self, xp: Any = np) -> Any:
        """Return the whole matrix."""
        dense = xp.zeros((self._height, *self.value.shape[1:]), self.value.dtype)
        _scatter_add(xp, dense, xp.asarray(self._rows), self.value)
        return dense

    def __repr__(self) -> str:
        return f"SelectedRows(height={self._height}, rows={list(map(int, self._rows))[:20]})"


def _scatter_add(xp: Any, target: Any, index: IntArray | Any, values: Any) -> None:
    if xp is not np:
        xp.add.at(target, index, values)
        return
    # np.add.at is slow on matrices: sort by row, then sum runs of equal rows at once.
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if ordered.size else ordered
    if ordered.size:
        target[ordered[starts]] += np.add.reduceat(values[order], starts, axis=0)

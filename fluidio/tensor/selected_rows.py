"""SelectedRows: the sparse gradient of an embedding, some rows of a tall matrix."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.tensor.add_rows import add_rows, merge_rows
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray
from fluidio.tensor.lod_tensor import LoDTensor

__all__ = ["SelectedRows"]


class SelectedRows:
    """Rows `rows` (with repeats) of a matrix with `height` rows; `value[i]` belongs to row `rows[i]`.

    `index` and `value` are the row numbers and the rows as arrays, for fluidio's own code.
    """

    __slots__ = ("_height", "_tensor", "index")

    def __init__(self, rows: Any = (), height: int = 0, value: Any = None) -> None:
        self.index: Any = rows if hasattr(rows, "dtype") else np.asarray(rows, dtype=np.int64)
        self._height = height
        self._tensor = LoDTensor.wrap(value)

    @property
    def value(self) -> Any:
        return self._tensor.array

    @value.setter
    def value(self, value: object) -> None:
        self._tensor.array = value

    def rows(self) -> list[int]:
        rows: list[int] = self.index.tolist()
        return rows

    def set_rows(self, rows: object) -> None:
        if isinstance(rows, (str, bytes)):
            raise TypeError(f"the rows of SelectedRows must be whole numbers, got {rows!r}")
        index = np.asarray(rows)
        if index.ndim != 1 or (index.size and index.dtype.kind not in "iub"):
            raise TypeError(f"the rows of SelectedRows must be whole numbers, got {rows!r}")
        self.index = index.astype(np.int64)

    def height(self) -> int:
        return self._height

    def set_height(self, height: SupportsIndex) -> None:
        self._height = operator.index(height)

    def numel(self) -> int:
        return 0 if self.value is None else int(self.value.size)

    def sync_index(self) -> None:
        """Do nothing: Fluid kept a map from rows to positions; here it is always up to date."""

    def get_tensor(self) -> LoDTensor:
        """Return the tensor of the rows; set() on it sets them."""
        return self._tensor

    def become(self, other: SelectedRows) -> None:
        """Take over the rows of another one, in place."""
        self.index, self._height, self.value = other.index, other._height, other.value

    def merged(self, xp: Any = np) -> tuple[Any, Any]:
        """Return unique rows and the sums of their values; in ascending order if there are repeats, else as given."""
        if xp is np:
            return merge_rows(np.asarray(self.index), self.value)
        given = xp.asarray(self.index)
        unique, inverse = xp.unique(given, return_inverse=True)
        if unique.size == given.size:
            return given, self.value.copy()
        out = xp.zeros((unique.size, *self.value.shape[1:]), self.value.dtype)
        _scatter_add(xp, out, inverse.reshape(-1), self.value)
        return unique, out

    def positions(self, rows: Any, xp: Any = np) -> Any:
        """Return the positions of some rows' values: for each row, the first one.

        Raises:
            EnforceNotMet: a row is not among these rows.
        """
        index = xp.asarray(self.index)
        order = xp.argsort(index, kind="stable")
        if not index.size and rows.size:
            raise EnforceNotMet(f"the table has no rows, so there is no row {int(rows[0])}")
        places = order[xp.minimum(xp.searchsorted(index[order], rows), max(index.size - 1, 0))] if rows.size else rows
        lost = rows[index[places] != rows] if rows.size else rows
        if lost.size:
            raise EnforceNotMet(f"the table of {index.size} rows has no row {int(lost[0])}")
        return places

    def to_dense(self, xp: Any = np) -> Any:
        """Return the whole matrix."""
        dense = xp.zeros((self._height, *self.value.shape[1:]), self.value.dtype)
        _scatter_add(xp, dense, xp.asarray(self.index), self.value)
        return dense

    def __repr__(self) -> str:
        return f"SelectedRows(height={self._height}, rows={self.rows()[:20]})"


def _scatter_add(xp: Any, target: Array, index: IntArray | Any, values: Array) -> None:
    if xp is not np:
        xp.add.at(target, index, values)
        return
    add_rows(target, index, values)

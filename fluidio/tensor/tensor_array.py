"""LoDTensorArray: the list of tensors behind `array_write`, While loops and queue items."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.tensor.lod_tensor import LoDTensor

__all__ = ["LoDTensorArray"]


class LoDTensorArray:
    """A list of LoDTensors; entries are shared, not copied, until set()."""

    __slots__ = ("items",)

    def __init__(self, items: list[LoDTensor] | None = None) -> None:
        self.items: list[LoDTensor] = [] if items is None else items

    def append(self, tensor: LoDTensor) -> None:
        if not isinstance(tensor, LoDTensor):
            raise TypeError(f"a LoDTensorArray holds LoDTensors, got {type(tensor).__name__}")
        self.items.append(LoDTensor.wrap(tensor.array, tensor.levels))

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> LoDTensor:
        if not isinstance(index, (int, np.integer)) or index < 0:
            raise TypeError(f"a LoDTensorArray is indexed by whole numbers of at least 0, got {index!r}")
        if index >= len(self.items):
            raise IndexError(self._outside(index))
        return self.items[index]

    def __setitem__(self, index: int, tensor: LoDTensor) -> None:
        if not 0 <= index < len(self.items):
            raise EnforceNotMet(self._outside(index))
        self.items[index] = LoDTensor.wrap(tensor.array, tensor.levels)

    def _outside(self, index: int) -> str:
        return f"index {index} is outside the LoDTensorArray of {len(self.items)} tensors"

    def __iter__(self) -> Iterator[LoDTensor]:
        return iter(self.items)

    def _move_to_list(self) -> list[LoDTensor]:
        moved, self.items = self.items, []
        return moved

    def __repr__(self) -> str:
        return f"LoDTensorArray({len(self.items)} tensors)"

"""A source of batches and a double buffer that brings them to a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fluidio.executor.devices import backend_for
from fluidio.executor.readers import DevicePrefetch, Source
from fluidio.executor.readers.base import Tensors
from fluidio.places import CUDAPlace
from fluidio.tensor.lod import NO_LOD

ROWS, COLUMNS = 64, 32


def batch(number: int, rows: int = ROWS) -> Tensors:
    """Return a batch that tells its number."""
    image = np.full((rows, COLUMNS), number, "float32")
    label = np.arange(rows, dtype="int64").reshape(-1, 1) + number
    return [(image, NO_LOD), (label, NO_LOD)]


class Batches(Source):
    """Gives the batches of a generator function, afresh in each epoch."""

    def __init__(self, make: Callable[[], Iterator[Any]]) -> None:
        super().__init__("batches")
        self._make = make
        self._left = make()

    def _begin(self) -> None:
        self._left = self._make()

    def _next(self) -> Tensors | None:
        return next(self._left, None)


def buffered(make: Callable[[], Iterator[Any]], device: int = 0, slots: int = 3) -> DevicePrefetch:
    """Return a double buffer on a GPU over a generator function of batches."""
    backend: Any = backend_for(CUDAPlace(device))
    return DevicePrefetch("double_buffer", Batches(make), backend.copy_stage(slots))

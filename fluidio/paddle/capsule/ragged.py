"""NumPy functions that used to take rows of different lengths for an array of objects."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fluidio.paddle.capsule.arrays import asarray

__all__: list[str] = []


def _of_rows(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def of_any(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_regular, args), **{key: _regular(value) for key, value in kwargs.items()})

    return of_any


def _regular(value: Any) -> Any:
    return asarray(value) if isinstance(value, (list, tuple)) and len(value) > 1 else value


mean = _of_rows(np.mean)
ndim = _of_rows(np.ndim)
save = _of_rows(np.save)
savez = _of_rows(np.savez)
savez_compressed = _of_rows(np.savez_compressed)
shape = _of_rows(np.shape)
size = _of_rows(np.size)

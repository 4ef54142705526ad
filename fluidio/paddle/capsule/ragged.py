"""NumPy functions that used to take rows of different lengths for an array of objects."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fluidio.paddle.capsule.arrays import asarray, is_ragged

__all__: list[str] = []


def _of_rows(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def of_any(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            if not is_ragged(error):
                raise
            return function(*map(_as_objects, args), **{key: _as_objects(value) for key, value in kwargs.items()})

    return of_any


def _as_objects(value: Any) -> Any:
    """Return rows of different lengths as an array of objects, and anything else as it is."""
    if not isinstance(value, (list, tuple)):
        return value
    array = asarray(value)
    return array if array.dtype == np.object_ else value


mean = _of_rows(np.mean)
ndim = _of_rows(np.ndim)
save = _of_rows(np.save)
savez = _of_rows(np.savez)
savez_compressed = _of_rows(np.savez_compressed)
shape = _of_rows(np.shape)
size = _of_rows(np.size)

"""NumPy functions that used to accept generators and maps but now need sequences."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

__all__: list[str] = []


def __getattr__(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    @functools.wraps(function)
    def of_any(arrays: Iterable[object], *args: object, **kwargs: object) -> Any:
        return function(arrays if isinstance(arrays, (np.ndarray, list, tuple)) else list(arrays), *args, **kwargs)

    globals()[name] = of_any
    return of_any

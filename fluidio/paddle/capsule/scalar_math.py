"""The functions of `math` that take one-element arrays too, as they did before NumPy 2.4."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from fluidio.paddle.capsule.scalars import scalar

__all__: list[str] = []


def __getattr__(name: str) -> Callable[..., Any]:
    function = getattr(math, name)

    @functools.wraps(function)
    def of_scalars(*args: object) -> Any:
        return function(*map(scalar, args))

    globals()[name] = of_scalars
    return of_scalars

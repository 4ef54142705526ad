"""float16 on the CPU: compute sums of products in float32, as a GPU does and as fast libraries require."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fluidio.ops.kernel import Call

__all__ = ["summed_in_single"]


def summed_in_single(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Run a kernel on float32 copies of float16 inputs and round its results; a GPU does not need this."""

    @functools.wraps(kernel)
    def work(k: Call, first: Any, *others: Any) -> Any:
        if first.dtype.char != "e" or k.dev.is_gpu:
            return kernel(k, first, *others)
        result = kernel(k, *map(_single, (first, *others)))
        with np.errstate(over="ignore"):  # overflow gives infinity, and loss scaling adapts
            return tuple(map(_half, result)) if isinstance(result, tuple) else _half(result)

    return work


def _single(value: Any) -> Any:
    return value.astype(np.float32) if isinstance(value, np.ndarray) and value.dtype.char == "e" else value


def _half(value: Any) -> Any:
    return value.astype(np.float16) if isinstance(value, np.ndarray) and value.dtype.char == "f" else value

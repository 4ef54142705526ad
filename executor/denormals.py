"""Flush denormal numbers to zero while gradients are computed and applied.

Numbers below 1e-38 turn up in every training: gradients fade over the steps of a recurrent net, and Adam's averages of
a unit that has died fade by a tenth each step. They change nothing that anyone can see, but processors handle them
outside of their pipelines, which makes whole steps two or three times as long. The forward pass keeps them: there a
script may take the logarithm of one.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

__all__ = ["flushed"]

_ENV_BYTES, _MXCSR_AT = 32, 28  # glibc's fenv_t on x86-64
_FLUSH = 0x8040  # results to zero, operands to zero


@cache
def _environments() -> tuple[Callable[[Any], int], Any, Any] | None:
    """Return the function that sets a floating-point environment, one that flushes and the usual one.

    None where that is not known to work: elsewhere than with glibc on x86-64.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
        return None
    try:
        maths = ctypes.CDLL("libm.so.6")
        get, put = maths.fegetenv, maths.fesetenv
    except (OSError, AttributeError):
        return None
    usual, flushing = ctypes.create_string_buffer(_ENV_BYTES), ctypes.create_string_buffer(_ENV_BYTES)
    if get(usual) or get(flushing):
        return None
    (control,) = struct.unpack_from("<I", usual, _MXCSR_AT)
    struct.pack_into("<I", flushing, _MXCSR_AT, control | _FLUSH)
    return (put, flushing, usual) if _works(put, flushing, usual) else None


def _works(put: Callable[[Any], int], flushing: Any, usual: Any) -> bool:
    tiny = np.full(4, 2e-38, np.float32)
    put(flushing)
    try:
        flushed_to = tiny * np.float32(0.1)
    finally:
        put(usual)
    return not flushed_to.any() and bool((tiny * np.float32(0.1)).any())


@contextmanager
def flushed() -> Iterator[None]:
    """Flush denormal numbers in this thread, where the system can do so."""
    found = _environments()
    if found is None:
        yield
        return
    put, flushing, usual = found
    put(flushing)
    try:
        yield
    finally:
        put(usual)

"""Flush denormal numbers to zero while gradients are computed and applied.

Numbers below 1e-38 turn up in every training: gradients fade over the steps of a recurrent net, and Adam's averages of
a unit that has died fade by a tenth each step. They change nothing that anyone can see, but processors handle them
outside of their pipelines, which makes whole steps two or three times as long. The forward pass keeps them: there a
script may take the logarithm of one.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any

import numpy as np

__all__ = ["flushed", "kept"]

_FLUSH = 0x8040  # results to zero, operands to zero


class _Fenv(ctypes.Structure):
    """glibc's fenv_t on x86-64."""

    _fields_ = (("x87", ctypes.c_uint32 * 7), ("mxcsr", ctypes.c_uint32))


@cache
def _environment() -> tuple[Callable[[Any], int], Callable[[Any], int]] | None:
    """Return the functions that get and set the floating-point environment of a thread.

    None where that is not known to work: elsewhere than with glibc on x86-64.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
        return None
    try:
        maths = ctypes.CDLL("libm.so.6")
        found = maths.fegetenv, maths.fesetenv
        found[0].argtypes = found[1].argtypes = [ctypes.POINTER(_Fenv)]
    except (OSError, AttributeError):
        return None
    return found if _works(*found) else None


def _works(get: Callable[[Any], int], put: Callable[[Any], int]) -> bool:
    tiny = np.full(4, 2e-38, np.float32)
    before = _switch(get, put, _FLUSH)
    try:
        inside = tiny * np.float32(0.1)
    finally:
        _switch(get, put, 0)
    outside = tiny * np.float32(0.1)
    _switch(get, put, before)
    return not inside.any() and bool(outside.any())


def _switch(get: Callable[[Any], int], put: Callable[[Any], int], flush: int) -> int:
    """Set the bits that flush and return those that were set; everything else, such as the rounding mode, stays."""
    environment = _Fenv()
    get(environment)
    control: int = environment.mxcsr
    if control & _FLUSH != flush:
        environment.mxcsr = control & ~_FLUSH | flush
        put(environment)
    return control & _FLUSH


@contextmanager
def _while(flush: int) -> Iterator[None]:
    found = _environment()
    if found is None:
        yield
        return
    before = _switch(*found, flush)
    try:
        yield
    finally:
        _switch(*found, before)


def flushed() -> AbstractContextManager[None]:
    """Flush denormal numbers in this thread for the length of a block, where the system can do so."""
    return _while(_FLUSH)


def kept() -> AbstractContextManager[None]:
    """Keep denormal numbers for the length of a block: for the user's functions, whose threads would inherit this."""
    return _while(0)

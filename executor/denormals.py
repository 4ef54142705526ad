"""Flush denormal numbers to zero while gradients are computed and applied.

Every training run produces numbers below 1e-38: gradients fade over the steps of a recurrent net, and Adam's averages
for a dead unit shrink by a tenth each step. They have no visible effect on results, but processors handle them in slow
paths, which makes whole steps two or three times slower. The forward pass keeps them, because a script may take the
logarithm of one.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable
from functools import cache

import numpy as np

from fluidio.ops.compiled import channels

__all__ = ["flushed", "kept"]

_FLUSH = 0x8040  # results to zero, operands to zero


class _Fenv(ctypes.Structure):
    """glibc's fenv_t on x86-64."""

    _fields_ = (("x87", ctypes.c_uint32 * 7), ("mxcsr", ctypes.c_uint32))


Switch = Callable[[int], int]
"""Set this thread's flush bits and return the previous ones; rounding mode and other bits are unchanged."""


@cache
def _switch() -> Switch | None:
    """Return the function that sets the bits; None on platforms where it is not known to work."""
    found = _compiled_switch() or _library_switch()
    return found if found is not None and _works(found) else None


def _compiled_switch() -> Switch | None:
    if channels.compiled is None or channels.compiled.flush_denormals(-1) is None:
        return None
    switch: Switch = channels.compiled.flush_denormals
    return switch


def _library_switch() -> Switch | None:
    """Return a switch built on C library functions; only for glibc on x86-64."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
        return None
    try:
        maths = ctypes.CDLL("libm.so.6")
        get, put = maths.fegetenv, maths.fesetenv
        get.argtypes = put.argtypes = [ctypes.POINTER(_Fenv)]
    except (OSError, AttributeError):
        return None

    def switch(flush: int) -> int:
        environment = _Fenv()
        get(environment)
        control: int = environment.mxcsr
        if control & _FLUSH != flush:
            environment.mxcsr = control & ~_FLUSH | flush
            put(environment)
        return control & _FLUSH

    return switch


def _works(switch: Switch) -> bool:
    tiny = np.full(4, 2e-38, np.float32)
    before = switch(_FLUSH)
    try:
        inside = tiny * np.float32(0.1)
    finally:
        switch(0)
    outside = tiny * np.float32(0.1)
    switch(before)
    return not inside.any() and bool(outside.any())


class _While:
    """Flush or keep denormal numbers inside a `with` block."""

    __slots__ = ("_before", "_flush", "_switch")

    def __init__(self, flush: int) -> None:
        self._flush = flush
        self._switch = _switch()

    def __enter__(self) -> None:
        if self._switch is not None:
            self._before = self._switch(self._flush)

    def __exit__(self, *error: object) -> None:
        if self._switch is not None:
            self._switch(self._before)


def flushed() -> _While:
    """Flush denormal numbers in this thread inside a `with` block, where the platform supports it."""
    return _While(_FLUSH)


def kept() -> _While:
    """Keep denormal numbers inside a `with` block: user functions may start threads, which inherit the mode."""
    return _While(0)

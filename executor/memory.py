"""Keep freed memory for the next step instead of returning it to the system."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import Any

__all__ = ["keep_freed_memory", "return_freed_memory"]

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # numbers of glibc's mallopt
_KEPT = (1 << 31) - 1
_CHOSEN_BY_USER = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_", "GLIBC_TUNABLES")


@cache
def keep_freed_memory() -> None:
    """Tell glibc to keep up to 2 GB of freed memory, and to take large arrays from it, too.

    The arrays of one step are freed at its end and needed again in the next. glibc would return those of more than
    32 MB to the system each time, and fetching fresh pages costs more than the arithmetic on them. Fluid's allocator
    kept its memory, too. Has no effect with other C libraries, or if the user has chosen by an environment variable.
    """
    library = _glibc()
    if library is not None and not any(name in os.environ for name in _CHOSEN_BY_USER):
        library.mallopt(_MMAP_MAX, 0)
        library.mallopt(_TRIM_THRESHOLD, _KEPT)


def return_freed_memory() -> None:
    """Return freed memory to the system."""
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


@cache
def _glibc() -> Any:
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None

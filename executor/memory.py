"""Keep freed memory for the next step instead of returning it to the system."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

__all__ = ["keep_freed_memory"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # numbers of glibc's mallopt


@cache
def keep_freed_memory() -> None:
    """Tell glibc to keep up to 512 MB of freed memory.

    The arrays of one step are freed at its end and needed again in the next. glibc would return large ones to the
    system each time, and fetching fresh pages costs more than the arithmetic on them. Fluid's allocator kept its memory
    too. Has no effect with other C libraries, or if the user has set MALLOC_TRIM_THRESHOLD_ or MALLOC_MMAP_THRESHOLD_.
    """
    set_by_user = "MALLOC_TRIM_THRESHOLD_" in os.environ or "MALLOC_MMAP_THRESHOLD_" in os.environ
    if sys.platform != "linux" or set_by_user:
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, 32 << 20)
        mallopt(_TRIM_THRESHOLD, 512 << 20)

"""Control Python's garbage collector while large structures are built."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["without_collections"]


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Pause the collector while something large is built that contains no garbage.

    It would scan all objects of the process repeatedly: at 20,000 ops that takes longer than the work.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

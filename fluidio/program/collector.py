"""Python's garbage collector, and the building of large structures."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["without_collections"]


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Pause the collector while something large is built of which nothing is garbage.

    It would walk through all objects of the process again and again: at 20,000 ops that takes longer than the work.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

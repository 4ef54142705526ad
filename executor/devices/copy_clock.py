"""CopyClock: report to observers when the copies on a stream actually ran."""

from __future__ import annotations

import time
from collections import deque
from types import ModuleType
from typing import Any, NamedTuple

from fluidio.flow.observer import OBSERVERS

__all__ = ["CopyClock"]


class _Timed(NamedTuple):
    size: int
    began: Any
    ended: Any


class CopyClock:
    """Puts timing events around copies while a run is observed; otherwise does nothing.

    GPU events measure only the time between each other. The first one is waited for once, to relate it to host time.
    """

    def __init__(self, cupy: ModuleType, device: int) -> None:
        self._cupy = cupy
        self._device = device
        self._first: Any = None
        self._first_at = 0.0
        self._under_way: deque[_Timed] = deque()

    def before(self, stream: Any) -> Any:
        """Mark the start of a copy on a stream; return the value to pass to `after`."""
        if not OBSERVERS.all:
            self._under_way.clear()
            return None
        if self._first is None:
            first = self._recorded(stream)
            first.synchronize()
            self._first, self._first_at = first, time.perf_counter()
        return self._recorded(stream)

    def after(self, began: Any, size: int, stream: Any) -> None:
        """Mark the end of a copy on a stream, and report the copies that have finished."""
        if began is not None:
            self._under_way.append(_Timed(size, began, self._recorded(stream)))
            self.tell()

    def tell(self) -> None:
        """Report the copies that have finished."""
        while self._under_way and self._under_way[0].ended.done:
            copy = self._under_way.popleft()
            start, stop = (self._first_at + self._after_first(event) for event in (copy.began, copy.ended))
            OBSERVERS.copied(self._device, copy.size, start, stop)

    def _recorded(self, stream: Any) -> Any:
        event = self._cupy.cuda.Event()
        event.record(stream)
        return event

    def _after_first(self, event: Any) -> float:
        return float(self._cupy.cuda.get_elapsed_time(self._first, event)) / 1e3

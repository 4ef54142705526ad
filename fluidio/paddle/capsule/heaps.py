"""heapq and bisect as in Python 2, where any two values have an order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fluidio.paddle.capsule.ordering import ordered, sorted_by

__all__ = [
    "bisect",
    "bisect_left",
    "heapify",
    "heappop",
    "heappush",
    "heappushpop",
    "heapreplace",
    "insort",
    "insort_left",
    "nlargest",
    "nsmallest",
]


def _less(left: object, right: object) -> bool:
    return bool(ordered(left, "<", right))


def _rise(heap: list[object], start: int, place: int) -> None:
    item = heap[place]
    while place > start and _less(item, heap[(place - 1) >> 1]):
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap[place] = item


def _sink(heap: list[object], place: int) -> None:
    start, item = place, heap[place]
    while (child := 2 * place + 1) < len(heap):
        if child + 1 < len(heap) and not _less(heap[child], heap[child + 1]):
            child += 1
        heap[place] = heap[child]
        place = child
    heap[place] = item
    _rise(heap, start, place)


def heappush(heap: list[object], item: object) -> None:
    """Add an item."""
    heap.append(item)
    _rise(heap, 0, len(heap) - 1)


def heappop(heap: list[object]) -> object:
    """Remove and return the smallest item."""
    last = heap.pop()
    return heapreplace(heap, last) if heap else last


def heapreplace(heap: list[object], item: object) -> object:
    """Return the smallest item, and put another in its place."""
    first = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return first


def heappushpop(heap: list[object], item: object) -> object:
    """Add an item, then remove and return the smallest."""
    return heapreplace(heap, item) if heap and _less(heap[0], item) else item


def heapify(heap: list[object]) -> None:
    """Make a heap of a list."""
    for place in reversed(range(len(heap) // 2)):
        _sink(heap, place)


def nlargest(n: int, iterable: Iterable[object], key: Callable[[object], object] | None = None) -> list[object]:
    """Return the n largest values."""
    return sorted_by(iterable, key=key, reverse=True)[: max(n, 0)]


def nsmallest(n: int, iterable: Iterable[object], key: Callable[[object], object] | None = None) -> list[object]:
    """Return the n smallest values."""
    return sorted_by(iterable, key=key)[: max(n, 0)]


def bisect(a: Any, x: object, lo: int = 0, hi: int | None = None) -> int:
    """Return where x goes behind its equals."""
    end = len(a) if hi is None else hi
    while lo < end:
        middle = (lo + end) // 2
        lo, end = (lo, middle) if _less(x, a[middle]) else (middle + 1, end)
    return lo


def bisect_left(a: Any, x: object, lo: int = 0, hi: int | None = None) -> int:
    """Return where x goes before its equals."""
    end = len(a) if hi is None else hi
    while lo < end:
        middle = (lo + end) // 2
        lo, end = (middle + 1, end) if _less(a[middle], x) else (lo, middle)
    return lo


def insort(a: Any, x: object, lo: int = 0, hi: int | None = None) -> None:
    """Put x into a sorted list behind its equals."""
    a.insert(bisect(a, x, lo, hi), x)


def insort_left(a: Any, x: object, lo: int = 0, hi: int | None = None) -> None:
    """Put x into a sorted list before its equals."""
    a.insert(bisect_left(a, x, lo, hi), x)

"""The order of equal numbers after C++'s `std::partial_sort` (libstdc++)."""

from __future__ import annotations

__all__ = ["largest"]

Pair = tuple[float, int]


def largest(values: list[float], count: int) -> list[int]:
    """Return the positions of the `count` largest numbers, largest first, equal ones in a heap's order."""
    heap = [(value, place) for place, value in enumerate(values[:count])]
    for parent in range(count // 2 - 1, -1, -1):
        _sift(heap, parent, count, heap[parent])
    for place in range(count, len(values)):
        if values[place] > heap[0][0]:
            _sift(heap, 0, count, (values[place], place))
    for end in range(count - 1, 0, -1):
        last = heap[end]
        heap[end] = heap[0]
        _sift(heap, 0, end, last)
    return [place for _, place in heap]


def _sift(heap: list[Pair], top: int, size: int, pair: Pair) -> None:
    """Insert a pair below `top` of a min-heap: move the gap to the bottom, then move the pair up."""
    gap = child = top
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if heap[child][0] > heap[child - 1][0]:
            child -= 1
        heap[gap] = heap[child]
        gap = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * child + 1
        heap[gap] = heap[child]
        gap = child
    while gap > top and heap[(gap - 1) // 2][0] > pair[0]:
        heap[gap] = heap[(gap - 1) // 2]
        gap = (gap - 1) // 2
    heap[gap] = pair

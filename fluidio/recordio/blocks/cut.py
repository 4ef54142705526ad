"""Cut parts of spans: deliver a requested number of records, or batches of one size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from fluidio.errors import RecordIOError
from fluidio.recordio.decode.block import Column
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.decode.spans import Part, gather
from fluidio.tensor.array import Array
from fluidio.tensor.lod import LoD

__all__ = ["PartBuffer", "cut", "cut_batches", "passed_over", "rebatch"]

_TOGETHER = 1 << 20  # bytes of batches that are copied together


class PartBuffer:
    """Holds the rest of a part and delivers up to a requested number of records."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left: Part | None = None

    def take(self, most: int, refill: Callable[[], Part | None]) -> Part | None:
        """Return 1 to `most` records, None at the end; `refill` returns the next part, None at the end."""
        part = self._left
        while part is None or not len(part):
            part = refill()
            if part is None:
                return None
        if len(part) <= most:
            self._left = None
            return part
        self._left = part.slice(most, len(part))
        return part.slice(0, most)

    def put(self, part: Part) -> None:
        """Hold this part as the next to deliver; the buffer must be empty."""
        self._left = part

    def __len__(self) -> int:
        return 0 if self._left is None else len(self._left)

    def clear(self) -> None:
        """Discard the rest."""
        self._left = None


def cut(parts: Sequence[Part], start: int, stop: int) -> list[Part]:
    """Return records start..stop of some parts."""
    found, before = [], 0
    for part in parts:
        low, high = max(start - before, 0), min(stop - before, len(part))
        if low < high:
            found.append(part if high - low == len(part) else part.slice(low, high))
        before += len(part)
    return found


def rebatch(parts: Iterable[Part], size: int, *, drop_last: bool = False, most: int = 0) -> Iterator[list[Part]]:
    """Yield the records in groups of exactly `size`, and a last group of the rest.

    Records read before damage are yielded before the error.

    Args:
        most: a part with several groups is yielded as one, in pieces of about so many bytes.
    """
    group: list[Part] = []
    held = 0
    try:
        for part in parts:
            start, total = 0, len(part)
            while total - start >= size - held:
                stop = start + size - held
                if most and not group and (whole := (total - start) // size) > 1:
                    stop = start + size * min(whole, _groups(part, size, most))
                group.append(part.slice(start, stop))
                yield group
                group, held, start = [], 0, stop
            if start < total:
                group.append(part.slice(start, total))
                held += total - start
    except RecordIOError:
        if held and not drop_last:
            yield group
        raise
    if held and not drop_last:
        yield group


def _groups(part: Part, size: int, most: int) -> int:
    """Return how many groups of `size` records have about `most` bytes; any number where nothing is to be copied."""
    if all(type(source) is Column for source in part.span.sources):
        return len(part)
    return max(1, most * len(part) // (size * max(1, part.nbytes)))


def passed_over(parts: Iterable[Part], count: int) -> Iterator[Part]:
    """Yield the records behind the first `count`."""
    for part in parts:
        if count < len(part):
            yield part.slice(count, len(part)) if count else part
            count = 0
        else:
            count -= len(part)


def cut_batches(
    parts: Iterable[Part], size: int, pool: Pool, *, drop_last: bool = False
) -> Iterator[list[tuple[Array, LoD]]]:
    """Yield the tensors of each `size` records, and of the rest.

    Batches of one part are copied several at a time.
    """
    for group in rebatch(parts, size, drop_last=drop_last, most=_TOGETHER):
        block = gather(group, pool)
        if len(block) <= size:
            yield block.tensors()
        else:
            yield from block.split(size)

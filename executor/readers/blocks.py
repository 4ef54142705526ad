"""Hand out blocks in smaller pieces."""

from __future__ import annotations

from collections.abc import Callable

from fluidio.recordio import RecordBlock

__all__ = ["BlockBuffer"]


class BlockBuffer:
    """Holds what is left of a block and gives out as many records as asked for, at most."""

    def __init__(self) -> None:
        self._block: RecordBlock | None = None
        self._position = 0

    def take(self, most: int, refill: Callable[[], RecordBlock | None]) -> RecordBlock | None:
        """Return 1 to `most` records, None at the end; `refill` returns the next block, None at the end."""
        block = self._block
        while block is None:
            block = refill()
            if block is None:
                return None
            self._position = 0
            block = self._block = block if len(block) else None
        start = self._position
        stop = min(start + most, len(block))
        self._position = stop
        if stop == len(block):
            self._block = None
        return block if stop - start == len(block) else block.slice(start, stop)

    def clear(self) -> None:
        """Forget what is left."""
        self._block = None

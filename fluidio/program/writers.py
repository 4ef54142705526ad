"""Count which names the ops of a block write once, instead of searching for each new parameter."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fluidio.program.block import Block
    from fluidio.program.operator import Operator

__all__ = ["Writers"]


class Writers:
    """How many ops of a block write each name.

    `add` keeps the counts up to date; after any other change of the block they are rebuilt.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        self._counts: Counter[str] = Counter()
        self._counted_at = (-1, -1)

    def count(self, name: str) -> int:
        """Return how many ops write a name."""
        if not self.is_current():
            self._counts = Counter(name for op in self._block.ops for name in op.output_arg_names)
            self._counted_at = self._state()
        return self._counts[name]

    def is_current(self) -> bool:
        """Return whether nothing has changed since the counts were made."""
        return self._counted_at == self._state()

    def add(self, op: Operator) -> None:
        """Count an op that was inserted into a block whose counts were current."""
        self._counts.update(op.output_arg_names)
        self._counted_at = self._state()

    def _state(self) -> tuple[int, int]:
        return self._block.program._ops_version, len(self._block.ops)

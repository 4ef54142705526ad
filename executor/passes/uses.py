"""Who reads and writes the slots of a list of steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass

from fluidio.executor.bind import Step
from fluidio.program.op_def import SAVED_ATTR

__all__ = ["Facts", "Pass", "Uses"]


@dataclass(frozen=True)
class Facts:
    """What passes know of a plan beside its steps.

    Attributes:
        kept: slots whose values somebody takes after the run: fetches.
        persists: whether a slot is written through to the scope.
        touched: the slots that a step reads and writes, those of its sub-blocks included.
    """

    kept: frozenset[int]
    persists: Callable[[int], bool]
    touched: Callable[[Step], tuple[set[int], set[int]]]


Pass = Callable[[list[Step], Facts], list[Step]]


class Uses:
    """The readers and writers of each slot, as positions in the list of steps."""

    def __init__(self, steps: Sequence[Step], facts: Facts) -> None:
        self._steps = steps
        self._facts = facts
        self._touched = [facts.touched(step) for step in steps]
        self.readers: defaultdict[int, list[int]] = defaultdict(list)
        self.writers: defaultdict[int, list[int]] = defaultdict(list)
        for index, (reads, writes) in enumerate(self._touched):
            for slot in reads:
                self.readers[slot].append(index)
            for slot in writes:
                self.writers[slot].append(index)

    def is_plain(self, index: int, *types: str) -> bool:
        """Tell whether a step is of one of these types and notes no versions of variables beside its op."""
        return self.type(index) in types and not self._steps[index].op._attrs.get(SAVED_ATTR)

    def type(self, index: int) -> str:
        return self._steps[index].op.type

    def only_between(self, slot: int, reader: int) -> int | None:
        """Return who writes a slot that this reader alone reads and nobody takes later."""
        writers = self.writers[slot]
        if len(writers) != 1 or self.readers[slot] != [reader] or writers[0] >= reader:
            return None
        return None if slot in self._facts.kept or self._facts.persists(slot) else writers[0]

    def can_wait(self, index: int, until: int, along: Container[int] = ()) -> bool:
        """Tell whether a step can run later: nobody between changes what it reads or uses its results.

        Steps `along` do not count: they go with it.
        """
        reads, writes = self._touched[index]
        for between in range(index + 1, until):
            if between in along:
                continue
            other_reads, other_writes = self._touched[between]
            if other_writes & (reads | writes) or other_reads & writes:
                return False
        return True

    def without(self, gone: Iterable[int], changed: dict[int, Step]) -> list[Step]:
        """Return the steps without some, and with others in place of some."""
        left = set(gone)
        return [changed.get(index, step) for index, step in enumerate(self._steps) if index not in left]

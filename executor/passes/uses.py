"""Find which steps read and write each slot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass

from fluidio.executor.bind import Step
from fluidio.program.op_def import SAVED_ATTR

__all__ = ["Facts", "Pass", "Uses", "has"]


@dataclass(frozen=True)
class Facts:
    """Information about a plan that passes need beyond its steps.

    Attributes:
        kept: slots whose values are used after the run: fetches.
        persists: whether a slot is written through to the scope.
        touched: the slots a step reads and writes, including those of its sub-blocks.
    """

    kept: frozenset[int]
    persists: Callable[[int], bool]
    touched: Callable[[Step], tuple[set[int], set[int]]]


Pass = Callable[[list[Step], Facts], list[Step]]


def has(steps: Sequence[Step], types: Container[str]) -> bool:
    """Return whether any step has one of these types: if not, a pass is done at once."""
    return any(step.op.type in types for step in steps)


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
        """Return whether a step has one of these types and saves no versions of variables."""
        return self.type(index) in types and not self._steps[index].op.attrs.get(SAVED_ATTR)

    def type(self, index: int) -> str:
        return self._steps[index].op.type

    def role(self, index: int) -> int:
        """Return the OpRole of a step."""
        return int(self._steps[index].op.attrs.get("op_role", 0))

    def only_between(self, slot: int, reader: int) -> int | None:
        """Return the step that writes a slot which only this reader uses and nothing uses later."""
        writers = self.writers[slot]
        if len(writers) != 1 or self.readers[slot] != [reader] or writers[0] >= reader:
            return None
        return None if slot in self._facts.kept or self._facts.persists(slot) else writers[0]

    def can_wait(self, index: int, until: int, along: Container[int] = ()) -> bool:
        """Return whether a step can be delayed: no step in between changes its inputs or uses its results.

        Steps in `along` are ignored: they move with it.
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
        """Return the steps without those in `gone`, and with those in `changed` replaced."""
        left = set(gone)
        return [changed.get(index, step) for index, step in enumerate(self._steps) if index not in left]

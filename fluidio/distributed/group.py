"""Group: the remaining trainers of a job, and how they agree on the next exchange."""

from __future__ import annotations

import enum
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fluidio.distributed.communicator import Communicator, Work
from fluidio.errors import DistributedError
from fluidio.tensor.array import Array

__all__ = ["Group", "Intent", "signature_of"]


class Intent(enum.IntEnum):
    """What a trainer wants to do when the group meets."""

    STEP = 1
    BROADCAST = 2
    COLLECTIVE = 3
    LEAVE = 4
    SIT_OUT = 5
    AGREE = 6
    ASK = 7


_DOING = {
    Intent.STEP: "exchanges the gradients of a training step",
    Intent.BROADCAST: "takes the first parameters (runs its startup program)",
    Intent.COLLECTIVE: "runs a collective op",
    Intent.LEAVE: "leaves",
    Intent.AGREE: "begins to train a program",
    Intent.SIT_OUT: "has no data for this step",
    Intent.ASK: "asks for rows of a table",
}
_TOGETHER = (Intent.STEP, Intent.BROADCAST, Intent.COLLECTIVE, Intent.AGREE)  # what all members do in the same meeting


class SharedTable(Protocol):
    """A table whose rows are divided among the members of a group."""

    def answer(self, trainers: Communicator, asking: int, rows: Any) -> Any: ...

    def hand_over(self, trainers: Communicator, staying: Sequence[int]) -> None: ...


@dataclass(frozen=True)
class _Announcement:
    """An intent on its way to the others, and theirs: `said` has a row of intent and signature for each member."""

    intent: Intent
    signature: int
    said: Array
    work: Work


def signature_of(parts: Iterable[object]) -> int:
    """Return a number that most likely differs for different descriptions."""
    return zlib.crc32(repr(list(parts)).encode())


class Group:
    """Trainers that meet before each exchange, so that one may leave and mistakes give clear errors.

    Each announces its intent. A trainer that leaves is left out from then on; conflicting intents are an error on all
    trainers. A trainer that requests rows of a divided table gets them before the others continue.

    Attributes:
        tables: the tables divided among the members, in the same order on each of them.
    """

    def __init__(self, communicator: Communicator) -> None:
        self._communicator = communicator
        self._present = communicator
        self._parts: dict[tuple[int, ...], Communicator] = {}
        self._left = False
        self._announced: _Announcement | None = None
        self._wanted: Any = None
        self._answer: Any = None
        self.tables: list[SharedTable] = []

    @property
    def communicator(self) -> Communicator:
        """The communicator of the trainers that take part since the last meeting."""
        return self._present

    @property
    def size(self) -> int:
        return len(self._communicator.members)

    def announce(self, intent: Intent, signature: int = 0) -> None:
        """Start to tell the others what this trainer meets them for next, without waiting for them.

        Nothing else may come between this and `meet`.
        """
        if self.size > 1 and not self._left and self._announced is None:
            self._announced = self._say(intent, signature)

    def _say(self, intent: Intent, signature: int) -> _Announcement:
        said = np.zeros((self.size, 2), np.int64)
        said[self._communicator.rank] = intent, signature
        return _Announcement(intent, signature, said, self._communicator.all_reduce(said))

    def _hear(self, intent: Intent, signature: int) -> list[list[int]]:
        """Return what all members want to do: an intent and a signature for each."""
        announced, self._announced = self._announced or self._say(intent, signature), None
        if (announced.intent, announced.signature) != (intent, signature):
            self.fail("it began a training step and did not finish it")
            raise DistributedError(
                "this trainer's training step failed while the others wait for its gradients, so it can do "
                "nothing else with them: end the process when a step fails"
            )
        announced.work.wait()
        said: list[list[int]] = announced.said.tolist()
        return said

    def meet(self, intent: Intent, signature: int = 0) -> Communicator:
        """Wait for the others, and return the communicator of those that remain."""
        if self._left:
            raise DistributedError(
                "this trainer has left the others (exe.close() or fleet.stop_worker() was called) and cannot "
                "train with them any more"
            )
        if self.size == 1:
            return self._communicator
        self._present = self._communicator
        while True:
            said = self._hear(intent, signature)
            if intent in _TOGETHER and said.count([intent, signature]) == self.size:
                return self._communicator
            asking = [rank for rank, (what, _) in enumerate(said) if what == Intent.ASK]
            if not asking:
                break
            for rank in asking:
                self._serve(rank, said[rank][1])
            if intent is Intent.ASK:
                return self._communicator
        staying = [rank for rank, (what, _) in enumerate(said) if what != Intent.LEAVE]
        if 0 < len(staying) < self.size:
            for table in self.tables:
                table.hand_over(self._communicator, staying)
        if intent is Intent.LEAVE:
            return self._communicator
        if len(staying) < self.size:
            self._communicator = self._present = self._communicator.subset(staying)
            self._parts.clear()
        taking_part = [index for index, rank in enumerate(staying) if said[rank][0] != Intent.SIT_OUT]
        if taking_part:
            self._check([said[staying[index]] for index in taking_part], taking_part)
        if intent is not Intent.SIT_OUT and len(taking_part) < len(staying):
            self._present = self._part(tuple(taking_part))
        return self._present

    def _part(self, ranks: tuple[int, ...]) -> Communicator:
        """Return the communicator of the members that take part in a step; it is cached for later steps."""
        if ranks not in self._parts:
            self._parts[ranks] = self._communicator.subset(ranks)
        return self._parts[ranks]

    def ask(self, table: SharedTable, rows: Any) -> Any:
        """Return rows of a divided table (None: all of them) while the others do something else."""
        self._wanted, self._answer = rows, None
        self.meet(Intent.ASK, self.tables.index(table))
        return self._answer

    def _serve(self, asking: int, number: int) -> None:
        mine = asking == self._communicator.rank
        found = self.tables[number].answer(self._communicator, asking, self._wanted if mine else None)
        if mine:
            self._answer = found

    def sit_out(self) -> None:
        """Let the others run one step without this trainer, which has no data for it but stays."""
        if self.tables:
            raise DistributedError(
                "open_files(..., join=True) lets a trainer sit out, which is impossible while tables are "
                "divided among the trainers: the others need its rows"
            )
        self.meet(Intent.SIT_OUT)

    def _check(self, said: list[list[int]], ranks: list[int]) -> None:
        odd = [index for index, row in enumerate(said) if row != said[0]]
        if not odd:
            return
        first, other = said[0], said[odd[0]]
        names = [str(self._communicator.members[ranks[index]]) for index in (0, odd[0])]
        doing = [_DOING.get(Intent(row[0]), "?") for row in (first, other)]
        if doing[0] == doing[1]:
            problem = f"{names[0]} and {names[1]} run different programs: each {doing[0]}, of other shapes or types"
        else:
            problem = f"{names[0]} {doing[0]} while {names[1]} {doing[1]}"
        raise DistributedError(f"{problem}; all trainers must run the same programs in the same order")

    def leave(self) -> None:
        """Leave the group so that the others continue without this trainer; calling it again is harmless."""
        if self._left:
            return
        try:
            self.meet(Intent.LEAVE)
        finally:
            self._left = True
        self._communicator.close()

    def fail(self, reason: str) -> None:
        """Notify the others that this trainer ends with an error."""
        if not self._left:
            self._left = True
            self._communicator.give_up(reason)

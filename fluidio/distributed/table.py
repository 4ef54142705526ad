"""Tables whose rows are divided among the trainers, for embeddings that are too large for one of them.

Row i is held by trainer i % parts, as row i // parts of its part. In a training step all trainers look up rows at once.
Whoever wants rows, or the whole table, at another time - to save it, to evaluate - asks for them: the others answer
when they next meet. A trainer that leaves hands its rows over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fluidio.distributed.communicator import Communicator
from fluidio.distributed.group import Group, Intent, signature_of
from fluidio.errors import EnforceNotMet
from fluidio.tensor import LoDTensor

__all__ = ["DividedTensor", "Table", "deliver_rows", "divide", "settle"]

_BLOCK = 8 << 20  # bytes that travel at once when a whole table does


class Table:
    """This trainer's part of a table."""

    def __init__(self, name: str, height: int, part: NDArray[Any], owner: Group) -> None:
        self.name = name
        self.owner = owner
        self.shape = (height, *part.shape[1:])
        self.part: Any = part
        self.parts = owner.size
        self.index = owner.communicator.rank
        self.version = 0  # counts what was loaded into the table
        self._given: NDArray[Any] | None = (
            None  # what was loaded last, until it is known that all trainers have done so
        )

    # -- while all trainers do the same -----------------------------------------------------------------------------

    def look_up(self, rows: NDArray[Any], together: bool) -> NDArray[Any]:
        """Return rows by their numbers; `together` where every trainer looks some up in this table now."""
        owner = self.owner
        if owner.size == 1:
            own: NDArray[Any] = self._own().take(rows, axis=0)
            return own
        if not together:
            found: NDArray[Any] = owner.ask(self, rows)
            return found
        trainers = owner.meet(Intent.COLLECTIVE, signature_of(["look up", self.name, self.shape]))
        settle(trainers, [self])
        wanted, places = np.unique(rows, return_inverse=True)
        order, ids, sent, received = _to_owners(trainers, wanted)
        asked = trainers.all_to_all(ids, sent, received)
        answers = trainers.all_to_all(self.part.take(asked // self.parts, axis=0), received, sent)
        by_row = np.empty_like(answers)
        by_row[order] = answers
        return by_row.take(places.reshape(-1), axis=0)

    def _own(self) -> Any:
        if self.part is None:
            raise EnforceNotMet(
                f"the table {self.name} was divided among the trainers, and this one has left them: read or save it "
                "before exe.close()"
            )
        return self.part

    # -- while trainers do different things -------------------------------------------------------------------------

    def whole(self) -> NDArray[Any]:
        """Return all rows."""
        if self._given is not None:
            return self._given
        owner = self.owner
        found: NDArray[Any] = self._own() if owner.size == 1 and self.parts == 1 else owner.ask(self, None)
        return found

    def answer(self, trainers: Communicator, asking: int, rows: NDArray[Any] | None) -> NDArray[Any] | None:
        """Take part in giving rows (None: all) to the trainer that asks; every trainer does."""
        mine = trainers.rank == asking
        wanted = np.array([-1 if rows is None else rows.size], np.int64)
        trainers.broadcast(wanted, asking).wait()
        if wanted[0] < 0:
            return self._gather(trainers, mine)
        ids = np.ascontiguousarray(rows, np.int64) if mine else np.empty(int(wanted[0]), np.int64)
        trainers.broadcast(ids, asking).wait()
        found = np.zeros((ids.size, *self.shape[1:]), self.part.dtype)
        here = ids % self.parts == self.index
        found[here] = self.part[ids[here] // self.parts]
        trainers.all_reduce(found).wait()
        return found if mine else None

    def _gather(self, trainers: Communicator, mine: bool) -> NDArray[Any] | None:
        whole = np.empty(self.shape, self.part.dtype) if mine else None
        longest, step = _length(self.shape[0], self.parts, 0), self._rows_at_once()
        for begin in range(0, longest, step):
            end = min(longest, begin + step)
            block = np.zeros((end - begin, *self.shape[1:]), self.part.dtype)
            piece = self.part[begin:end]
            block[: len(piece)] = piece
            everyones = trainers.all_gather(block)
            if whole is not None:
                for index, rows in enumerate(everyones):
                    target = whole[index :: self.parts][begin:end]
                    target[...] = rows[: len(target)]
        return whole

    def _rows_at_once(self) -> int:
        return max(1, _BLOCK // max(1, int(self.part[:1].nbytes)))

    # -- loading, leaving ---------------------------------------------------------------------------------------------

    def load(self, whole: Any) -> None:
        """Take the own rows of a whole table."""
        array = np.asarray(whole)
        if array.shape != self.shape:
            raise EnforceNotMet(f"the table {self.name} has shape {list(self.shape)}, not {list(array.shape)}")
        self.part = array[self.index :: self.parts].astype(self.part.dtype)
        self.version += 1
        self._given = array if self.parts > 1 else None

    def agree(self, trainers: Communicator, versions: NDArray[Any]) -> None:
        """Give all trainers what only some of them have loaded."""
        if (versions != versions[0]).any():
            root = int(versions.argmax())
            step = self._rows_at_once() * self.parts
            for begin in range(0, self.shape[0], step):
                rows = np.empty((min(step, self.shape[0] - begin), *self.shape[1:]), self.part.dtype)
                if trainers.rank == root and self._given is not None:
                    rows[...] = self._given[begin : begin + len(rows)]
                trainers.broadcast(rows, root).wait()
                here = rows[self.index :: self.parts]  # begin is a multiple of the number of parts
                self.part[begin // self.parts :][: len(here)] = here
            self.version = int(versions.max())
        self._given = None

    def hand_over(self, trainers: Communicator, staying: Sequence[int]) -> None:
        """Divide the rows anew among the trainers who stay; those who leave give all that they have."""
        parts, mine = len(staying), np.arange(self.index, self.shape[0], self.parts)
        targets = np.asarray(staying)[mine % parts]
        order = np.argsort(targets, kind="stable")
        sent = np.bincount(targets, minlength=len(trainers.members))
        index = staying.index(trainers.rank) if trainers.rank in staying else -1
        coming = [_rows_of(self.shape[0], self.parts, rank, parts, index) for rank in range(self.parts)]
        rows = trainers.all_to_all(self.part[order], sent.tolist(), [len(ids) for ids in coming])
        if index < 0:
            self.part, self._given = None, None
            return
        self.part = np.empty_like(rows)
        self.part[np.concatenate(coming) // parts] = rows
        self.parts, self.index = parts, index


class DividedTensor(LoDTensor):
    """What the scope holds for a divided table: read, it is the whole one; written, this trainer keeps its rows."""

    __slots__ = ("table",)

    def __init__(self, table: Table) -> None:
        self.table = table
        self.levels = ()

    @property
    def array(self) -> Any:
        return self.table.whole()

    @array.setter
    def array(self, whole: Any) -> None:
        self.table.load(whole)

    def shape(self) -> list[int]:
        return list(self.table.shape)

    def _is_initialized(self) -> bool:
        return True


def divide(name: str, height: int, part: Any, owner: Group, before: Any = None) -> DividedTensor:
    """Return a table of which `part` are this trainer's rows; `before` is what the scope held under its name."""
    table = Table(name, height, part, owner)
    if isinstance(before, DividedTensor) and before.table in owner.tables:
        owner.tables[owner.tables.index(before.table)] = table
    else:
        owner.tables.append(table)
    return DividedTensor(table)


def settle(trainers: Communicator, tables: Sequence[Table]) -> None:
    """Let trainers who have loaded a table give it to those who have not."""
    versions = trainers.all_gather(np.array([table.version for table in tables], np.int64))
    for number, table in enumerate(tables):
        table.agree(trainers, versions[:, number])


def deliver_rows(trainers: Communicator, rows: NDArray[Any], values: NDArray[Any]) -> tuple[Any, Any]:
    """Send rows of a gradient to the trainers who hold them; return the own ones, by their place in the part."""
    order, ids, sent, received = _to_owners(trainers, rows)
    mine = trainers.all_to_all(ids, sent, received)
    return mine // len(trainers.members), trainers.all_to_all(values[order], sent, received)


def _to_owners(trainers: Communicator, rows: NDArray[Any]) -> tuple[Any, Any, list[int], list[int]]:
    """Return the order of rows by who holds them, the rows in that order, and how many go to and come from each."""
    count = len(trainers.members)
    owners = rows % count
    order = np.argsort(owners, kind="stable")
    sent = np.bincount(owners, minlength=count)
    received = trainers.all_gather(sent.astype(np.int64))[:, trainers.rank]
    return order, np.ascontiguousarray(rows[order], np.int64), sent.tolist(), received.tolist()


def _length(height: int, parts: int, index: int) -> int:
    return max(0, -(-(height - index) // parts))


def _rows_of(height: int, parts: int, rank: int, new_parts: int, new_index: int) -> NDArray[Any]:
    """Return the rows of one part that belong to a part of the new division."""
    rows: NDArray[Any] = np.arange(rank, height, parts)
    found: NDArray[Any] = rows[rows % new_parts == new_index]
    return found

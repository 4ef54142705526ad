"""Tables whose rows are divided among the trainers, for embeddings too large for one trainer.

Row i is held by trainer i % parts, as row i // parts of its part. In a training step all trainers look up rows at once.
A trainer that needs rows, or the whole table, at another time (to save it, to evaluate) requests them, and the others
answer when they next meet. A trainer that leaves hands over its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.distributed.communicator import Communicator
from fluidio.distributed.group import Group, Intent, signature_of
from fluidio.errors import EnforceNotMet
from fluidio.tensor import LoDTensor
from fluidio.tensor.array import Array

__all__ = ["DividedTensor", "Table", "deliver_rows", "divide", "settle"]

_BLOCK = 8 << 20  # bytes sent at once when a whole table is sent


class Table:
    """This trainer's part of a table."""

    def __init__(self, name: str, height: int, part: Array, owner: Group) -> None:
        self.name = name
        self.owner = owner
        self.shape = (height, *part.shape[1:])
        self.part: Any = part
        self.parts = owner.size
        self.index = owner.communicator.rank
        self.version = 0  # counts loads into the table
        self._given: Array | None = None  # the last loaded value, until all trainers are known to have it

    # -- while all trainers do the same -----------------------------------------------------------------------------

    def look_up(self, rows: Array, together: bool) -> Array:
        """Return rows by number; `together` if every trainer looks up rows of this table now."""
        owner = self.owner
        if owner.size == 1:
            own: Array = self._own().take(rows, axis=0)
            return own
        if not together:
            found: Array = owner.ask(self, rows)
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
                f"the table {self.name} is divided among the trainers, and this trainer has left them: read "
                "or save the table before exe.close()"
            )
        return self.part

    # -- while trainers do different things -------------------------------------------------------------------------

    def whole(self) -> Array:
        """Return all rows."""
        if self._given is not None:
            return self._given
        owner = self.owner
        found: Array = self._own() if owner.size == 1 and self.parts == 1 else owner.ask(self, None)
        return found

    def answer(self, trainers: Communicator, asking: int, rows: Array | None) -> Array | None:
        """Take part in sending rows (None: all) to the requesting trainer; every trainer does."""
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

    def _gather(self, trainers: Communicator, mine: bool) -> Array | None:
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
        """Take this trainer's rows from a whole table."""
        array = np.asarray(whole)
        if array.shape != self.shape:
            raise EnforceNotMet(
                f"the table {self.name} has shape {list(self.shape)}, but the array has {list(array.shape)}"
            )
        self.part = array[self.index :: self.parts].astype(self.part.dtype)
        self.version += 1
        self._given = array if self.parts > 1 else None

    def agree(self, trainers: Communicator, versions: Array) -> None:
        """Pass a table that only some trainers have loaded to all of them."""
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
        """Redistribute the rows among the remaining trainers; those that leave give up all their rows."""
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
    """The scope's tensor of a divided table: reading gives the whole table; writing keeps this trainer's rows."""

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
    """Return a table with this trainer's rows `part`; `before` is the scope's previous value under its name."""
    table = Table(name, height, part, owner)
    if isinstance(before, DividedTensor) and before.table in owner.tables:
        owner.tables[owner.tables.index(before.table)] = table
    else:
        owner.tables.append(table)
    return DividedTensor(table)


def settle(trainers: Communicator, tables: Sequence[Table]) -> None:
    """Make trainers that have loaded a table pass it to those that have not."""
    versions = trainers.all_gather(np.array([table.version for table in tables], np.int64))
    for number, table in enumerate(tables):
        table.agree(trainers, versions[:, number])


def deliver_rows(trainers: Communicator, rows: Array, values: Array) -> tuple[Any, Any]:
    """Send gradient rows to the trainers that own them; return this trainer's rows, indexed within its part."""
    order, ids, sent, received = _to_owners(trainers, rows)
    mine = trainers.all_to_all(ids, sent, received)
    return mine // len(trainers.members), trainers.all_to_all(values[order], sent, received)


def _to_owners(trainers: Communicator, rows: Array) -> tuple[Any, Any, list[int], list[int]]:
    """Return the order of rows by owner, the rows in that order, and how many each trainer receives and sends."""
    count = len(trainers.members)
    owners = rows % count
    order = np.argsort(owners, kind="stable")
    sent = np.bincount(owners, minlength=count)
    received = trainers.all_gather(sent.astype(np.int64))[:, trainers.rank]
    return order, np.ascontiguousarray(rows[order], np.int64), sent.tolist(), received.tolist()


def _length(height: int, parts: int, index: int) -> int:
    return max(0, -(-(height - index) // parts))


def _rows_of(height: int, parts: int, rank: int, new_parts: int, new_index: int) -> Array:
    """Return the rows of one part that belong to a part of the new division."""
    rows: Array = np.arange(rank, height, parts)
    found: Array = rows[rows % new_parts == new_index]
    return found

"""Share: out of each group of consecutive items, take the one that belongs to this trainer."""

from __future__ import annotations

from fluidio.errors import EnforceNotMet
from fluidio.executor.readers.base import Decorator, Reader, Spec, Tensors
from fluidio.flow.observer import OBSERVERS

__all__ = ["Share"]


class Share(Decorator):
    """Divides items that are not batched here among trainers: item s * trainers + i goes to trainer i in step s.

    Items at the end of an epoch that are too few for all trainers are dropped, so that all trainers run the same number
    of steps. With `join` they are delivered, and trainers without one sit out.
    """

    def __init__(
        self, name: str, below: Reader, trainers: int, trainer: int, spec: Spec = (), *, join: bool = False
    ) -> None:
        super().__init__(name, below, spec)
        self._join = join
        self._trainers = trainers
        self._trainer = trainer
        self._resumed_at = 0
        self._warned = False

    def _next(self) -> Tensors | None:
        mine: Tensors | None = None
        for index in range(self._trainers):
            item = self.below.read_next()
            if item is None and self._join:
                self.sits_out = bool(index) and mine is None
                return mine
            if item is None:
                self._drop(index)
                return None
            if index == self._trainer:
                mine = item
        return mine

    def _drop(self, count: int) -> None:
        self.dropped += count
        OBSERVERS.dropped(self.name, count)
        if count and not self._warned:
            self._warned = True
            self.pending_warning = (
                f"reader {self.name}: the last {count:,} items of each epoch are dropped, too few for "
                f"{self._trainers} trainers; layers.batch divides records evenly"
            )

    def records_at(self, items: int) -> int | None:
        return self._resumed_at + items * self._trainers

    def skip_records(self, count: int) -> int:
        self._resumed_at = self.below.skip(count)
        return self._resumed_at

    def skip(self, count: int) -> int:
        if count:
            raise EnforceNotMet(f"reader {self.name}: the state was saved by a reader without trainers=")
        return 0

    def fingerprint(self) -> list[list[object]]:
        *below, _ = super().fingerprint()
        return [*below, ["create_share_reader"]]

    def _begin(self) -> None:
        self._resumed_at, self.sits_out = 0, False

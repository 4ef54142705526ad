"""Custom: run a sub-block of the program on every item (`layers.Preprocessor`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.executor.frame import Frame
from fluidio.executor.plan import Plan, SubBlock
from fluidio.executor.readers.base import Reader, Spec, Tensors
from fluidio.tensor import Scope

__all__ = ["Custom"]


class Custom(Reader):
    """Binds the tensors of each item to `sources`, runs the sub-block, and delivers `sinks`.

    The sub-block sees nothing of the program's scope. Fluid: the LoD of the results was lost; here it is kept.
    """

    def __init__(
        self,
        name: str,
        underlying: Reader,
        plan: Plan,
        body: SubBlock,
        sources: Sequence[str],
        sinks: Sequence[str],
        spec: Spec = (),
    ) -> None:
        super().__init__(name, spec, underlying)
        self._plan = plan
        self._body = body
        self._sources = [body.slots[source] for source in sources]
        self._sinks = list(sinks)
        self._slots = [body.slots[sink] for sink in sinks]
        self._scope = Scope()

    def _next(self) -> Tensors | None:
        assert self.underlying is not None
        item = self.underlying.read_next()
        if item is None:
            return None
        if len(item) != len(self._sources):
            raise EnforceNotMet(
                f"preprocessor {self.name}: the reader below gives {len(item)} tensors, the block takes "
                f"{len(self._sources)}"
            )
        count = len(self._plan._names)
        values: list[Any] = [None] * count
        f = Frame(self._plan, self._scope, values, [()] * count, [None] * count)
        for slot, (array, lod) in zip(self._sources, item):
            values[slot], f.lods[slot] = array, lod
        self._body.run(f)
        for sink, slot in zip(self._sinks, self._slots):
            if values[slot] is None:
                raise EnforceNotMet(f"preprocessor {self.name}: its block does not compute the output {sink!r}")
        return [(values[slot], f.lods[slot]) for slot in self._slots]

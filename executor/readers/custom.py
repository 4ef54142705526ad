"""Custom: run a sub-block of the program on every item (`layers.Preprocessor`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.era import era
from fluidio.errors import EnforceNotMet
from fluidio.executor.frame import Frame
from fluidio.executor.plan import Plan
from fluidio.executor.readers.base import Decorator, Reader, Spec, Tensors
from fluidio.ops.frame import SubBlock
from fluidio.tensor import Scope
from fluidio.tensor.array import Array
from fluidio.tensor.lod import LoD

__all__ = ["Custom"]


class Custom(Decorator):
    """Binds the tensors of each item to `sources`, runs the sub-block, and delivers `sinks`.

    The sub-block sees nothing of the program's scope. Fluid: the LoD of the results was lost; here it is kept,
    unless the era is strict.
    """

    def __init__(
        self,
        name: str,
        below: Reader,
        plan: Plan,
        body: SubBlock,
        sources: Sequence[str],
        sinks: Sequence[str],
        spec: Spec = (),
    ) -> None:
        super().__init__(name, below, spec)
        self._plan = plan
        self._body = body
        self._sources = list(sources)
        self._sinks = list(sinks)
        self._scope = Scope()
        self._keep_lod = not era().strict

    def _next(self) -> Tensors | None:
        item = self.below.read_next()
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
        given = dict(zip(self._sources, item))
        slots, dev = self._body.slots, self._plan.dev
        with dev.active():
            for source, (array, lod) in given.items():
                if source in slots:  # else no op of the block uses it
                    values[slots[source]], f.lods[slots[source]] = dev.upload(array), lod
            self._body.run(f)
        results = [self._result(f, sink, given) for sink in self._sinks]
        # From a GPU back to the host: the reader above may be one that works there.
        lods = [lod if self._keep_lod else () for _, lod in results]
        return list(zip(dev.fetch([array for array, _ in results]), lods))

    def _result(self, f: Frame, sink: str, given: dict[str, tuple[Any, LoD]]) -> tuple[Array, LoD]:
        slot = self._body.slots.get(sink)
        if slot is None and sink in given:
            return given[sink]
        if slot is None or f.values[slot] is None:
            raise EnforceNotMet(f"preprocessor {self.name}: its block does not compute the output {sink!r}")
        return f.values[slot], f.lods[slot]

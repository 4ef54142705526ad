"""Decide what to draw next: what was compared too rarely, and a program after every seventh op."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.differential.report import LEAST, LEAST_LAYER, LEAST_OFF, Report, counted_attrs

__all__ = ["Schedule"]

_MOST = 4 * LEAST  # draws of one op for the sake of its attributes


class Schedule:
    """Hand out what to draw and its number, without end; the report tells what was compared often enough."""

    def __init__(self, ops: Sequence[str], programs: Sequence[str], report: Report) -> None:
        self.ops = list(ops)
        self.programs = list(programs)
        self.report = report
        self.drawn: Counter[str] = Counter()

    def __iter__(self) -> Iterator[tuple[str, int]]:
        while True:
            turns = [op for op in self.ops if not self.satisfied(op)] or self.ops
            for about in turns or self.programs:
                yield self._next(about)
                if turns and self.programs and self.drawn.total() % 8 == 7:
                    yield self._next(min(self.programs, key=self.drawn.__getitem__))

    def _next(self, about: str) -> tuple[str, int]:
        self.drawn[about] += 1
        return about, self.drawn[about] - 1

    def satisfied(self, about: str) -> bool:
        """Return whether an op or a layer was compared often enough, with each attribute off its default."""
        compared = self.report.verdicts[about]["compared"]
        if about.startswith("layer "):
            return compared >= LEAST_LAYER or self.drawn[about] >= LEAST
        if compared < LEAST:
            return self.drawn[about] >= _MOST
        rare = any(self.report.attrs[about, name] < LEAST_OFF for name in counted_attrs(about))
        return not rare or self.drawn[about] >= _MOST

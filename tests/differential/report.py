"""Count what was drawn, what agreed and what did not."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from tests.differential.compare import Difference
from tests.differential.protos import PROTOS, attr_default

__all__ = ["Report"]


class Report:
    """Counts per op, per attribute and per kind of difference."""

    def __init__(self) -> None:
        self.cases: Counter[str] = Counter()
        self.verdicts: dict[str, Counter[str]] = defaultdict(Counter)
        self.gradients: Counter[str] = Counter()
        self.attrs: Counter[tuple[str, str]] = Counter()
        self.layers: Counter[str] = Counter()
        self.differing: dict[str, list[tuple[dict[str, Any], list[Difference]]]] = defaultdict(list)

    def add(self, case: dict[str, Any], state: str, differences: list[Difference]) -> None:
        about = case["about"]
        self.cases[about] += 1
        self.verdicts[about][state] += 1
        if state == "compared":
            self.gradients[about] += any(step["do"] in ("gradients", "method") for step in case["steps"])
            self._count_attrs(case["steps"])
        if differences:
            self.differing[about].append((case, differences))

    def _count_attrs(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            if step["do"] == "call":
                self.layers[step["name"]] += 1
            elif step["do"] == "op":
                for name, value in step["attrs"].items():
                    self.attrs[step["type"], name] += value != attr_default(step["type"], name)

    def summary(self) -> str:
        """Return the totals, the kinds of differences with their ops, and what was drawn too rarely."""
        total = Counter(state for counts in self.verdicts.values() for state in counts.elements())
        lines = [f"{sum(self.cases.values())} cases: " + ", ".join(f"{n} {state}" for state, n in total.most_common())]
        kinds: dict[str, Counter[str]] = defaultdict(Counter)
        for about, found in self.differing.items():
            for _, differences in found:
                for kind in {difference.kind for difference in differences}:
                    kinds[kind][about] += 1
        lines.append(f"{sum(map(len, self.differing.values()))} cases differ")
        for kind, abouts in sorted(kinds.items(), key=lambda pair: -pair[1].total()):
            lines.append(f"  {kind}: " + ", ".join(f"{about} {n}" for about, n in abouts.most_common()))
        return "\n".join(lines)

    def table(self) -> str:
        """Return a line per op: drawn, compared, with gradients, attributes off their defaults."""
        lines = []
        for about in sorted(self.cases):
            states = self.verdicts[about]
            attrs = " ".join(f"{name}={n}" for (op, name), n in sorted(self.attrs.items()) if op == about)
            lines.append(
                f"{about}: {self.cases[about]} drawn, {states['compared']} compared, "
                f"{self.gradients[about]} with gradients, "
                f"{len(self.differing[about])} differ, {states['both refuse']} refused by both, "
                f"{states['only ours runs']} ours alone; {attrs}"
            )
        lines.append("layers: " + " ".join(f"{name}={n}" for name, n in sorted(self.layers.items())))
        return "\n".join(lines)

    def rare(self, least: int = 20, least_attr: int = 5) -> str:
        """Return ops and attributes that were compared too rarely."""
        ops = [about for about in sorted(self.cases) if self.verdicts[about]["compared"] < least]
        attrs = [
            f"{op}.{name}"
            for op in sorted(self.cases)
            if op in PROTOS()
            for name in PROTOS()[op]["attrs"]
            if self.attrs[op, name] < least_attr
        ]
        return (
            f"compared less than {least} times: {' '.join(ops)}\n"
            f"attributes less than {least_attr} times off their defaults: {' '.join(attrs)}"
        )

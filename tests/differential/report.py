"""Count what was drawn, what agreed and what did not."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from tests.differential.compare import Difference
from tests.differential.protos import PROTOS, attr_default
from tests.differential.reasons import REASONS

__all__ = ["LEAST", "LEAST_LAYER", "LEAST_OFF", "Report", "counted_attrs"]

LEAST, LEAST_OFF = 20, 5  # how often each op is compared, and each attribute of it off its default
LEAST_LAYER = 3


def counted_attrs(op: str) -> list[str]:
    """Return the attributes of an op that can be off their defaults; those with a reason cannot."""
    names = PROTOS()[op]["attrs"] if op in PROTOS() else {}
    return [name for name in names if (op, name) not in REASONS]


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
            names = PROTOS()[about]["attrs"] if about in PROTOS() else {}
            attrs = " ".join(f"{name}={self.attrs[about, name]}" for name in names)
            lines.append(
                f"{about}: {self.cases[about]} drawn, {states['compared']} compared, "
                f"{self.gradients[about]} with gradients, "
                f"{len(self.differing[about])} differ, {states['both refuse']} refused by both, "
                f"{states['only ours runs']} ours alone; {attrs}"
            )
        lines.append("layers: " + " ".join(f"{name}={n}" for name, n in sorted(self.layers.items())))
        return "\n".join(lines)

    def rare(self) -> str:
        """Return ops and layers that were compared too rarely, and attributes too rarely off their defaults."""
        ops = [f"{op} {self._compared(op)}" for op in self._ops() if self._compared(op) < LEAST]
        layers = [about for about in sorted(self.cases) if about.startswith("layer ")]
        few = [f"{about} {self._compared(about)}" for about in layers if self._compared(about) < LEAST_LAYER]
        counts = {(op, name): self.attrs[op, name] for op in self._ops() for name in counted_attrs(op)}
        attrs = [f"{op}.{name} {count}" for (op, name), count in counts.items() if count < LEAST_OFF]
        return (
            f"{len(self._ops()) - len(ops)} of {len(self._ops())} ops were compared {LEAST} times or more; "
            f"less: {_list(ops)}\n"
            f"{len(layers) - len(few)} of {len(layers)} layers were compared {LEAST_LAYER} times or more; "
            f"less: {_list(few)}\n"
            f"{len(counts) - len(attrs)} of {len(counts)} attributes were off their defaults "
            f"{LEAST_OFF} times or more; less: {_list(attrs)}"
        )

    def _ops(self) -> list[str]:
        return [about for about in sorted(self.cases) if about in PROTOS()]

    def _compared(self, about: str) -> int:
        return self.verdicts[about]["compared"]


def _list(words: list[str]) -> str:
    return ", ".join(words) or "none"

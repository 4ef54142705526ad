"""Which slots and attributes of each op a stored case compares with the real 1.8.5: docs/ops-compared.md.

python -m tests.differential.coverage > docs/ops-compared.md
"""

from __future__ import annotations

from typing import Any

from tests.differential.protos import PROTOS, attr_default, op_step
from tests.differential.reasons import REASONS
from tests.differential.stored import FOLDER, read_stored

__all__ = ["coverage", "covered", "markdown", "missing_names", "wanted"]

_HEAD = """# What is compared with the real 1.8.5

Made by `python -m tests.differential.coverage > docs/ops-compared.md` from the cases in
`tests/data/differential/cases`, which hold inputs, attributes and 1.8.5's results. *attributes* have a value off their
default in a case. *missing*: slots and attributes of the op that no case has, and why. Ops without a
line are compared in programs (`tests/data/golden`, `tests/data/drawn`).

| op | cases | gradient | inputs | outputs | attributes | missing |
| --- | --- | --- | --- | --- | --- | --- |
"""


def covered(case: dict[str, Any]) -> set[tuple[str, str]]:
    """Return what the case of an op compares: ("in", slot), ("out", slot), ("attr", name), ("grad", "")."""
    step = op_step(case)
    if step is None:
        return set()
    fetched = {*case["fetch"], *case.get("read", ())}
    found = {("in", slot) for slot in step["in"]}
    found |= {("out", slot) for slot, names in step["out"].items() if fetched.intersection(names)}
    op = step["type"]
    found |= {("attr", name) for name, value in step["attrs"].items() if value != attr_default(op, name)}
    return found | ({("grad", "")} if case["steps"][-1] is not step else set())


def wanted(op: str) -> set[tuple[str, str]]:
    """Return the slots and attributes of an op that should be compared; XShape holds nothing but a shape."""
    proto = PROTOS()[op]
    return (
        {("in", slot) for slot in proto["inputs"]}
        | {("out", slot) for slot in proto["outputs"] if slot != "XShape"}
        | {("attr", name) for name in proto["attrs"]}
    )


def coverage() -> dict[str, tuple[int, set[tuple[str, str]]]]:
    """Return {op: (number of cases, what they compare)} of the stored cases."""
    found = {}
    for path in sorted(FOLDER.glob("*.json.gz")):
        op = path.name.split(".")[0]
        if op in PROTOS():
            cases = [entry["case"] for entry in read_stored(path)]
            found[op] = len(cases), set().union(*(covered(case) for case in cases))
    return found


def missing_names(op: str, found: set[tuple[str, str]]) -> set[str]:
    """Return the slots and attributes of an op that no case has."""
    return {name for _, name in wanted(op) - found}


def markdown() -> str:
    """Return the table."""
    return _HEAD + "".join(_row(op, *facts) for op, facts in coverage().items())


def _row(op: str, cases: int, found: set[tuple[str, str]]) -> str:
    parts = [" ".join(sorted(name for kind, name in found if kind == part)) for part in ("in", "out", "attr")]
    missing = ", ".join(f"{name} ({REASONS.get((op, name), '?')})" for name in sorted(missing_names(op, found)))
    return f"| `{op}` | {cases} | {'yes' if ('grad', '') in found else ''} | {' | '.join(parts)} | {missing} |\n"


if __name__ == "__main__":
    print(markdown(), end="")

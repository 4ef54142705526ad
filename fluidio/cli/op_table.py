"""The op table as Markdown: docs/ops.md."""

from __future__ import annotations

import inspect
import json
from collections import defaultdict
from pathlib import Path

from fluidio.ops import OP_TABLE
from fluidio.program.op_def import OpDef, OpSlot

__all__ = ["golden_cases", "markdown", "row"]

_HEAD = """# Ops

Every op type that programs can hold, from the table in `fluidio/ops`. This file is made by
`python -m fluidio apis --ops --golden tests/data/golden > docs/ops.md`.

`?` may be left out, `*` takes several variables. *gradient*: the op has a gradient op (`x@GRAD` can be fetched).
*GPU*: `yes` runs on CuPy, `part` brings some values to the host, `host` works on the host alone. *golden*: programs of
the real Fluid 1.8.5 in `tests/data/golden` whose numbers the op takes part in.

| op | inputs | outputs | attributes | gradient | GPU | golden |
| --- | --- | --- | --- | --- | --- | --- |
"""


def markdown(golden: dict[str, list[str]]) -> str:
    """Return the table of all ops except gradients."""
    ops = [OP_TABLE[name] for name in sorted(OP_TABLE) if not _is_gradient(name)]
    return _HEAD + "".join(row(op, golden.get(op.type, [])) for op in ops)


def row(op: OpDef, golden: list[str]) -> str:
    """Return the line of one op."""
    attrs = ", ".join(f"{name}={_value(value)}" for name, value in sorted(op.attrs.items()))
    cells = [
        f"`{op.type}`",
        _slots(op.inputs),
        _slots(op.outputs),
        attrs,
        "yes" if op.grad is not None else "no",
        _gpu(op),
        ", ".join(golden),
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _is_gradient(name: str) -> bool:
    return name.endswith("_grad") and name.removesuffix("_grad") in OP_TABLE


def _slots(slots: tuple[OpSlot, ...]) -> str:
    return " ".join(slot.name + "*" * slot.many + "?" * slot.optional for slot in slots)


def _value(value: object) -> str:
    return getattr(value, "name", None) or repr(value)


def _gpu(op: OpDef) -> str:
    try:
        source = inspect.getsource(op.kernel) if op.kernel is not None else ""
    except OSError:
        return ""
    if op.type in ("feed", "fetch", "load", "load_combine", "print", "py_func", "save", "save_combine"):
        return "host"
    return "part" if ".download(" in source else "yes"


def golden_cases(folder: Path) -> dict[str, list[str]]:
    """Return {op type: cases} from the descriptions beside golden programs."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted(folder.glob("*.json")):
        for program in json.loads(path.read_text("utf-8")).get("programs", {}).values():
            for op in (name for block in program.get("ops", []) for name in block):
                found[op].add(path.stem)
    return {op: sorted(cases) for op, cases in found.items()}

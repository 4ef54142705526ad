"""What the real 1.8.5 says of its ops: slots with their flags, attributes with their types and defaults."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

__all__ = ["PROTOS", "attr_default", "op_step", "proto"]

_FILE = Path(__file__).parent.parent / "data" / "differential" / "protos.json"


@functools.cache
def PROTOS() -> dict[str, Any]:
    """Return {op: {"inputs": {slot: flags}, "outputs": {slot: flags}, "attrs": {name: [type, default]}}}."""
    found: dict[str, Any] = json.loads(_FILE.read_text("utf-8"))
    return found


def proto(op: str) -> dict[str, Any]:
    """Return one op's slots and attributes."""
    found: dict[str, Any] = PROTOS()[op]
    return found


def attr_default(op: str, name: str) -> Any:
    """Return an attribute's default; None where the op demands a value."""
    return proto(op)["attrs"].get(name, [None, None])[1]


def op_step(case: dict[str, Any]) -> dict[str, Any] | None:
    """Return the step of the op that a case is about; None for a program."""
    return next((step for step in case["steps"] if step.get("type") == case["about"]), None)

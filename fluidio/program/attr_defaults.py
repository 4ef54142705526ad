"""Attributes that Fluid 1.8.5 writes on every op, with their defaults.

It needs them on gradient ops above all: those have no defaults of their own there, and take what the forward op had.
"""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fluidio.program.operator import Operator

__all__ = ["full_attrs"]


def full_attrs(op: Operator) -> dict[str, Any]:
    """Return the attributes of an op as 1.8.5 would write them: its own, and the defaults of the others."""
    defaults = _table().get(op.type.removesuffix("_grad"), {})
    stack = [] if op.site is None else ['  File "{}", line {}, in {}\n'.format(*op.site)]
    common = {"op_role": 0, "op_role_var": [], "op_namescope": "/", "op_device": "", "op_callstack": stack}
    return {**defaults, **common, **op._attrs}


@functools.cache
def _table() -> dict[str, dict[str, Any]]:
    text = resources.files("fluidio.program").joinpath("attr_defaults.txt").read_text("utf-8")
    found: dict[str, dict[str, Any]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            op_type, *words = line.split()
            found[op_type] = {name: json.loads(value) for name, _, value in (word.partition("=") for word in words)}
    return found

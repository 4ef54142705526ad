"""`lambda (a, b), c: ...` for fissix: an inner lambda takes the tuples apart."""

from __future__ import annotations

from typing import Any

from fissix.fixer_base import BaseFix
from fissix.fixer_util import Name
from fissix.pytree import Node

__all__ = ["FixLambdas"]


def _transform(self: Any, node: Node, results: dict[str, Any]) -> Any:
    if len(node.children) != 4:
        return None
    text = _without_tuples(str(node.children[1]).strip(), str(node.children[3]).strip())
    return Name(f"lambda {text}", prefix=node.prefix) if text else None


def _without_tuples(parameters: str, body: str) -> str:
    """Return `parameters: body` with a name for each tuple; "" if there are none."""
    parts = _split(parameters)
    tuples = [part for part in parts if part.startswith("(")]
    if not tuples:
        return ""
    names = [f"fluidio_{i}" for i in range(len(tuples))]
    fresh = iter(names)
    outer = ", ".join(next(fresh) if part.startswith("(") else part for part in parts)
    inner = ", ".join(part[1:-1].strip().rstrip(",") for part in tuples)
    nested = _without_tuples(inner, body)
    arguments = ", ".join(f"*{name}" for name in names)
    return f"{outer}: (lambda {nested or f'{inner}: {body}'})({arguments})"


def _split(parameters: str) -> list[str]:
    """Split at the commas outside brackets."""
    parts, depth = [""], 0
    for letter in parameters:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


FixLambdas: Any = type(
    "FixLambdas", (BaseFix,), {"BM_compatible": True, "PATTERN": "lambdef< 'lambda' any+ >", "transform": _transform}
)

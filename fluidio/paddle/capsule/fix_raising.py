"""`raise E, value, trace` for fissix: a message becomes the argument of E, all else is decided when it is raised."""

from __future__ import annotations

from typing import Any

from fissix.fixer_base import BaseFix
from fissix.fixer_util import Call, Comma, Name
from fissix.pgen2 import token
from fissix.pytree import Leaf, Node

__all__ = ["FixRaising"]


def _transform(self: Any, node: Node, results: dict[str, Any]) -> Any:
    parts = [results[name].clone() for name in ("exc", "val", "tb") if name in results]
    for part in parts:
        part.prefix = ""
    kind, value = parts[0], parts[1] if len(parts) == 2 else None
    if kind.type == token.NAME and value is not None and _is_message(value):
        raised = Call(kind, [value])
    else:
        spaced = [leaf for part in parts for leaf in (Comma(), part)][1:]
        for part in spaced[2::2]:
            part.prefix = " "
        raised = Call(Name("fluidio_raised"), spaced)
    raised.prefix = " "
    return Node(self.syms.raise_stmt, [Name("raise"), raised], prefix=node.prefix)


def _is_message(value: Node | Leaf) -> bool:
    """Return whether this is a string literal, or one with values: `"..." % x`."""
    first = value
    while first.children:
        first = first.children[0]
    is_plain = not value.children or any(child.type == token.PERCENT for child in value.children)
    return first.type == token.STRING and is_plain


FixRaising: Any = type(
    "FixRaising",
    (BaseFix,),
    {
        "BM_compatible": True,
        "PATTERN": "raise_stmt< 'raise' exc=any ',' val=any [',' tb=any] >",
        "transform": _transform,
    },
)

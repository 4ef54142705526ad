"""Python 2 string literals for fissix: `ur''`, and backslashes that were not escapes in strings of bytes."""

from __future__ import annotations

import re
from typing import Any

from fissix.fixer_base import BaseFix
from fissix.pytree import Leaf

__all__ = ["FixLiterals"]

_LITERAL = re.compile(r"([a-zA-Z]*)(.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_KEPT = re.compile(r"\\(?!u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})")


def _transform(self: Any, node: Leaf, results: object) -> Leaf | None:
    found = _LITERAL.match(node.value)
    assert found is not None
    prefix, body = found[1].lower(), found[2]
    is_bytes = not prefix and "unicode_literals" not in self.futures
    if prefix == "ur":
        prefix, body = "u", _KEPT.sub(r"\\\\", body)
    elif is_bytes:
        body = _ESCAPED.sub(lambda match: ("\\\\" if match[1] in "uUN" else "\\") + match[1], body)
    if prefix + body == node.value:
        return None
    new: Leaf = node.clone()
    new.value = prefix + body
    return new


def _start_tree(self: Any, tree: Any, filename: str) -> None:
    BaseFix.start_tree(self, tree, filename)
    self.futures = tree.future_features


FixLiterals: Any = type(
    "FixLiterals",
    (BaseFix,),
    {"BM_compatible": True, "PATTERN": "STRING", "transform": _transform, "start_tree": _start_tree},
)

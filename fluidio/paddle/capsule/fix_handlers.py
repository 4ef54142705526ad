"""`except OSError as (code, text):`, which takes an exception apart like `except OSError, (code, text):`."""

from __future__ import annotations

from typing import Any

from fissix.fixer_util import Comma, syms
from fissix.fixes.fix_except import FixExcept
from fissix.pgen2 import token
from fissix.pytree import Leaf, Node

__all__ = ["FixHandlers"]

_SYMBOLS: Any = syms  # their attributes are made from the grammar


def _transform(self: Any, node: Node, results: dict[str, Any]) -> Any:
    for clause in results["cleanup"]:
        if clause.type != _SYMBOLS.except_clause or len(clause.children) != 4:
            continue
        word, target = clause.children[2:]
        if target.type == token.NAME:
            continue
        if word.value == "as":
            word.replace(Comma())
        suite = clause.next_sibling.next_sibling
        if suite.type == _SYMBOLS.simple_stmt:
            _separate(suite)
    changed = FixExcept.transform(self, node, results)
    for suite in changed.children if changed else ():
        if suite.type == _SYMBOLS.simple_stmt and suite.children[0].type == token.SEMI:
            suite.set_child(0, Leaf(token.SEMI, ""))
    return changed


def _separate(suite: Node) -> None:
    """Make room on the line for the assignment that takes the exception apart."""
    suite.children[0].prefix = " "
    suite.insert_child(0, Leaf(token.SEMI, ";"))


FixHandlers: Any = type("FixHandlers", (FixExcept,), {"transform": _transform})

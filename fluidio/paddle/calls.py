"""Find which paddle names a script calls or mentions, and on which lines."""

from __future__ import annotations

import ast
from dataclasses import dataclass

__all__ = ["Use", "find_uses"]


@dataclass(frozen=True, order=True)
class Use:
    """One use of a paddle name: `fluid.layers.fc` on a line, with the keywords it was called with."""

    line: int
    api: str
    keywords: tuple[str, ...] = ()
    called: bool = False


def find_uses(tree: ast.AST) -> list[Use]:
    """Return all uses of paddle names in a syntax tree, in the order of their lines."""
    finder = _Finder()
    finder.visit(tree)
    return sorted(finder.uses)


class _Finder(ast.NodeVisitor):
    """Track the names that imports bind to paddle's modules."""

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}
        self.uses: set[Use] = set()

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] == "paddle":
                if alias.name.count(".") > 1:
                    self.uses.add(Use(node.lineno, _short(alias.name)))
                if alias.asname:
                    self.bound[alias.asname] = alias.name
                else:
                    self.bound["paddle"] = "paddle"

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or not node.module or node.module.partition(".")[0] != "paddle":
            return
        for alias in node.names:
            if alias.name == "*":
                continue
            full = f"{node.module}.{alias.name}"
            self.bound[alias.asname or alias.name] = full
            self.uses.add(Use(node.lineno, _short(full)))

    def visit_Call(self, node: ast.Call) -> None:
        api = self._api(node.func)
        if api:
            keywords = tuple(k.arg for k in node.keywords if k.arg)
            self.uses.add(Use(node.lineno, api, keywords, True))
            for child in (*node.args, *node.keywords):
                self.visit(child)
        else:
            self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        api = self._api(node)
        if api:
            self.uses.add(Use(node.lineno, api))
        else:
            self.generic_visit(node)

    def _api(self, node: ast.AST) -> str:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.bound:
            return ""
        return _short(".".join([self.bound[node.id], *reversed(parts)]))


def _short(name: str) -> str:
    """Return `fluid.layers.fc` for `paddle.fluid.layers.fc`."""
    return name.removeprefix("paddle.") if name.startswith("paddle.fluid") else name

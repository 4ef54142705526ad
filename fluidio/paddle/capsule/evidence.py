"""Detect modules written for Python 2: by their syntax, by names only Python 2 has, or by their program."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from fluidio.paddle.capsule.bindings import Bindings
from fluidio.paddle.capsule.guards import guarded_by_if, guarded_by_try
from fluidio.paddle.capsule.table import Row, rows_of

__all__ = ["Evidence", "find_evidence"]

_FUTURES = {"division", "print_function", "unicode_literals"}


def _python2(kind: str) -> set[str]:
    found = rows_of(kind).items()
    return {key for key, rows in found if any(_is_gone(row) for row in rows)}


def _is_gone(row: Row) -> bool:
    """Return whether Python 3 lacks the name altogether."""
    return row.since == "Python 3.0" and not row.python2_only and not row.condition


_MODULES = _python2("module")
_NAMES = _python2("name")
_BUILTINS = _python2("builtin") | _python2("call")
_METHODS = _python2("method")


@dataclass
class Evidence:
    """Signs of Python 2 and of Python 3 in one module, each with its line."""

    python2: list[tuple[int, str]] = field(default_factory=list)
    python3: list[tuple[int, str]] = field(default_factory=list)
    cannot_load: tuple[int, str] | None = None
    """A top-level import that Python 3 does not have: the module never ran on it."""

    def verdict(self) -> int:
        """Return 2 or 3, or 0 without evidence for either."""
        if self.cannot_load or (self.python2 and not self.python3):
            return 2
        return 3 if self.python3 else 0


def find_evidence(tree: ast.Module, bindings: Bindings) -> Evidence:
    """Return the signs in a module that Python 3 can parse; code behind a version check does not count."""
    finder = _Finder(bindings)
    finder.visit(tree)
    found = finder.found
    found.python3 += [(1, f"from __future__ import {name}") for name in sorted(bindings.futures & _FUTURES)]
    if "six" in bindings.modules or any(m.startswith("six.") for m in bindings.modules.values()):
        found.python3.append((1, "six"))
    return found


class _Finder(ast.NodeVisitor):
    def __init__(self, bindings: Bindings) -> None:
        self.bindings = bindings
        self.found = Evidence()
        self.depth = 0

    def _old(self, node: ast.expr | ast.stmt, what: str) -> None:
        self.found.python2.append((node.lineno, what))

    def _new(self, node: ast.expr | ast.stmt, what: str) -> None:
        self.found.python3.append((node.lineno, what))

    def visit_Try(self, node: ast.Try) -> None:
        if guarded_by_try(node):
            self._new(node, "a guarded import or name")
        else:
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if guarded_by_if(node):
            self._new(node, "a test of the version")
        else:
            self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        if not guarded_by_if(node):
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._import(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if not node.level and node.module:
            self._import(node, node.module)
            for alias in node.names:
                if f"{node.module}.{alias.name}" in _NAMES:
                    self._import(node, f"{node.module}.{alias.name}", gone=True)

    def _import(self, node: ast.stmt, name: str, gone: bool = False) -> None:
        if name in _MODULES or gone:
            self._old(node, name)
            if not self.depth:
                self.found.cannot_load = self.found.cannot_load or (node.lineno, name)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        arguments = node.args
        if arguments.kwonlyargs or node.returns or any(a.annotation for a in arguments.args):
            self._new(node, "annotations or keyword-only arguments")
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._new(node, "async")

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in _BUILTINS and isinstance(node.ctx, ast.Load) and self.bindings.is_builtin(node.id):
            self._old(node, node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self.bindings.dotted(node)[0] in _NAMES:
            self._old(node, self.bindings.dotted(node)[0])
        else:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Attribute) and self._is_old_method(node, function):
            self._old(node, f".{function.attr}()")
        if isinstance(function, ast.Name) and function.id == "super" and not node.args:
            self._new(node, "super()")
        if isinstance(function, ast.Name) and function.id == "isinstance" and "bytes" in _names(node.args[1:]):
            self._new(node, "isinstance(..., bytes)")
        if isinstance(function, ast.Name) and function.id == "print" and node.keywords:
            self._new(node, "print(..., end=)")
        self.generic_visit(node)

    def _is_old_method(self, node: ast.Call, function: ast.Attribute) -> bool:
        if function.attr not in _METHODS or self.bindings.dotted(function)[0]:
            return False
        return len(node.args) == (1 if function.attr == "has_key" else 0)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._new(node, "an f-string")

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self._new(node, "nonlocal")

    def visit_YieldFrom(self, node: ast.YieldFrom) -> None:
        self._new(node, "yield from")

    def visit_Raise(self, node: ast.Raise) -> None:
        if node.cause is not None:
            self._new(node, "raise ... from")
        self.generic_visit(node)


def _names(nodes: list[ast.expr]) -> set[str]:
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}

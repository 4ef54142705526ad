"""What the names of a scope are bound to, and whether their values are certainly numbers or text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["NUMBER", "TEXT", "Certain", "assigned", "own_nodes"]

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
NUMBER, TEXT = "number", "text"

_NUMBER_CALLS = {"len", "int", "float", "ord", "round", "abs", "id", "hash", "long", "bool"}
_NUMBER_METHODS = {"find", "rfind", "index", "count", "time", "startswith", "endswith", "qsize"}
_TEXT_CALLS = {"str", "repr", "chr", "raw_input", "hex", "oct", "bin"}
_TEXT_METHODS = {"strip", "lstrip", "rstrip", "lower", "upper", "join", "strftime"}
_ARITHMETIC = (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow, ast.LShift, ast.RShift)


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of one scope, without those of the scopes in it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, SCOPES):
            yield from own_nodes(child)


def assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the names that a node binds and their values, None for an unknown value."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _targets(target, node.value)
    elif isinstance(node, ast.AugAssign):
        yield from _targets(node.target, node.value)
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield from _loop_targets(node.target, node.iter)
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from ((name, None) for name in node.names)
    elif isinstance(node, ast.arg):
        yield node.arg, None
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from _targets(node.optional_vars, None)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        yield from _targets(node.target, None)


def _targets(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Starred):
        yield from _targets(target.value, None)
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
        same = len(parts) == len(target.elts)
        for i, part in enumerate(target.elts):
            yield from _targets(part, parts[i] if same else None)


def _loop_targets(target: ast.expr, values: ast.expr) -> Iterator[tuple[str, ast.expr | None]]:
    number = ast.Constant(0)
    called = values.func.id if isinstance(values, ast.Call) and isinstance(values.func, ast.Name) else ""
    if called in ("range", "xrange"):
        yield from _targets(target, number)
    elif called == "enumerate" and isinstance(target, ast.Tuple):
        yield from _targets(target.elts[0], number)
        for part in target.elts[1:]:
            yield from _targets(part, None)
    else:
        yield from _targets(target, None)


class Certain:
    """The kinds of expressions that are certainly numbers (or sets, or arrays), or certainly text."""

    def __init__(self, tree: ast.Module) -> None:
        self._names: dict[int, str] = {}
        changed = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
        outer = self._kinds(tree, {})
        for name in changed:
            outer.pop(name, None)
        self._scope(tree, outer)

    def _scope(self, scope: ast.AST, kinds: dict[str, str]) -> None:
        for node in own_nodes(scope):
            if isinstance(node, ast.Name) and node.id in kinds:
                self._names[id(node)] = kinds[node.id]
            if isinstance(node, SCOPES):
                self._scope(node, self._kinds(node, kinds))

    def _kinds(self, scope: ast.AST, outer: dict[str, str]) -> dict[str, str]:
        """Return the kinds of the names of a scope that only ever have one."""
        bound: dict[str, list[ast.expr | None]] = {}
        for node in own_nodes(scope):
            for name, value in assigned(node):
                bound.setdefault(name, []).append(value)
        found = {name: kind for name, kind in outer.items() if name not in bound}
        for kind in (NUMBER, TEXT):
            names = {name for name, values in bound.items() if None not in values}
            while True:
                known = found | dict.fromkeys(names, kind)
                kept = {n for n in names if all(v is not None and self._kind(v, known) == kind for v in bound[n])}
                if kept == names:
                    break
                names = kept
            found |= dict.fromkeys(names, kind)
        return found

    def kind(self, node: ast.expr) -> str:
        """Return NUMBER, TEXT or ""."""
        return self._kind(node, None)

    def _kind(self, node: ast.expr, names: dict[str, str] | None) -> str:
        if isinstance(node, ast.Constant):
            return TEXT if isinstance(node.value, (str, bytes)) else "" if node.value is None else NUMBER
        if isinstance(node, ast.Name):
            return (self._names.get(id(node), "") if names is None else names.get(node.id, "")) or (
                NUMBER if node.id in ("True", "False") else ""
            )
        if isinstance(node, ast.BinOp):
            return self._of_operation(node, names)
        if isinstance(node, (ast.UnaryOp, ast.Compare)):
            return NUMBER
        if isinstance(node, ast.IfExp):
            first, second = self._kind(node.body, names), self._kind(node.orelse, names)
            return first if first == second else ""
        if isinstance(node, ast.Call):
            return _of_call(node.func)
        if isinstance(node, ast.Subscript):
            return NUMBER if isinstance(node.value, ast.Attribute) and node.value.attr == "shape" else ""
        return ""

    def _of_operation(self, node: ast.BinOp, names: dict[str, str] | None) -> str:
        left, right = self._kind(node.left, names), self._kind(node.right, names)
        if isinstance(node.op, _ARITHMETIC):
            return NUMBER
        if isinstance(node.op, ast.Mod):
            return TEXT if left == TEXT else NUMBER if NUMBER in (left, right) else ""
        if isinstance(node.op, ast.Add):
            return left or right
        return left if left == right == NUMBER else ""


def _of_call(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return NUMBER if function.id in _NUMBER_CALLS else TEXT if function.id in _TEXT_CALLS else ""
    if not isinstance(function, ast.Attribute):
        return ""
    if isinstance(function.value, ast.Name) and function.value.id == "math":
        return NUMBER
    return NUMBER if function.attr in _NUMBER_METHODS else TEXT if function.attr in _TEXT_METHODS else ""

"""Let the arithmetic of the user's modules go through `promotion`: in the syntax tree alone, so that no text changes.

Where both operands are plainly Python's own numbers, nothing is done: indices and counters stay as fast as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from fluidio.paddle.capsule.bindings import Bindings
from fluidio.paddle.capsule.promotion import FUNCTIONS, OPERATORS
from fluidio.paddle.capsule.shapes import is_no_array

__all__ = ["HELPER", "IMPORT", "keep_old_dtypes"]

HELPER = "fluidio_promotion"
IMPORT = f"from fluidio.paddle.capsule import promotion as {HELPER}; globals().update({HELPER}.NAMES)"
_ROOTS = {"numpy", "cv2"}
_NO_NUMBERS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.JoinedStr)
_PLAIN_HELPERS = {"to_int", "to_float", "percent", "format_text"}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def keep_old_dtypes(tree: ast.Module, bindings: Bindings) -> bool:
    """Change the tree of a module that works with NumPy; True if anything was changed."""
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        return False
    if not _ROOTS & {module.partition(".")[0] for module in bindings.modules.values()}:
        return False
    changer = _Changer(tree, bindings)
    changer.visit(tree)
    ast.fix_missing_locations(tree)
    return changer.changed


class _Changer(ast.NodeTransformer):
    def __init__(self, tree: ast.Module, bindings: Bindings) -> None:
        self.bindings = bindings
        self.changed = False
        self.plain = _plain_names(tree)

    def _scope(self, node: ast.AST) -> ast.AST:
        before, self.plain = self.plain, _plain_names(node)
        self.generic_visit(node)
        self.plain = before
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _scope

    def _call(self, node: ast.expr | ast.stmt, function: ast.expr, *args: ast.expr) -> ast.Call:
        self.changed = True
        return ast.copy_location(ast.Call(function, list(args), []), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        changes = type(node.op).__name__ in OPERATORS and self._may_be_numpy(node.left, node.right)
        self.generic_visit(node)
        if not changes:
            return node
        return self._call(node, ast.Name(f"fluidio_{type(node.op).__name__}", ast.Load()), node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        name, target = type(node.op).__name__, node.target
        changes = name in OPERATORS and self._may_be_numpy(target, node.value) and _is_dotted(target)
        self.generic_visit(node)
        if not changes:
            return node
        read = ast.parse(ast.unparse(target), mode="eval").body
        value = self._call(node, _helper("in_place"), ast.Constant(name), read, node.value)
        return ast.copy_location(ast.Assign([target], value), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        full = self.bindings.dotted(node.func)[0]
        is_sum = isinstance(node.func, ast.Name) and node.func.id == "sum" and self.bindings.is_builtin("sum")
        self.generic_visit(node)
        if full in FUNCTIONS and len(node.args) > 1 and not any(isinstance(a, ast.Starred) for a in node.args):
            node.func = ast.copy_location(
                ast.Subscript(_helper("FUNCTIONS"), ast.Constant(full), ast.Load()), node.func
            )
            self.changed = True
        elif is_sum:
            node.func = ast.copy_location(_helper("sum_numbers"), node.func)
            self.changed = True
        return node

    def _may_be_numpy(self, left: ast.expr, right: ast.expr) -> bool:
        if any(isinstance(side, _NO_NUMBERS) or _is_text(side) for side in (left, right)):
            return False
        return not (_is_plain(left, self.plain) and _is_plain(right, self.plain))


def _helper(name: str) -> ast.expr:
    return ast.Attribute(ast.Name(HELPER, ast.Load()), name, ast.Load())


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _is_plain(node: ast.expr, plain: set[str]) -> bool:
    """Return whether an expression is surely not NumPy's."""
    if isinstance(node, ast.Name):
        return node.id in plain
    if isinstance(node, ast.BinOp):
        return _is_plain(node.left, plain) and _is_plain(node.right, plain)
    if isinstance(node, ast.UnaryOp):
        return _is_plain(node.operand, plain)
    if isinstance(node, ast.IfExp):
        return _is_plain(node.body, plain) and _is_plain(node.orelse, plain)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PLAIN_HELPERS:
        return True
    return is_no_array(node)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of one scope, without those of the scopes in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _SCOPES):
            yield from _own(child)


def _plain_names(scope: ast.AST) -> set[str]:
    """Return the names of a scope that are never bound to anything but Python's own numbers and containers."""
    bound: dict[str, list[ast.expr | None]] = {}
    for node in _own(scope):
        for name, value in _bindings(node):
            bound.setdefault(name, []).append(value)
    plain = {name for name, values in bound.items() if None not in values}
    while True:
        kept = {name for name in plain if all(v is not None and _is_plain(v, plain) for v in bound[name])}
        if kept == plain:
            return plain
        plain = kept


def _bindings(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the names that a node binds, and what to; None where that is not seen."""
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

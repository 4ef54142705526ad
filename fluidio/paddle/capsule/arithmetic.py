"""Route the arithmetic of the user's modules through `promotion`, in the syntax tree only, so that no text changes.

If both operands are certainly Python's own numbers, nothing changes: indices and counters stay as fast as they are.
In a module without NumPy, only meters change: `self.total += value * n`, `sum(values)` and what divides it.
"""

from __future__ import annotations

import ast

import numpy as np

from fluidio.paddle.capsule.bindings import Bindings
from fluidio.paddle.capsule.promotion import FUNCTIONS, OPERATORS
from fluidio.paddle.capsule.scopes import assigned, own_nodes
from fluidio.paddle.capsule.shapes import is_no_array

__all__ = ["HELPER", "IMPORT", "keep_old_dtypes"]

HELPER = "__fluidio_promotion__"  # hidden from scripts that look through their own names
IMPORT = f"from fluidio.paddle.capsule import promotion as {HELPER}; globals().update({HELPER}.NAMES)"
_ROOTS = {"numpy", "cv2"}
_NO_NUMBERS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.JoinedStr)
_PLAIN_HELPERS = {"to_int", "to_float", "percent", "format_text"}


def keep_old_dtypes(tree: ast.Module, bindings: Bindings) -> bool:
    """Change the tree of a module that works with NumPy; True if anything was changed."""
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        return False
    imports_numpy = bool(_ROOTS & {module.partition(".")[0] for module in bindings.modules.values()})
    changer = _Changer(tree, bindings, everywhere=imports_numpy)
    changer.visit(tree)
    ast.fix_missing_locations(tree)
    return changer.changed


class _Changer(ast.NodeTransformer):
    def __init__(self, tree: ast.Module, bindings: Bindings, *, everywhere: bool) -> None:
        self.bindings = bindings
        self.everywhere = everywhere
        """Whether numbers of NumPy are expected everywhere, not only where a meter adds up."""
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
        changes = self.everywhere or (isinstance(node.op, ast.Div) and self._is_sum(node.left))
        changes = changes and type(node.op).__name__ in OPERATORS and self._may_be_numpy(node.left, node.right)
        self.generic_visit(node)
        if not changes:
            return node
        return self._call(node, ast.Name(f"__fluidio_{type(node.op).__name__}__", ast.Load()), node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        name, target = type(node.op).__name__, node.target
        changes = name in OPERATORS and self._may_be_numpy(target, node.value) and _is_dotted(target)
        before = self.everywhere
        is_meter = isinstance(target, ast.Attribute) and not _is_plain(node.value, self.plain)
        self.everywhere = before or (changes and is_meter)
        changes = changes and self.everywhere
        self.generic_visit(node)
        self.everywhere = before
        if not changes:
            return node
        read = ast.parse(ast.unparse(target), mode="eval").body
        value = self._call(node, _helper("in_place"), ast.Constant(name), read, node.value)
        return ast.copy_location(ast.Assign([target], value), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        full = self.bindings.dotted(node.func)[0]
        is_sum = self._is_sum(node)
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

    def _is_sum(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return False
        return node.func.id == "sum" and self.bindings.is_builtin("sum")

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
    """Return whether an expression is certainly not NumPy's."""
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


def _plain_names(scope: ast.AST) -> set[str]:
    """Return the names of a scope that are only ever bound to Python's own numbers and containers."""
    bound: dict[str, list[ast.expr | None]] = {}
    for node in own_nodes(scope):
        for name, value in assigned(node):
            bound.setdefault(name, []).append(value)
    plain = {name for name, values in bound.items() if None not in values}
    while True:
        kept = {name for name in plain if all(v is not None and _is_plain(v, plain) for v in bound[name])}
        if kept == plain:
            return plain
        plain = kept

"""`/` between integers floors in Python 2: keep it so in scripts that are plainly Python 2."""

from __future__ import annotations

import ast
from typing import Any, TypeGuard

import numpy as np

__all__ = ["divide", "divide_as_python2"]

_NAME = "__fluidio_divide__"


def divide(left: Any, right: Any) -> Any:
    """Return left / right as Python 2 computes it."""
    return left // right if _is_integer(left) and _is_integer(right) else left / right


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) or (isinstance(value, np.ndarray) and value.dtype.kind in "iu")


class _Divide(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        return ast.copy_location(_call(node.left, node.right), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div) or not isinstance(node.target, ast.Name):
            return node
        value = ast.Name(node.target.id, ast.Load())
        return ast.copy_location(ast.Assign([node.target], _call(value, node.value)), node)


def _call(left: ast.expr, right: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(_NAME, ast.Load()), [left, right], [])


def _is_future(node: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def divide_as_python2(tree: ast.Module) -> ast.Module:
    """Replace `/` by a call that floors integers, unless the text imports division from __future__."""
    for node in tree.body:
        if _is_future(node) and any(alias.name == "division" for alias in node.names):
            return tree
    changed: ast.Module = _Divide().visit(tree)
    place = sum(_is_future(node) or _is_text(node) for node in changed.body)
    load = ast.ImportFrom("fluidio.paddle.py2_division", [ast.alias("divide", _NAME)], 0)
    changed.body.insert(place, load)
    return ast.fix_missing_locations(changed)

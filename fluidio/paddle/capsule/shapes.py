"""What an expression's own text reveals about its value."""

from __future__ import annotations

import ast

__all__ = ["is_lazy", "is_list", "is_no_array", "is_text"]

_PLAIN_CALLS = {
    "len",
    "str",
    "repr",
    "int",
    "float",
    "bool",
    "list",
    "dict",
    "set",
    "tuple",
    "range",
    "sorted",
    "open",
    "type",
    "ord",
    "chr",
    "input",
    "id",
    "hash",
    "format",
    "zip",
    "map",
    "enumerate",
    "isinstance",
}
_TEXT_METHODS = {
    "strip",
    "lstrip",
    "rstrip",
    "split",
    "format",
    "join",
    "lower",
    "upper",
    "replace",
    "group",
    "readline",
    "strftime",
    "startswith",
    "endswith",
    "time",
    "getenv",
    "get_text",
}
_PLAIN = (
    ast.Constant,
    ast.JoinedStr,
    ast.List,
    ast.Tuple,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.GeneratorExp,
    ast.Lambda,
    ast.Yield,
    ast.YieldFrom,
    ast.Await,
)


def is_no_array(node: ast.expr) -> bool:
    """Return whether an expression cannot be a one-element array."""
    if isinstance(node, _PLAIN):
        return True
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Name):
            return function.id in _PLAIN_CALLS
        return isinstance(function, ast.Attribute) and function.attr in _TEXT_METHODS
    if isinstance(node, ast.BinOp):
        return is_no_array(node.left) and is_no_array(node.right)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Call) and is_no_array(node.value)
    return isinstance(node, ast.UnaryOp) and is_no_array(node.operand)


def is_text(node: ast.expr, texts: set[str]) -> bool:
    """Return whether an expression is a string: a literal, a sum of literals, or a name assigned one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return is_text(node.left, texts) or is_text(node.right, texts)
    if isinstance(node, ast.Name):
        return node.id in texts
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def is_lazy(node: ast.expr) -> bool:
    """Return whether an expression is lazy: a generator, or map, filter, zip."""
    return isinstance(node, ast.GeneratorExp) or is_list(node, ("map", "filter", "zip"))


def is_list(node: ast.expr, names: tuple[str, ...]) -> bool:
    """Return whether an expression calls one of the builtins that returned lists in Python 2."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names

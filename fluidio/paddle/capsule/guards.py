"""Find code that chooses between Python 2 and 3 itself: it is left unchanged and takes its own branch."""

from __future__ import annotations

import ast

__all__ = ["guarded_by_if", "guarded_by_try"]

_VERSION_WORDS = {
    "version_info",
    "PY2",
    "PY3",
    "PY34",
    "IS_PY2",
    "IS_PY3",
    "py2",
    "py3",
    "python_version",
    "hexversion",
}
_CATCHES = {"ImportError", "ModuleNotFoundError", "NameError", "AttributeError"}
_BROAD = {"Exception", "BaseException", "StandardError", ""}
_SMALL = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr, ast.Pass, ast.If)


def guarded_by_try(node: ast.Try) -> bool:
    """Return whether a try statement tests what this Python has: the names it tries may be missing."""
    caught = {name for handler in node.handlers for name in _names(handler.type)}
    if caught & _CATCHES:
        return True
    return bool(caught & _BROAD) and all(isinstance(child, _SMALL) for child in node.body) and _imports(node.body)


def guarded_by_if(node: ast.If | ast.IfExp) -> bool:
    """Return whether a condition checks the version of Python."""
    for part in ast.walk(node.test):
        if isinstance(part, ast.Attribute) and (part.attr in _VERSION_WORDS or _is_sys_version(part)):
            return True
        if isinstance(part, ast.Name) and part.id in _VERSION_WORDS:
            return True
    return False


def _is_sys_version(node: ast.Attribute) -> bool:
    return node.attr == "version" and isinstance(node.value, ast.Name) and node.value.id == "sys"


def _names(kind: ast.expr | None) -> list[str]:
    if kind is None:
        return [""]
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return [k.attr if isinstance(k, ast.Attribute) else k.id if isinstance(k, ast.Name) else "?" for k in kinds]


def _imports(body: list[ast.stmt]) -> bool:
    return any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in body)

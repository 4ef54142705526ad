"""Rewrite imports of modules that have moved or disappeared, and of names that modules have dropped."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from fluidio.paddle.capsule.absent import is_absent
from fluidio.paddle.capsule.table import Row, rows_of

if TYPE_CHECKING:
    from fluidio.paddle.capsule.rewrite import Rewriter

__all__ = ["refuse_from", "rewrite_from", "rewrite_import"]

_MODULES = {key: rows[0] for key, rows in rows_of("module").items()}
_GONE = ("distutils",)
_NAMES = {key: [row for row in rows if not row.condition] for key, rows in rows_of("name").items()}


def _path(target: str) -> str:
    return target.replace("capsule.", "fluidio.paddle.capsule.", 1) if target.startswith("capsule.") else target


def rewrite_import(rewriter: Rewriter, node: ast.Import) -> None:
    """Rewrite `import cPickle as pickle, os`."""
    if not any(alias.name in _MODULES or _is_sibling(rewriter, alias.name) for alias in node.names):
        return
    parts: list[str] = []
    for alias in node.names:
        if _is_sibling(rewriter, alias.name):
            parts += _import_sibling(alias)
            continue
        row = _MODULES.get(alias.name)
        if row is None:
            parts.append(f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else ""))
            continue
        rewriter.note(node, row)
        if alias.asname or "." not in alias.name:
            parts.append(f"import {_path(row.new)} as {alias.asname or alias.name}")
        else:
            root = alias.name.partition(".")[0]
            # Its uses, `distutils.util.x`, are rewritten too; other parts of the package are unaffected.
            parts += [f"import {root}"] * (root not in _GONE) + [f"import {_path(row.new)}"]
    _put(rewriter, node, parts)


def rewrite_from(rewriter: Rewriter, node: ast.ImportFrom) -> None:
    """Rewrite `from collections import Iterable, OrderedDict`."""
    module = node.module or ""
    if not node.level and _is_sibling(rewriter, module):
        where = rewriter.edits.find(b"from", rewriter.edits.start(node), rewriter.edits.end(node)) + len("from")
        rewriter.edits.open(
            rewriter.edits.find(module.partition(".")[0].encode(), where, rewriter.edits.end(node)), "."
        )
        return
    if node.level:
        return
    if any(alias.name == "*" for alias in node.names) and module not in _MODULES:
        _add_dropped(rewriter, node, module)
        return
    kept: list[str] = []
    parts: list[str] = []
    for alias in node.names:
        row = _row(rewriter, f"{module}.{alias.name}")
        text = alias.name + (f" as {alias.asname}" if alias.asname else "")
        if row is None:
            kept.append(text)
        else:
            rewriter.note(node, row, f"{module}.{alias.name}")
            parts.append(_bind(row, alias.asname or alias.name))
    if module in _MODULES and kept:
        rewriter.note(node, _MODULES[module])
        module = _path(_MODULES[module].new)
    elif not parts:
        return
    _put(rewriter, node, [*([f"from {module} import {', '.join(kept)}"] if kept else []), *parts])


def _add_dropped(rewriter: Rewriter, node: ast.ImportFrom, module: str) -> None:
    """After `from string import *`, bind the names that a module of Python 2 reads and `string` has no more."""
    dropped = [key for key in _NAMES if key.rpartition(".")[0] == module and key.rpartition(".")[2] in rewriter.read]
    rows = [(key, row) for key in dropped if (row := _row(rewriter, key))]
    for key, row in rows:
        rewriter.note(node, row, key)
    if rows:
        _put(rewriter, node, [f"from {module} import *", *(_bind(row, key.rpartition(".")[2]) for key, row in rows)])


def _is_sibling(rewriter: Rewriter, module: str) -> bool:
    """Return whether Python 2 finds a module beside the one that imports it, in the same package."""
    return module.partition(".")[0] in rewriter.siblings


def _import_sibling(alias: ast.alias) -> list[str]:
    root, _, rest = alias.name.partition(".")
    if not rest:
        return [f"from . import {root}" + (f" as {alias.asname}" if alias.asname else "")]
    parent, _, last = alias.name.rpartition(".")
    if alias.asname:
        return [f"from .{parent} import {last} as {alias.asname}"]
    return [f"from .{parent} import {last} as capsule_{last}", f"from . import {root}"]


def refuse_from(rewriter: Rewriter, node: ast.ImportFrom) -> None:
    """Make an import inside `try` fail if fluidio has none of its names."""
    module = node.module or ""
    for alias in node.names:
        if not node.level and module.startswith("paddle.") and is_absent(module, alias.name):
            _put(rewriter, node, [f"{rewriter.helper('capsule.absent')}({module!r}, {alias.name!r})"])
            return


def _row(rewriter: Rewriter, name: str) -> Row | None:
    if name in _MODULES:
        return _MODULES[name]
    return next((row for row in _NAMES.get(name, []) if rewriter.python2 or not row.python2_only), None)


def _bind(row: Row, name: str) -> str:
    """Return the statement that binds `name` to the target of a row."""
    target = _path(row.new)
    if row.kind == "module":
        return f"import {target} as {name}"
    first, dot, _ = target.partition(".")
    if "(" in target or hasattr(builtins, first):
        return f"{name} = {target}"
    if not dot:
        return f"import {target} as {name}"
    parent, _, last = target.rpartition(".")
    return f"from {parent} import {last} as {name}" if last != name else f"from {parent} import {name}"


def _put(rewriter: Rewriter, node: ast.stmt, parts: list[str]) -> None:
    rewriter.edits.replace(rewriter.edits.start(node), rewriter.edits.end(node), "; ".join(parts))

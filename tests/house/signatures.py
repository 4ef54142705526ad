"""Count how far the code is typed: signatures with Any, ignored types, underscore names read between packages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.repository import modules

_IGNORE = re.compile(r"#\s*type:\s*ignore")
_NO_FORMAT = re.compile(r"#\s*fmt:\s*(skip|off)")


def trees() -> dict[str, ast.Module]:
    """Return the syntax tree of every module."""
    return {name: ast.parse(path.read_text("utf-8")) for name, path in modules().items()}


def aliases_of_any(found: dict[str, ast.Module]) -> set[str]:
    """Return the names that stand for Any itself (`Array = Any`), in any module."""
    names = {"Any"}
    for tree in found.values():
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == "Any":
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def signatures(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def holds_any(function: ast.FunctionDef | ast.AsyncFunctionDef, names: set[str]) -> bool:
    """Return whether a parameter or the result is annotated with one of these names, anywhere inside."""
    a = function.args
    given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *([a.vararg] if a.vararg else []), *([a.kwarg] if a.kwarg else [])]
    annotations = [arg.annotation for arg in given] + [function.returns]
    return any(
        isinstance(node, ast.Name) and node.id in names
        for annotation in annotations
        if annotation is not None
        for node in ast.walk(annotation)
    )


def part(module: str) -> str:
    """Return the package of a module: `ops`, `executor`, `recordio`, ..."""
    return (module.split(".") + [""])[1]


def shares_of_any() -> dict[str, tuple[int, int]]:
    """Return for each package how many signatures hold Any, and how many there are."""
    found = trees()
    names = aliases_of_any(found)
    counts: dict[str, tuple[int, int]] = {}
    for module, tree in found.items():
        held, total = counts.get(part(module), (0, 0))
        every = list(signatures(tree))
        counts[part(module)] = held + sum(holds_any(one, names) for one in every), total + len(every)
    return counts


def marks(pattern: re.Pattern[str], paths: list[Path]) -> int:
    """Return how many lines have a comment of this kind."""
    return sum(bool(pattern.search(line)) for path in paths for line in path.read_text("utf-8").splitlines())


def ignored_types() -> int:
    """Return how many lines of the packages turn the type checker off."""
    return marks(_IGNORE, list(modules().values()))


def kept_from_the_formatter() -> int:
    """Return how many lines of the packages turn the formatter off."""
    return marks(_NO_FORMAT, list(modules().values()))


def _defines(tree: ast.Module) -> set[str]:
    """Return the underscore names that a module defines: functions, methods, attributes, variables."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)  # __slots__
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


def foreign_underscores() -> dict[str, list[str]]:
    """Return the underscore names that a package reads although only other packages define them, with the places."""
    found = trees()
    own: dict[str, set[str]] = {}
    for module, tree in found.items():
        own.setdefault(part(module), set()).update(_defines(tree))
    everywhere = set().union(*own.values())
    places: dict[str, list[str]] = {}
    foreign = {package: everywhere - names for package, names in own.items()}
    for module, tree in found.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in foreign[part(module)]:
                places.setdefault(node.attr, []).append(f"{module}:{node.lineno}")
    return places

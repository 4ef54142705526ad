"""The order of the house: which module may import which.

Groups stand from the ground up; a module imports from its own group and from groups below. `|` inside a group means
that the two sides do not know each other. Everything else in the package is an error, so a new module needs a place.
"""

from __future__ import annotations

import ast
from pathlib import Path

ORDER = [
    "errors era dtypes places version pickles names current varint regular",
    "tensor",
    "recordio flow",
    "reader",
    "program",
    "distributed",
    "ops",
    "backward initializer regularizer clip optimizer param_attr layer_helper data_layer weight_norm",
    "layers | executor",
    "input io recordio_writer",
    "nets metrics evaluator average profiler debugger transpiler contrib core async_executor data_feed_desc framework "
    "flags op proto inference incubate install_check default_scope_funcs log_helper wrapped_decorator",
    "testing",
    "dataset conversion models torch tf",
    "paddle",
    "demo pages",
    "cli",
    "__main__",
]

# importer -> imported: arrows that go up on purpose, each with its reason.
ALLOWED: dict[tuple[str, str], str] = {
    ("program", "pages"): "a notebook asks the object itself for its page",
    ("recordio", "pages"): "a notebook asks the object itself for its page",
}


def place(part: str) -> tuple[int, int]:
    """Return the group of a module and its side of a `|`."""
    for rank, group in enumerate(ORDER):
        for side, names in enumerate(group.split("|")):
            if part in names.split():
                return rank, side
    raise LookupError(f"fluidio.{part} has no place in the order of imports (tests/house/arrows.py)")


def is_wrong(importer: str, imported: str) -> bool:
    """Return whether an import between two parts goes up, or across a `|`."""
    if (importer, imported) in ALLOWED or importer == imported:
        return False
    (rank, side), (other_rank, other_side) = place(importer), place(imported)
    return other_rank > rank or (other_rank == rank and side != other_side)


def imports(path: Path, module: str) -> list[tuple[int, str]]:
    """Return line and full name of everything of fluidio that a file imports, also inside functions."""
    is_package = path.name == "__init__.py"
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(node, module, is_package)
            found += [(node.lineno, f"{source}.{alias.name}") for alias in node.names]
    return [(line, name) for line, name in found if name.split(".")[0] == "fluidio"]


def _absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    base = parts[: len(parts) - node.level + is_package]
    return ".".join([*base, node.module] if node.module else base)


def part_of(name: str) -> str:
    """Return the part of the house that a full name belongs to; "" for the package's own face."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""

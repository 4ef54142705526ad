"""Guess the Fluid version a script was written for, from what it calls and which exceptions it catches.

Only signs of versions that contradict each other count; without one the default era stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fluidio.era import DEFAULT, nearest

__all__ = ["Guess", "guess_era", "local_sources"]

# APIs that came with 1.6 - 1.8, which share their ways.
_NEW = frozenset({
    "fluid.data", "fluid.io.DataLoader", "fluid.embedding", "fluid.one_hot", "fluid.save", "fluid.load",
    "fluid.layers.while_loop", "fluid.layers.cond", "fluid.layers.switch_case", "fluid.layers.rnn",
    "fluid.layers.dynamic_decode", "paddle.enable_static",
})  # fmt: skip
_OLD = {
    "fluid.layers.io.parallel": "0.14",
    "fluid.layers.parallel": "0.14",
    "fluid.Trainer": "0.15",
    "fluid.Inferencer": "0.15",
}


@dataclass(frozen=True)
class Guess:
    """An era and the sign that it rests on; `sign` is empty for the default."""

    era: str
    sign: str = ""


def guess_era(sources: Iterable[str]) -> Guess:
    """Return the era of some source texts."""
    scan = _Scan()
    for source in sources:
        try:
            scan.visit(ast.parse(source))
        except SyntaxError:
            continue  # Python 2 text says nothing that the other signs would not
    return scan.guess()


class _Scan(ast.NodeVisitor):
    def __init__(self) -> None:
        self.calls: dict[str, set[str]] = {}
        self.caught: set[str] = set()
        self.required: list[str] = []
        self.names: set[str] = set()

    def visit_Call(self, node: ast.Call) -> None:
        name = _dotted(node.func)
        self.calls.setdefault(name, set()).update(k.arg for k in node.keywords if k.arg)
        if name.endswith("require_version") and node.args and isinstance(node.args[0], ast.Constant):
            self.required.append(str(node.args[0].value))
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.names.add(_dotted(node))
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type] if node.type else []
        self.caught.update(_dotted(kind).rpartition(".")[2] for kind in kinds)
        self.generic_visit(node)

    def guess(self) -> Guess:
        if self.required:
            newest = max(self.required, key=_version)
            return Guess(nearest(newest), f"require_version({newest!r})")
        new = sorted(self.names & _NEW)
        if new:
            return Guess("1.8", new[0])
        if "fluid.io.PyReader" in self.calls:
            return self._py_reader()
        if any("for_parallel" in words for name, words in self.calls.items() if name.endswith("open_files")):
            return Guess("0.14", "open_files(for_parallel=...)")
        if "EOFException" not in self.caught and "EnforceNotMet" in self.caught and self._reads_files():
            return Guess("0.14", "the loop catches EnforceNotMet")
        old = sorted(self.names & _OLD.keys())
        return Guess(_OLD[old[0]], old[0]) if old else Guess(DEFAULT)

    def _py_reader(self) -> Guess:
        """PyReader was not iterable by default in 1.4; a script that starts one without saying so is of then."""
        says = "iterable" in self.calls["fluid.io.PyReader"]
        starts = any(name.endswith(".start") for name in self.calls)
        if starts and not says:
            return Guess("1.4", "PyReader without iterable= is started")
        return Guess(DEFAULT)

    def _reads_files(self) -> bool:
        return any(name.rpartition(".")[2] in ("open_files", "open_recordio_file") for name in self.calls)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(p) for p in text.split(".") if p.isdigit())


def _dotted(node: ast.AST | None) -> str:
    """Return `fluid.layers.fc` for the expression, with paddle.fluid written as fluid."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts)).replace("paddle.fluid.", "fluid.")


def local_sources(script: Path) -> list[Path]:
    """Return the script and the modules of its own folder that it imports, directly or through each other."""
    found: list[Path] = []
    queue = [script]
    while queue:
        path = queue.pop()
        if path in found or not path.is_file():
            continue
        found.append(path)
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        for name in _imports(tree):
            base = script.parent / Path(*name.split("."))
            queue += [base.with_suffix(".py"), base / "__init__.py"]
    return found


def _imports(tree: ast.AST) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)

"""Modernise one of the user's source texts: first its syntax, then its meaning."""

from __future__ import annotations

import ast
import importlib.machinery
import sys
from dataclasses import dataclass
from pathlib import Path

from fluidio.paddle.capsule.bindings import Bindings
from fluidio.paddle.capsule.evidence import find_evidence
from fluidio.paddle.capsule.old_syntax import to_python3
from fluidio.paddle.capsule.protobuf import renew_generated
from fluidio.paddle.capsule.rewrite import Change, rewrite

__all__ = ["Renewed", "python_of", "renew"]


@dataclass
class Renewed:
    """A modernised text with the same lines as the old one; `python` is the version it was written for."""

    text: str
    python: int
    reason: str
    changes: list[Change]
    imports: list[str]

    def with_imports(self) -> str:
        """Return the text including the imports that it needs, to be written to a file."""
        if not self.imports:
            return self.text
        lines = self.text.splitlines(keepends=True)
        place = _first_line(ast.parse(self.text)) or _comments(lines)
        return "".join([*lines[:place], *(f"{line}\n" for line in self.imports), *lines[place:]])

    def summary(self) -> str:
        """Describe what was applied, in a few words."""
        words = [f"{self.reason} (Python 2)"] if self.python == 2 else []
        for change in self.changes:
            if change.old not in words:
                words.append(change.old)
        return ", ".join(words[:6]) + (f" and {len(words) - 6} more" if len(words) > 6 else "")


def _comments(lines: list[str]) -> int:
    """Return the number of comments that a text begins with: `#!` and an encoding only count on its first lines."""
    return next((index for index, line in enumerate(lines) if not line.startswith("#")), len(lines))


def _first_line(tree: ast.Module) -> int:
    """Return the number of lines that must stay first: docstring and imports from __future__."""
    line = 0
    for node in tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_text and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        line = node.end_lineno or line
    return line


def python_of(text: str, path: str) -> tuple[int, str]:
    """Return 2 or 3 for the Python that a text was written for, 0 if unknown, and the evidence."""
    text, tree, changed, _ = to_python3(text, path)
    if changed:
        return 2, "old syntax"
    return _verdict(tree, Bindings(tree))


def _verdict(tree: ast.Module, bindings: Bindings) -> tuple[int, str]:
    found = find_evidence(tree, bindings)
    verdict = found.verdict()
    signs = [found.cannot_load] if found.cannot_load else found.python2 if verdict == 2 else found.python3
    return verdict, signs[0][1] if signs and signs[0] else ""


def renew(text: str, path: str, *, program: int = 0, forced: int = 0, in_package: bool = False) -> Renewed:
    """Modernise a text.

    Args:
        text: the source.
        path: its file, for errors.
        program: the Python of the program it belongs to, for a text that shows nothing itself.
        forced: the Python to take it for, whatever it shows.
        in_package: whether it is loaded as a module of a package.

    Raises:
        SyntaxError: the text is neither Python 3 nor Python 2.
    """
    generated = renew_generated(text)
    if generated is not None:
        return Renewed(generated[0], 3, "generated", [generated[1]], [])
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text, tree, changed, has_statements = to_python3(text, path)
    bindings = Bindings(tree)
    python, reason = (2, "old syntax") if changed else _verdict(tree, bindings)
    if forced:
        python, reason = forced, f"--python {forced}"
    elif not python:
        python, reason = program or 3, "as the rest of the program" if program else "nothing older in it"
    siblings = _siblings(path) if in_package and "absolute_import" not in bindings.futures else frozenset()
    done = rewrite(
        text, tree, bindings, python == 2, siblings if python == 2 else _only_beside(siblings, tree), has_statements
    )
    return Renewed(done.text, python, reason, done.changes, done.imports)


def _siblings(path: str) -> frozenset[str]:
    """Return the modules and packages beside a file."""
    own = Path(path)
    found = {child.stem for child in own.parent.glob("*.py")} | {
        child.parent.name for child in own.parent.glob("*/__init__.py")
    }
    return frozenset(found - {"__init__", own.stem})


def _only_beside(siblings: frozenset[str], tree: ast.Module) -> frozenset[str]:
    """Return those that a module imports and that exist nowhere else: only Python 2 could find them."""
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level]
    return frozenset(name for name in siblings & {n.partition(".")[0] for n in names} if not _is_found(name))


def _is_found(module: str) -> bool:
    return module in sys.modules or importlib.machinery.PathFinder.find_spec(module) is not None

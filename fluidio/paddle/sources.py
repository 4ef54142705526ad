"""Load the user's own modules, and libraries built on paddle, through the time capsule.

Other installed packages are left alone.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

from fluidio.paddle.capsule.arithmetic import IMPORT, keep_old_dtypes
from fluidio.paddle.capsule.bindings import Bindings
from fluidio.paddle.capsule.lifetimes import keep_lifetimes
from fluidio.paddle.capsule.logs import show_old_messages
from fluidio.paddle.capsule.modules import Renewed, renew
from fluidio.paddle.libraries import builds_on_paddle, is_installed
from fluidio.program.call_site import is_ours

__all__ = ["CapsuleFinder", "CapsuleLoader", "Loaded", "compile_source", "install_capsule", "is_users"]

_STANDARD = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib"))


HELPER = "from fluidio.paddle import capsule as fluidio_capsule"
"""Tells the strings of Python 2 that they are in a module of Python 2."""


@dataclass(frozen=True)
class Loaded:
    """The code of a module, and the imports that its names must hold before it runs."""

    code: CodeType
    imports: tuple[str, ...]

    def prepare(self, names: dict[str, Any]) -> None:
        """Bind the names that the rewritten code calls."""
        for line in self.imports:
            exec(line, names)


def compile_source(data: bytes, path: str, *, in_package: bool = False) -> Loaded:
    """Compile the user's source text, a module of a package or not; applied fixes are reported on stderr."""
    text = importlib.util.decode_source(data)
    program, forced = (int(os.environ.get(name, "0")) for name in ("FLUIDIO_PROGRAM_PYTHON", "FLUIDIO_PYTHON"))
    if not is_users(path):
        program = forced = 0  # a library need not be written for the program's Python
    renewed = renew(text, path, program=program, forced=forced, in_package=in_package)
    _tell(renewed, path)
    if renewed.python == 2:
        _let_bytes_through()
        show_old_messages()
    tree = ast.parse(renewed.text, path)
    if renewed.text != text:
        _hide_columns(tree, text, renewed.text)
    keep_lifetimes(tree, renewed.python == 2)
    helper = [HELPER] if renewed.python == 2 and HELPER not in renewed.imports else []
    imports = [*renewed.imports, *helper, *[IMPORT] * keep_old_dtypes(tree, Bindings(tree))]
    return Loaded(compile(tree, path, "exec", dont_inherit=True), tuple(imports))


def _let_bytes_through() -> None:
    """Let scripts of Python 2 print bytes that are no text."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="surrogateescape")


def _tell(renewed: Renewed, path: str) -> None:
    if os.environ.get("FLUIDIO_EXPLAIN"):
        print(f"fluidio run: {path}: Python {renewed.python} ({renewed.reason})", file=sys.stderr)
        for change in renewed.changes:
            print(f"fluidio run: {path}:{change.line}: {change.old} -> {change.new} ({change.since})", file=sys.stderr)
    elif renewed.python == 2:
        print(f"fluidio run: {path}: modernised while loading: {renewed.summary()}", file=sys.stderr)


def _hide_columns(tree: ast.Module, old: str, new: str) -> None:
    """Drop column numbers on changed lines: a traceback shows the user's line, where they would be wrong."""
    changed = {n for n, (a, b) in enumerate(zip(old.splitlines(), new.splitlines()), 1) if a != b}
    for node in ast.walk(tree):
        if isinstance(node, (ast.expr, ast.stmt)) and (node.lineno in changed or node.end_lineno in changed):
            node.col_offset = node.end_col_offset = -1


class CapsuleLoader(importlib.machinery.SourceFileLoader):
    """Load one of the user's modules."""

    def exec_module(self, module: ModuleType) -> None:
        path = self.get_filename(module.__name__)
        loaded = compile_source(self.get_data(path), path, in_package=bool(module.__package__))
        loaded.prepare(module.__dict__)
        exec(loaded.code, module.__dict__)


class CapsuleFinder(importlib.abc.MetaPathFinder):
    """Find modules where Python does, and load the user's through the capsule."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return None
        if not (is_users(spec.origin) or builds_on_paddle(spec.origin)) or is_ours(spec.origin):
            return None
        loader: Any = CapsuleLoader(fullname, spec.origin)
        spec.loader = loader
        return spec


def is_users(path: str) -> bool:
    """Return whether a source file is the user's own: not installed, not Python's, not fluidio's."""
    real = os.path.realpath(path)
    if is_installed(real) or is_ours(path) or is_ours(real):
        return False
    return not real.startswith(_STANDARD)


def install_capsule() -> None:
    """Load the user's modules through the capsule from now on."""
    if not any(isinstance(finder, CapsuleFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, CapsuleFinder())

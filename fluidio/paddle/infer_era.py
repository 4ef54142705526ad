"""Infer which Fluid version a script was written for, from its calls and the exceptions it catches.

A script without any sign of its age is assumed to be for 1.8, the last and most used version; one that uses RecordIO
or other names that 1.8 lacked, for the last version that had them, or an earlier one if its calls say so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fluidio.era import nearest
from fluidio.paddle.capsule.old_syntax import to_python3
from fluidio.paddle.sources import is_users

__all__ = ["Guess", "guess_era", "local_sources"]

NEWEST = "1.8"
# APIs that came with 1.6 to 1.8, which behave alike.
_NEW = frozenset(
    {
        "fluid.data",
        "fluid.io.DataLoader",
        "fluid.embedding",
        "fluid.one_hot",
        "fluid.save",
        "fluid.load",
        "fluid.layers.while_loop",
        "fluid.layers.cond",
        "fluid.layers.switch_case",
        "fluid.layers.rnn",
        "fluid.layers.dynamic_decode",
        "paddle.enable_static",
    }
)
# Names that 1.8 lacked -> the last era that had them.
_OLD = {
    "fluid.evaluator.Accuracy": "0.12",
    "fluid.layers.upsampling_bilinear2d": "0.12",
    "fluid.debuger": "0.12",
    "fluid.layers.ParallelDo": "0.14",
    "fluid.io.save_checkpoint": "0.14",
    "fluid.io.load_checkpoint": "0.14",
    "fluid.layers.get_places": "0.14",
    "fluid.layers.parallel": "0.14",
    "fluid.layers.io.parallel": "0.14",
    "fluid.Trainer": "0.15",
    "fluid.Inferencer": "0.15",
    "fluid.EndStepEvent": "0.15",
    "fluid.EndEpochEvent": "0.15",
    "fluid.trainer": "0.15",
    "fluid.inferencer": "0.15",
    "fluid.contrib.trainer": "1.5",
    "fluid.contrib.inferencer": "1.5",
    "fluid.layers.control_flow.ParallelDo": "0.14",
    "fluid.layers.open_files": "1.5",
    "fluid.layers.open_recordio_file": "1.5",
    "fluid.layers.Preprocessor": "1.5",
    "fluid.layers.random_data_generator": "1.5",
    "fluid.layers.shuffle": "1.5",
    "fluid.layers.batch": "1.5",
    "fluid.layers.io.open_files": "1.5",
    "fluid.layers.io.open_recordio_file": "1.5",
    "fluid.recordio_writer": "1.5",
    "recordio": "1.5",
    "fluid.initializer.init_on_cpu": "1.5",
    "fluid.InferenceTranspiler": "1.5",
    "fluid.transpiler.InferenceTranspiler": "1.5",
    "fluid.AsyncExecutor": "1.5",
}


@dataclass(frozen=True)
class Guess:
    """An era and the sign it is based on."""

    era: str
    sign: str = "it shows no sign of an older one"


def guess_era(sources: Iterable[tuple[str, str]]) -> Guess:
    """Return the era of some source texts, given with their paths."""
    scan = _Scan()
    for path, text in sources:
        try:
            tree = to_python3(text, path)[1]
        except (SyntaxError, ValueError):
            continue  # running it will report the position
        scan.path = path
        scan.visit(tree)
    return scan.guess()


class _Scan(ast.NodeVisitor):
    """What the modules of a program call, mention and catch, each with the place where it first occurs."""

    def __init__(self) -> None:
        self.path = ""
        self.bound: dict[str, str] = {}
        self.calls: dict[str, set[str]] = {}
        self.caught: dict[str, str] = {}
        self.required: list[str] = []
        self.names: dict[str, str] = {}
        self.optional: set[str] = set()
        self.in_v2 = ""

    def _place(self, node: ast.expr | ast.stmt | ast.ExceptHandler) -> str:
        return f"{self.path}:{node.lineno}"

    def _note_v2(self, name: str, node: ast.stmt) -> None:
        """Fluid was `paddle.v2.fluid` before 0.12, and for a while in it."""
        if f"{name}.".startswith("paddle.v2.fluid."):
            self.in_v2 = self.in_v2 or self._place(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._note_v2(alias.name, node)
            name = _short(alias.name)
            if alias.asname:
                self.bound[alias.asname] = name
            self.names.setdefault(name, self._place(node))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.names.setdefault(_short(node.module or ""), self._place(node))
        for alias in node.names:
            self._note_v2(f"{node.module}.{alias.name}", node)
            name = _short(f"{node.module}.{alias.name}")
            self.bound[alias.asname or alias.name] = name
            self.names.setdefault(name, self._place(node))

    def visit_Try(self, node: ast.Try) -> None:
        """Ignore the old names in a `try` with another branch for versions without them."""
        branches = [node.body, *(h.body for h in node.handlers if _catches_missing(h) and not _gives_up(h))]
        found = [_old_names(body, self.bound) for body in branches]
        if len(found) > 1:
            newest = max(found, key=lambda names: min((_version(_OLD[n]) for n in names), default=_version(NEWEST)))
            self.optional.update(*found)
            self.optional -= newest
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = self._dotted(node.func)
        self.calls.setdefault(name, set()).update(k.arg for k in node.keywords if k.arg)
        self.names.setdefault(name, self._place(node))
        if name.endswith("require_version") and node.args and isinstance(node.args[0], ast.Constant):
            self.required.append(str(node.args[0].value))
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.names.setdefault(self._dotted(node), self._place(node))
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type] if node.type else []
        for kind in kinds:
            self.caught.setdefault(self._dotted(kind).rpartition(".")[2], self._place(node))
        self.generic_visit(node)

    def _dotted(self, node: ast.AST | None) -> str:
        """Return `fluid.layers.fc` for the expression, whatever the script calls the modules."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            parts.append(self.bound.get(node.id, node.id))
        return _short(".".join(reversed(parts)))

    def guess(self) -> Guess:
        if self.required:
            newest = max(self.required, key=_version)
            return Guess(nearest(newest), f"require_version({newest!r})")
        for name in sorted(self.names.keys() & _NEW):
            return Guess(NEWEST, f"{self.names[name]}: {name}")
        if "fluid.io.PyReader" in self.calls and self._starts_py_reader():
            return Guess("1.4", f"{self.names['fluid.io.PyReader']}: a PyReader without iterable= is started")
        return self._of_old_names()

    def _of_old_names(self) -> Guess:
        for name, words in self.calls.items():
            if name.endswith("open_files") and "for_parallel" in words:
                return Guess("0.14", f"{self.names[name]}: open_files(for_parallel=...)")
        if "EOFException" not in self.caught and "EnforceNotMet" in self.caught and self._reads_files():
            return Guess("0.14", f"{self.caught['EnforceNotMet']}: the loop catches EnforceNotMet")
        if self.in_v2:
            return Guess("0.12", f"{self.in_v2}: paddle.v2.fluid")
        old = sorted((_version(_OLD[name]), name) for name in self.names.keys() & _OLD.keys() - self.optional)
        return Guess(_OLD[old[0][1]], f"{self.names[old[0][1]]}: {old[0][1]}") if old else Guess(NEWEST)

    def _starts_py_reader(self) -> bool:
        """PyReader was not iterable by default in 1.4; a script that starts one without saying so is of that time."""
        says = "iterable" in self.calls["fluid.io.PyReader"]
        return not says and any(name.endswith(".start") for name in self.calls)

    def _reads_files(self) -> bool:
        return any(name.rpartition(".")[2] in ("open_files", "open_recordio_file") for name in self.calls)


def _catches_missing(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler is for names that a version lacks."""
    words = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)} if handler.type else set()
    return not handler.type or bool(words & {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception"})


def _gives_up(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler raises or ends the program, so that the guarded names are needed."""
    last = handler.body[-1]
    ends = isinstance(last, ast.Expr) and ast.unparse(last.value).partition("(")[0].endswith("exit")
    return ends or isinstance(last, ast.Raise)


def _old_names(body: list[ast.stmt], bound: dict[str, str]) -> set[str]:
    """Return the old names in some statements."""
    scan = _Scan()
    scan.bound = dict(bound)
    for statement in body:
        scan.visit(statement)
    return scan.names.keys() & _OLD.keys()


def _short(name: str) -> str:
    for prefix in ("paddle.fluid", "paddle.v2.fluid"):
        if name == prefix or name.startswith(prefix + "."):
            return "fluid" + name.removeprefix(prefix)
    return name


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(p) for p in text.split(".") if p.isdigit())


def local_sources(script: Path) -> list[Path]:
    """Return the script and the user's modules that it imports, directly or indirectly."""
    found: list[Path] = []
    queue = [script]
    while queue:
        path = queue.pop()
        if path in found or not path.is_file() or not is_users(str(path)):
            continue
        found.append(path)
        try:
            tree = to_python3(path.read_text("utf-8", "replace"), str(path))[1]
        except (SyntaxError, ValueError):
            continue
        for name in _imports(tree):
            for folder in {script.parent, path.parent, Path.cwd()}:
                base = folder / Path(*name.split("."))
                queue += [base.with_name(base.name + ".py"), base / "__init__.py"]
    return found


def _imports(tree: ast.AST) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)

"""Apply the table to the text of one module: the same edits for `fluidio run` and `fluidio port`."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from dataclasses import dataclass, field

from fluidio.paddle.capsule import constructs, old_constructs
from fluidio.paddle.capsule.bindings import Bindings
from fluidio.paddle.capsule.conditions import is_plain, matches, says_copy
from fluidio.paddle.capsule.cookies import encoding_of
from fluidio.paddle.capsule.edits import Edits, Spanned
from fluidio.paddle.capsule.guards import guarded_by_if, guarded_by_try
from fluidio.paddle.capsule.imports import refuse_from, rewrite_from, rewrite_import
from fluidio.paddle.capsule.scopes import Certain
from fluidio.paddle.capsule.shapes import is_no_array
from fluidio.paddle.capsule.table import Row, rows_of

__all__ = ["Change", "Rewriter", "Rewritten", "rewrite"]

_NAMES = rows_of("name")
_METHODS = rows_of("method")
_ATTRIBUTES = rows_of("attribute")
_BUILTINS = rows_of("builtin")
_CALLS = rows_of("call")
_FUNCTION_PARTS = {key for key, rows in _ATTRIBUTES.items() if rows[0].new.startswith("capsule.functions.")}
_CONSTRUCTS = {key: rows[0] for key, rows in rows_of("construct").items()}


@dataclass(frozen=True, order=True)
class Change:
    """One row of the table, applied on a line."""

    line: int
    old: str
    new: str
    since: str


@dataclass
class Rewritten:
    """A text after the table was applied: the changes, and the import lines that it needs now."""

    text: str
    changes: list[Change] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)


def rewrite(
    text: str,
    tree: ast.Module,
    bindings: Bindings,
    python2: bool,
    siblings: frozenset[str] = frozenset(),
    has_statements: bool = True,
) -> Rewritten:
    """Apply the table to a text whose tree is given; no line moves.

    Args:
        text: the source.
        tree: its syntax tree.
        bindings: what its names mean.
        python2: whether it was written for Python 2.
        siblings: the modules beside it in its package, which Python 2 imports in preference to others of that name.
        has_statements: whether its calls of `print` were statements.
    """
    rewriter = Rewriter(text, bindings, python2)
    rewriter.siblings = siblings
    rewriter.has_statements = has_statements
    rewriter.encoding = encoding_of(text)
    if python2:
        rewriter.look_ahead(tree)
    rewriter.visit(tree)
    return Rewritten(rewriter.edits.apply(), sorted(set(rewriter.changes)), sorted(rewriter.imports))


class Rewriter(ast.NodeVisitor):
    """Visit outer nodes first and record an edit wherever a row of the table applies."""

    def __init__(self, text: str, bindings: Bindings, python2: bool) -> None:
        self.edits = Edits(text)
        self.bindings = bindings
        self.python2 = python2
        self.floors = python2 and "division" not in bindings.futures
        self.changes: list[Change] = []
        self.imports: set[str] = set()
        self.siblings: frozenset[str] = frozenset()
        self.guarded = self.tried = False
        self.iterated: set[int] = set()
        self.certain = Certain(ast.Module([], []))
        self.shown: set[int] = set()
        self.raised: set[str] = set()
        self.caught: set[str] = set()
        self.read: set[str] = set()
        self.has_statements = True
        self.encoding = "utf-8"
        self.waits = False
        taken = bindings.bound | set(bindings.modules)
        self.capsule = "capsule" if "capsule" not in taken else "fluidio_capsule"

    def look_ahead(self, tree: ast.Module) -> None:
        """Read off the whole module of Python 2 what its parts must know."""
        self.certain = Certain(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                self.waits |= "print_function" not in self.bindings.futures and bool(node.keywords)
            elif isinstance(node, ast.Raise):
                self.raised.update(_names_in(node.exc))
            elif isinstance(node, ast.ExceptHandler):
                self.raised.update(_names_in(node.type))
            elif isinstance(node, ast.Name):
                self.read.add(node.id)
            elif isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                self.shown.update(_docstring(node))

    # Helpers for constructs and imports.

    def note(self, node: Spanned, row: Row, old: str = "") -> None:
        """Record that a row was applied."""
        self.changes.append(Change(node.lineno, old or row.old.removeprefix("module "), row.new, row.since))

    def helper(self, target: str) -> str:
        """Return the text for `capsule.x`, and make sure it is imported."""
        self.imports.add(
            f"from fluidio.paddle import capsule{'' if self.capsule == 'capsule' else ' as ' + self.capsule}"
        )
        return f"{self.capsule}.{target.removeprefix('capsule.')}"

    def target(self, row: Row, full: str = "", root: str = "") -> str:
        """Return the text of a row's target for a script in which `root` is the start of `full`."""
        new = row.new
        if new.startswith("capsule."):
            return self.helper(new)
        first, _, rest = new.partition(".")
        if "(" in new or hasattr(builtins, first):
            return new if "(" in new or self.bindings.is_builtin(first) else self.helper(f"builtins.{new}")
        module = self.bindings.modules.get(root, "")
        if module and new.startswith(f"{module}.") and full.startswith(f"{module}."):
            return f"{root}.{new.removeprefix(module + '.')}"
        path = new.rpartition(".")[0] if rest and not new.startswith("fluidio.") else new
        if self.bindings.modules.get(first) == first or self.bindings.is_builtin(first):
            self.imports.add(f"import {path}")
            return new
        alias = f"capsule_{path.replace('.', '_')}"
        self.imports.add(f"import {path} as {alias}")
        return f"{alias}.{new.removeprefix(path + '.')}" if new != path else alias

    def apply_construct(self, key: str, node: Spanned, old: str = "") -> str:
        """Record a construct and return the text of its function."""
        row = _CONSTRUCTS[key]
        self.note(node, row, old)
        return self.helper(row.new) if row.new.startswith("capsule.") else row.new

    def inner(self, text: str) -> str:
        """Return a part of the text, such as the inside of an f-string, with the table applied."""
        part = Rewriter(text, self.bindings, self.python2)
        part.capsule = self.capsule
        part.visit(ast.parse(text, mode="eval"))
        self.changes += part.changes
        self.imports |= part.imports
        return part.edits.apply()

    def _holds(self, row: Row, call: ast.Call | None) -> bool:
        if row.python2_only and not self.python2:
            return False
        if not row.condition:
            return True
        return call is not None and matches(row.condition, call)

    # Statements.

    def visit_Import(self, node: ast.Import) -> None:
        if not self.guarded:
            rewrite_import(self, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if not self.guarded:
            rewrite_from(self, node)
        elif self.tried:
            refuse_from(self, node)

    def visit_Try(self, node: ast.Try) -> None:
        before, self.tried = self.tried, guarded_by_try(node)
        self._under_guard(self.tried, node.body)
        self.tried = before
        for child in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(child)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self._under_guard(guarded_by_if(node), [*node.body, *node.orelse])

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._under_guard(guarded_by_if(node), [node.test, node.body, node.orelse])

    def _under_guard(self, guarded: bool, nodes: list[ast.stmt] | list[ast.expr]) -> None:
        before, self.guarded = self.guarded, self.guarded or guarded
        for node in nodes:
            self.visit(node)
        self.guarded = before

    def visit_For(self, node: ast.For) -> None:
        self.iterated.add(id(node.iter))
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.iterated.add(id(node.iter))
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        constructs.rename_special_methods(self, node)
        if self.python2:
            old_constructs.bases(self, node)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        before = self.caught
        self.caught = before | ({node.name} if self.python2 and node.name else set())
        old_constructs.standard_errors(self, node.type)
        self.generic_visit(node)
        self.caught = before

    def visit_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.targets[0], (ast.Tuple, ast.List)):
            old_constructs.error_parts(self, node.value)
        constructs.store(self, node)
        constructs.append(self, node.value)
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        constructs.append(self, node.value)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if not constructs.divide_in_place(self, node):
            constructs.store(self, node)
        self.generic_visit(node)

    # Expressions.

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        constructs.fstring(self, node)

    def visit_Compare(self, node: ast.Compare) -> None:
        if self.python2:
            old_constructs.compare(self, node)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if self.python2:
            old_constructs.literal(self, node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg in ("help", "description", "epilog"):
            old_constructs.leave_shown(self, [node.value])
        self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        if node.msg is not None:
            old_constructs.leave_shown(self, [node.msg])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        constructs.operator(self, node)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        constructs.listed(self, node.value)
        old_constructs.error_parts(self, node.value)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if constructs.call(self, node):
            self.generic_visit(node)
            return
        function = node.func
        if isinstance(function, ast.Name):
            self._called_name(node, function)
        elif isinstance(function, ast.Attribute):
            self._called_attribute(node, function)
        else:
            self.visit(function)
        for child in (*node.args, *node.keywords):
            self.visit(child)

    def _called_name(self, node: ast.Call, function: ast.Name) -> None:
        if function.id in _CALLS and self.bindings.is_builtin(function.id):
            for row in _CALLS[function.id]:
                if self.guarded and row.since == "Python 3.0":
                    continue
                if self._holds(row, node) and not (function.id in ("int", "float", "long") and is_plain(node)):
                    self._replace(function, row, self.target(row))
                    return
        full, root = self.bindings.dotted(function)
        for row in _NAMES.get(full, []):
            if row.condition and self._holds(row, node):
                self._replace(function, row, self.target(row, full, root))
                return
        if function.id not in constructs.LISTS:
            self.visit(function)

    def _called_attribute(self, node: ast.Call, function: ast.Attribute) -> None:
        full, root = self.bindings.dotted(function)
        for row in _NAMES.get(full, []):
            if self._holds(row, node) and not self._needs_no(row, node):
                self._replace(function, row, self.target(row, full, root))
                return
        for row in _METHODS.get(function.attr, []):
            if not _names_function(full) and self._holds(row, node):
                self._method(node, function, row)
                break
        if function.attr in _FUNCTION_PARTS:
            self.visit(function)
        else:  # do not rewrite the attribute itself: its row may not apply to this call
            self.visit(function.value)

    def _needs_no(self, row: Row, node: ast.Call) -> bool:
        """Return whether a call is safe unchanged: an array with a dtype is not ragged, a literal is not an array."""
        if row.key in ("numpy.array", "numpy.asarray"):
            return len(node.args) != 1 or (any(k.arg == "dtype" for k in node.keywords) and not says_copy(node))
        if row.python2_only:
            return False
        return row.key.startswith("math.") and all(is_no_array(argument) for argument in node.args)

    def _method(self, node: ast.Call, function: ast.Attribute, row: Row) -> None:
        """Turn `value.name(arguments)` into `helper(value, arguments)`."""
        if row.key in ("keys", "values", "items", "next", "getchildren") and (node.args or node.keywords):
            return
        self.note(node, row)
        self.as_function(node, function, self.target(row))

    def as_function(self, node: ast.Call, function: ast.Attribute, name: str) -> None:
        """Turn a method call into a function call with the object as first argument."""
        end = self.edits.end(function)
        dot = self.edits.data.rindex(b".", 0, end)
        parenthesis = self.edits.find(b"(", end, len(self.edits.data))
        self.edits.open(self.edits.start(node), f"{name}(")
        first = node.args[0] if node.args else None
        bare = isinstance(first, ast.GeneratorExp) and self.edits.start(first) == parenthesis
        separator = ", (" if bare else ", " if node.args or node.keywords else ""
        self.edits.replace(dot, parenthesis + 1, separator)
        if bare:  # `join(x for x in y)`: the generator shares the call's brackets
            self.edits.close(self.edits.end(node), ")")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        full, root = self.bindings.dotted(node)
        rows = [row for row in _NAMES.get(full, []) if self._holds(row, None)]
        if rows and isinstance(node.ctx, ast.Load) and not self.guarded:
            self._replace(node, rows[0], self.target(rows[0], full, root))
            return
        held = [row for row in _ATTRIBUTES.get(node.attr, []) if self._holds(row, None)]
        if held and isinstance(node.ctx, ast.Load) and not full:
            row = held[0]
            end = self.edits.end(node)
            self.note(node, row)
            self.edits.open(self.edits.start(node), f"{self.target(row)}(")
            self.edits.replace(self.edits.data.rindex(b".", 0, end), end, ")")
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id not in _BUILTINS or not isinstance(node.ctx, ast.Load) or self.guarded:
            return
        row = _BUILTINS[node.id][0]
        if self.bindings.is_builtin(node.id) and self._holds(row, None):
            self._replace(node, row, self.target(row))

    def _replace(self, node: ast.expr, row: Row, text: str) -> None:
        start, end = self.edits.start(node), self.edits.end(node)
        self.note(node, row, re.sub(r"\s+", "", self.edits.segment(start, end)))
        self.edits.replace(start, end, text)


def _names_in(node: ast.expr | None) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} if node is not None else set()


def _docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> set[int]:
    first = node.body[0] if node.body else None
    return {id(first.value)} if isinstance(first, ast.Expr) else set()


def _names_function(full: str) -> bool:
    """Return whether a dotted name is a module's own function, unlike `os.environ.keys`."""
    owner = full.rpartition(".")[0]
    return bool(full) and ("." not in owner or owner in sys.modules)

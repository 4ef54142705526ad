"""Rewrite constructs whose meaning Python 3 has changed, in modules of Python 2."""

from __future__ import annotations

import ast
import io
import tokenize
from typing import TYPE_CHECKING

from fluidio.paddle.capsule.scalars import SPEC
from fluidio.paddle.capsule.scopes import NUMBER, TEXT
from fluidio.paddle.capsule.shapes import is_text

if TYPE_CHECKING:
    from fluidio.paddle.capsule.edits import Spanned
    from fluidio.paddle.capsule.rewrite import Rewriter

__all__ = [
    "RAISED",
    "bases",
    "compare",
    "divide_item",
    "formats",
    "leave_shown",
    "literal",
    "mapped",
    "name_kinds",
    "percent",
    "printed",
    "raised",
]

RAISED = "fluidio_raised"
"""The function that stands for `raise` with several operands after the syntax was converted."""
_ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_KINDS = {"str": "Str", "bytes": "Str", "unicode": "Unicode"}
_SHOWN_KEYWORDS = ("help", "description", "epilog")


def compare(rewriter: Rewriter, node: ast.Compare) -> None:
    """`a < b`, where Python 2 orders any two values."""
    kinds(rewriter, node)
    sides = [node.left, *node.comparators]
    if not any(isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in node.ops):
        return
    if not all(type(op) in _ORDERS for op in node.ops):
        return
    known = {rewriter.certain.kind(side) for side in sides}
    if len(known) == 1 and "" not in known:
        return
    edits = rewriter.edits
    edits.open(edits.start(node), f"{rewriter.apply_construct('ordered', node, '< of any values')}(")
    for left, op, right in zip(sides, node.ops, sides[1:]):
        word = _ORDERS[type(op)]
        where = edits.find(word.encode(), edits.end(left), edits.start(right))
        edits.replace(where, where + len(word), f', "{word}",')
    edits.close(edits.end(node), ")")


def kinds(rewriter: Rewriter, node: ast.Compare) -> None:
    """`type(x) is str`."""
    sides = [node.left, *node.comparators]
    if any(isinstance(side, ast.Call) and _is_name(rewriter, side.func, "type") for side in sides):
        for side in sides:
            name_kinds(rewriter, side)


def name_kinds(rewriter: Rewriter, node: ast.expr) -> None:
    """`str`, `unicode` or a tuple of them, where types are compared."""
    if isinstance(node, (ast.Tuple, ast.List)):
        for part in node.elts:
            name_kinds(rewriter, part)
    elif isinstance(node, ast.Name) and node.id in _KINDS and rewriter.bindings.is_builtin(node.id):
        name = rewriter.apply_construct("kinds", node, f"type {node.id}")
        _put(rewriter, node, f"{name.removesuffix('Str')}{_KINDS[node.id]}")
        node.id = ""  # done


def mapped(rewriter: Rewriter, node: ast.Call) -> None:
    """`map(str, values)`."""
    if node.args and isinstance(node.args[0], ast.Name):
        name_kinds(rewriter, node.args[0])


def _is_name(rewriter: Rewriter, node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and rewriter.bindings.is_builtin(name)


def _put(rewriter: Rewriter, node: Spanned, text: str) -> None:
    rewriter.edits.replace(rewriter.edits.start(node), rewriter.edits.end(node), text)


def printed(rewriter: Rewriter, node: ast.Call) -> bool:
    """`print a, b`; True if nothing is left to do with the name."""
    if not _is_name(rewriter, node.func, "print"):
        return False
    leave_shown(rewriter, node.args)
    is_function = "print_function" in rewriter.bindings.futures
    shows_all = is_function or rewriter.has_statements or len(node.args) == 1
    is_alike = not node.keywords and all(_prints_alike(rewriter, value) for value in node.args)
    if shows_all and is_alike and not rewriter.waits:
        return True
    name = rewriter.apply_construct("print", node, "print")
    name = f"{name.removesuffix('print_line')}print_values" if is_function else name
    _put(rewriter, node.func, name)
    if not (is_function or rewriter.has_statements) and len(node.args) != 1 and not node.keywords:
        rewriter.edits.open(rewriter.edits.end(node) - 1, ")")
        where = rewriter.edits.find(b"(", rewriter.edits.end(node.func), rewriter.edits.end(node))
        rewriter.edits.open(where, "(")
    return True


def _prints_alike(rewriter: Rewriter, value: ast.expr) -> bool:
    """Return whether the two Pythons print a value in the same way: text, or a whole number."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, (str, int))
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id == "len"
    if isinstance(value, ast.Compare):
        return True
    return rewriter.certain.kind(value) == TEXT and not isinstance(value, ast.Call)


def leave_shown(rewriter: Rewriter, values: list[ast.expr]) -> None:
    """Leave literals as they are that are only shown."""
    for value in values:
        if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mod, ast.Add)):
            leave_shown(rewriter, [value.left] if isinstance(value.op, ast.Mod) else [value.left, value.right])
        elif isinstance(value, ast.Constant):
            rewriter.shown.add(id(value))


def raised(rewriter: Rewriter, node: ast.Call) -> bool:
    """`raise E, value, trace`, as the conversion of the syntax left it."""
    if not isinstance(node.func, ast.Name) or node.func.id != RAISED:
        return False
    _put(rewriter, node.func, rewriter.apply_construct("raise", node, "raise E, value"))
    return True


def percent(rewriter: Rewriter, node: ast.BinOp) -> bool:
    """`text % values` whose values Python 2 shows in another way."""
    left = node.left
    if not is_text(left, rewriter.bindings.texts):
        sides = {rewriter.certain.kind(left), rewriter.certain.kind(node.right)}
        if not isinstance(node.right, (ast.Tuple, ast.Dict)) and NUMBER in sides:
            return False
        return not isinstance(left, (ast.BinOp, ast.List)) or isinstance(node.right, (ast.Tuple, ast.Dict))
    if isinstance(left, ast.Constant) and isinstance(left.value, str):
        shows = any(match["kind"] in "sr" for match in SPEC.finditer(left.value))
        if left.value.isascii() and not shows:
            return False
    return not all(_shows_alike(value) for value in _values(node.right))


def _values(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Tuple):
        return node.elts
    return node.values if isinstance(node, ast.Dict) else [node]


def _shows_alike(value: ast.expr) -> bool:
    """Return whether `%s` of a value is certainly the same in both Pythons."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int) or (isinstance(value.value, str) and value.value.isascii())
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("len", "int")


def formats(rewriter: Rewriter, node: ast.Call, function: ast.Attribute) -> bool:
    """`'{}'.format(value)` whose values Python 2 shows in another way."""
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    return is_text(function.value, rewriter.bindings.texts) and not all(map(_shows_alike, values))


def divide_item(rewriter: Rewriter, node: ast.AugAssign) -> bool:
    """`a[f()] /= b`, whose parts are evaluated once; True if it was one."""
    target = node.target
    if not isinstance(target, ast.Subscript) or any(isinstance(part, ast.Slice) for part in ast.walk(target.slice)):
        return False
    edits = rewriter.edits
    name = rewriter.apply_construct("divide", node, "/= of integers")
    where = edits.find(b"/=", edits.end(target), edits.start(node.value))
    bracket = edits.find(b"[", edits.end(target.value), edits.end(target))
    edits.open(edits.start(node), f"{name}_item(")
    edits.replace(bracket, bracket + 1, ", ")
    edits.replace(edits.end(target) - 1, edits.end(target), ",")
    edits.replace(where, where + 2, "")
    edits.close(edits.end(node.value), ")")
    return True


def error_parts(rewriter: Rewriter, node: ast.expr) -> None:
    """`error[0]` and `code, text = error` in a handler: the arguments of the exception."""
    if isinstance(node, ast.Name) and node.id in rewriter.caught and isinstance(node.ctx, ast.Load):
        name = rewriter.apply_construct("error_parts", node, f"{node.id}[i]")
        rewriter.edits.replace(rewriter.edits.start(node), rewriter.edits.end(node), f"{name}({node.id})")


def standard_errors(rewriter: Rewriter, node: ast.expr | None, starred: str = "") -> None:
    """`except StandardError`, alone or in a tuple."""
    if isinstance(node, ast.Tuple):
        for part in node.elts:
            standard_errors(rewriter, part, "*")
    elif isinstance(node, ast.Name) and _is_name(rewriter, node, "StandardError"):
        _put(rewriter, node, starred + rewriter.apply_construct("standard_errors", node, "except StandardError"))
        node.id = ""  # done


def bases(rewriter: Rewriter, node: ast.ClassDef) -> None:
    """`__cmp__` and `__getslice__`, which Python 3 ignores, `__str__` that returns bytes, classes that are raised."""
    names = {child.name for child in node.body if isinstance(child, ast.FunctionDef)}
    found: list[str] = []
    if "__cmp__" in names and not names & {"__lt__", "__eq__"}:
        found.append(rewriter.apply_construct("compared", node, "def __cmp__"))
    slices = sorted(names & {"__getslice__", "__setslice__", "__delslice__"})
    if slices or any(map(_shows_bytes, node.body)):
        found.append(rewriter.apply_construct("classes", node, f"def {slices[0] if slices else '__str__'}"))
    if not node.bases and node.name in rewriter.raised:
        found.append(rewriter.apply_construct("raised", node, f"raise {node.name}"))
    if found:
        _add_bases(rewriter, node, ", ".join(found))


def _shows_bytes(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef) or node.name not in ("__str__", "__repr__"):
        return False
    return any(isinstance(part, ast.Attribute) and part.attr == "encode" for part in ast.walk(node))


def _add_bases(rewriter: Rewriter, node: ast.ClassDef, names: str) -> None:
    edits = rewriter.edits
    if node.bases:
        edits.open(edits.start(node.bases[0]), f"{names}, ")
        return
    where = edits.find(node.name.encode(), edits.start(node) + len("class"), edits.end(node)) + len(node.name)
    bracket = edits.data[where:].lstrip()[:1] == b"("
    edits.open(edits.find(b"(", where, edits.end(node)) + 1 if bracket else where, names if bracket else f"({names})")


def literal(rewriter: Rewriter, node: ast.Constant) -> None:
    """`'caf\\xc3\\xa9'` and text outside ASCII, which are bytes; `b''`, which is text."""
    if isinstance(node.value, bytes):
        rewriter.edits.open(rewriter.edits.start(node), f"{rewriter.apply_construct('bytes', node, 'bytes')}(")
        rewriter.edits.close(rewriter.edits.end(node), ")")
        return
    if not isinstance(node.value, str) or node.value.isascii() or node.kind == "u":
        return
    if "unicode_literals" in rewriter.bindings.futures or id(node) in rewriter.shown:
        return
    edits = rewriter.edits
    text = edits.segment(edits.start(node), edits.end(node))
    encoding = rewriter.encoding
    data = _bytes_of_literal(text, encoding) if "\\" in text or encoding != "utf-8" else None
    if data is not None and data != node.value.encode("utf-8", "surrogateescape"):
        new = repr(data.decode()) if data.isascii() else f"{_encoded(rewriter, node)}({data!r})"
        edits.replace(edits.start(node), edits.end(node), new)
        return
    edits.open(edits.start(node), f"{_encoded(rewriter, node)}(")
    edits.close(edits.end(node), ")")


def _encoded(rewriter: Rewriter, node: ast.Constant) -> str:
    return rewriter.apply_construct("literal", node, "'...' as bytes")


def _bytes_of_literal(text: str, encoding: str) -> bytes:
    """Return what Python 2 makes of literals, side by side, in the encoding of their file."""
    parts = []
    lines = io.StringIO(f"({text})").readline
    for token in tokenize.generate_tokens(lines):
        if token.type != tokenize.STRING:
            continue
        prefix = token.string.partition(token.string[-1])[0].lower()
        if "r" in prefix:
            parts.append(str(ast.literal_eval(token.string)).encode(encoding))
            continue
        body = token.string[len(prefix) :]
        escaped = "".join(c if c.isascii() else "".join(f"\\x{b:02x}" for b in c.encode(encoding)) for c in body)
        parts.append(ast.literal_eval(f"b{escaped}"))
    return b"".join(parts)

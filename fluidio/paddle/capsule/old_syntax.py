"""Convert Python 2 syntax to Python 3 with the fixers of fissix (the maintained fork of lib2to3); not its meaning.

Lines stay where they are (except for tuple parameters), so that tracebacks point to the user's own lines.
"""

from __future__ import annotations

import ast
import io
import logging
import warnings
from typing import NamedTuple

__all__ = ["Converted", "parse", "to_python3"]

_FIXERS = (
    "exec",
    "metaclass",
    "ne",
    "numliterals",
    "paren",
    "print",
    "repr",
    "tuple_params",
)
_OURS = (
    "fluidio.paddle.capsule.fix_handlers",
    "fluidio.paddle.capsule.fix_literals",
    "fluidio.paddle.capsule.fix_raising",
    "fluidio.paddle.capsule.fix_lambdas",
)


def parse(text: str, path: str) -> ast.Module:
    """Return the tree of a Python 3 text; SyntaxError if it is not one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # about "\d" and the like; issued once, by the compiler
        warnings.simplefilter("ignore", DeprecationWarning)
        return ast.parse(text, path)


class Converted(NamedTuple):
    """A text in the syntax of Python 3."""

    text: str
    tree: ast.Module
    is_old: bool
    """Whether it had to be changed."""
    has_statements: bool = False
    """Whether its calls of `print` were statements."""


def to_python3(text: str, path: str) -> Converted:
    """Return a text in the syntax of Python 3.

    Raises:
        SyntaxError: the text is neither Python 3 nor Python 2.
    """
    is_old = False
    try:
        tree = parse(text, path)
        if not any(_prints_to_a_file(node) for node in ast.walk(tree)):
            return Converted(text, tree, False)
        is_old = True
    except TabError:
        text, is_old = "".join(_spaced(line) for line in text.splitlines(keepends=True)), True
    except SyntaxError:
        pass  # perhaps it is Python 2, or uses a name that has become a keyword since
    text = _freed(text)
    try:
        tree = parse(text, path)
        if not any(_prints_to_a_file(node) for node in ast.walk(tree)):
            return Converted(text, tree, is_old)
    except SyntaxError:
        pass
    fixed, has_statements = _refactor(text, path)
    return Converted(fixed, parse(fixed, path), True, has_statements)


def _prints_to_a_file(node: ast.AST) -> bool:
    """Return whether this is Python 2's `print >> file, ...`, which Python 3 parses as a shift of a function."""
    if not isinstance(node, ast.Expr):
        return False
    first = node.value.elts[0] if isinstance(node.value, ast.Tuple) and node.value.elts else node.value
    if not isinstance(first, ast.BinOp) or not isinstance(first.op, ast.RShift):
        return False
    return isinstance(first.left, ast.Name) and first.left.id == "print"


# `async` and `await` were names until Python 3.7. Python compares keywords byte by byte but normalises names: with a
# different "a" in front, it is not a keyword but still the name `async` for getattr and **kwargs.
_NAMES = {"async": "\U0001d5basync", "await": "\U0001d5bawait"}


def _freed(text: str) -> str:
    """Return a text in which `async` and `await` are names again, unless they are used as keywords."""
    if not any(name in text for name in _NAMES):
        return text
    from fissix.pgen2 import token, tokenize

    lines = io.StringIO(text if text.endswith("\n") else text + "\n")
    try:
        found = list(tokenize.generate_tokens(lines.readline))
    except (tokenize.TokenError, IndentationError):
        return text
    if any(kind in (token.ASYNC, token.AWAIT) for kind, *_ in found):
        return text
    rows = text.splitlines(keepends=True)
    for kind, word, (row, column), *_ in reversed(found):
        if kind == token.NAME and word in _NAMES:
            line = rows[row - 1]
            rows[row - 1] = line[:column] + _NAMES[word] + line[column + len(word) :]
    return "".join(rows)


def _spaced(line: str) -> str:
    """Expand the tabs at the start of a line to Python 2's eight columns."""
    rest = line.lstrip(" \t")
    return line[: len(line) - len(rest)].expandtabs(8) + rest


def _refactor(text: str, path: str) -> tuple[str, bool]:
    """Return a text after the fixers, and whether `print` was a statement in it."""
    from fissix.pgen2.parse import ParseError
    from fissix.refactor import RefactoringTool

    logging.getLogger("RefactoringTool").setLevel(logging.ERROR)
    source = text if text.endswith("\n") else text + "\n"
    for options, left_out in (({}, ""), ({"print_function": True}, "print")):
        fixers = [*(f"fissix.fixes.fix_{name}" for name in _FIXERS if name != left_out), *_OURS]
        try:
            return str(RefactoringTool(fixers, options).refactor_string(source, path)), not left_out
        except ParseError:
            continue
    return text, False

"""Python 2 syntax to Python 3 syntax, by the fixers of fissix (the kept branch of lib2to3); meaning is left alone.

Lines stay where they are (but for tuple parameters), so that tracebacks point to the user's own lines.
"""

from __future__ import annotations

import ast
import io
import logging
import warnings

__all__ = ["parse", "to_python3"]

_FIXERS = (
    "except",
    "exec",
    "metaclass",
    "ne",
    "numliterals",
    "paren",
    "print",
    "raise",
    "repr",
    "tuple_params",
)
_OURS = "fluidio.paddle.capsule.fix_literals"


def parse(text: str, path: str) -> ast.Module:
    """Return the tree of a Python 3 text; SyntaxError if it is not one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of literals such as "\d", issued once when it is compiled
        warnings.simplefilter("ignore", DeprecationWarning)
        return ast.parse(text, path)


def to_python3(text: str, path: str) -> tuple[str, ast.Module, bool]:
    """Return the text, its tree, and whether it had to be changed.

    Raises:
        SyntaxError: the text is neither Python 3 nor Python 2.
    """
    is_old = False
    try:
        tree = parse(text, path)
        if not any(_prints_to_a_file(node) for node in ast.walk(tree)):
            return text, tree, False
        is_old = True
    except TabError:
        text, is_old = "".join(_spaced(line) for line in text.splitlines(keepends=True)), True
    except SyntaxError:
        pass  # perhaps it is Python 2, or uses a name that has become a keyword since
    text = _freed(text)
    try:
        tree = parse(text, path)
        if not any(_prints_to_a_file(node) for node in ast.walk(tree)):
            return text, tree, is_old
    except SyntaxError:
        pass
    fixed = _refactor(text, path)
    return fixed, parse(fixed, path), True


def _prints_to_a_file(node: ast.AST) -> bool:
    """Return whether this is Python 2's `print >> file, ...`, which Python 3 takes for a shift of its function."""
    if not isinstance(node, ast.Expr):
        return False
    first = node.value.elts[0] if isinstance(node.value, ast.Tuple) and node.value.elts else node.value
    if not isinstance(first, ast.BinOp) or not isinstance(first.op, ast.RShift):
        return False
    return isinstance(first.left, ast.Name) and first.left.id == "print"


# `async` and `await` were names until Python 3.7. Python compares keywords letter by letter, but takes names that look
# alike for one: with another "a" in front it is no keyword, and still the name `async` for getattr and **kwargs.
_NAMES = {"async": "\U0001d5basync", "await": "\U0001d5bawait"}


def _freed(text: str) -> str:
    """Return a text in which `async` and `await` are names again; unchanged where they are keywords."""
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


def _refactor(text: str, path: str) -> str:
    from fissix.pgen2.parse import ParseError
    from fissix.refactor import RefactoringTool

    logging.getLogger("RefactoringTool").setLevel(logging.ERROR)
    source = text if text.endswith("\n") else text + "\n"
    for options, left_out in (({}, ""), ({"print_function": True}, "print")):
        fixers = [*(f"fissix.fixes.fix_{name}" for name in _FIXERS if name != left_out), _OURS]
        try:
            return str(RefactoringTool(fixers, options).refactor_string(source, path))
        except ParseError:
            continue
    return text

"""Rewrite Python 2 residue: print statements, xrange, iteritems, removed NumPy names, moved modules.

Only what a text shows signs of is touched, by the fixers of fissix (the kept branch of lib2to3) and a few of ours.
Lines stay where they are (but for imports that a fixer adds), so that tracebacks point to the user's own lines.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable

from fluidio.paddle.py2_division import divide_as_python2

__all__ = ["modernise", "needs_modernising", "to_code_text"]

# What the text must match -> fixers of fissix, and how the note calls it.
_SIGNS: list[tuple[str, str, tuple[str, ...]]] = [
    (r"\bxrange\b", "xrange", ("xrange",)),
    (r"\.(iteritems|itervalues|iterkeys|viewitems|viewkeys|viewvalues)\(\)", "dict iteration", ("dict",)),
    (r"\.(keys|values|items)\(\)\s*[\[.]", "dict views", ("dict",)),
    (r"\.has_key\(", "has_key", ("has_key",)),
    (r"\b(unicode|unichr)\b", "unicode", ("unicode",)),
    (r"\bbasestring\b", "basestring", ("basestring",)),
    (r"\blong\(", "long", ("long",)),
    (r"\braw_input\(", "raw_input", ("raw_input",)),
    (r"\breduce\(", "reduce", ("reduce",)),
    (r"\breload\(", "reload", ("reload",)),
    (r"\bexecfile\(", "execfile", ("execfile",)),
    (r"\.next\(\)", "next()", ("next",)),
    (r"\bitertools\.(izip|imap|ifilter)|\b(izip|imap|ifilter)\b", "itertools", ("itertools", "itertools_imports")),
    (r"\b(cPickle|cStringIO|StringIO|Queue|ConfigParser|HTMLParser|SocketServer|copy_reg|commands|__builtin__)\b",
     "moved modules", ("imports",)),
    (r"\b(urllib2|urlparse)\b|\burllib\.(urlopen|urlretrieve|quote|unquote|urlencode)\b", "urllib",
     ("urllib", "imports")),
]  # fmt: skip
_SYNTAX = ("except", "exec", "ne", "numliterals", "paren", "print", "raise", "repr", "tuple_params", "ws_comma")
_LISTS = ("map", "filter", "zip", "dict")
_NUMPY = {
    "int": "int", "float": "float", "bool": "bool", "object": "object", "str": "str", "complex": "complex",
    "long": "int", "unicode": "str",
}  # fmt: skip
_NUMPY_RENAMED = {
    "float_": "float64", "int_": "int64", "Inf": "inf", "Infinity": "inf", "NaN": "nan", "NAN": "nan",
    "product": "prod", "cumproduct": "cumprod", "alltrue": "all", "sometrue": "any", "row_stack": "vstack",
}  # fmt: skip
_NUMPY_SIGN = re.compile(r"\b(np|numpy)\.(" + "|".join([*_NUMPY, *_NUMPY_RENAMED, "asscalar"]) + r")\b(?!\.|\w)")
_OWN_SIGNS = re.compile(r"sys\.setdefaultencoding\(|\bdistutils\b")


def _is_python3(text: str) -> bool:
    try:
        compile(text, "<script>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def needs_modernising(text: str) -> bool:
    """Tell whether a text shows any sign of Python 2 or of names that NumPy has removed."""
    return (
        any(re.search(pattern, text) for pattern, _, _ in _SIGNS)
        or _NUMPY_SIGN.search(text) is not None
        or _OWN_SIGNS.search(text) is not None
        or not _is_python3(text)
        or _uses_lists_of_map(text)
    )


def _uses_lists_of_map(text: str) -> bool:
    """Tell whether map, filter or zip is used as a list: indexed, measured or added."""
    if not re.search(r"\b(map|filter|zip)\(", text):
        return False
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Subscript) and _is_lazy(node.value):
            return True
        if isinstance(node, ast.BinOp) and (_is_lazy(node.left) or _is_lazy(node.right)):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
            return bool(node.args) and _is_lazy(node.args[0])
    return False


def _is_lazy(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("map", "filter", "zip")


def modernise(text: str, path: str = "<script>") -> tuple[str, list[str]]:
    """Return the text for Python 3 and notes on what was rewritten.

    Raises:
        SyntaxError: the text is neither Python 3 nor Python 2.
    """
    notes: list[str] = []
    fixers: set[str] = set()
    python3 = _is_python3(text)
    # `reload(sys); sys.setdefaultencoding(...)`, the usual pair, goes before the fixers see it.
    text, changed = re.subn(
        r"(?m)^(\s*)(reload\(sys\)|sys\.setdefaultencoding\(.*\))", r"\1pass  # text is Unicode", text
    )
    if changed:
        notes.append("sys.setdefaultencoding")
    for pattern, note, names in _SIGNS:
        if re.search(pattern, text) and not (python3 and note == "dict views" and not _indexes_views(text)):
            notes.append(note)
            fixers.update(names)
    if not python3:
        notes.insert(0, "print and other old syntax")
        fixers.update(_SYNTAX, _LISTS)
    elif _uses_lists_of_map(text):
        notes.append("map as a list")
        fixers.update(_LISTS)
    if fixers:
        text = _refactor(text, sorted(fixers), path)
    for rewrite, note in ((_numpy_names, "removed NumPy names"), (_distutils, "distutils")):
        rewritten = rewrite(text)
        if rewritten != text:
            notes.append(note)
            text = rewritten
    if not _is_python3(text):
        compile(text, path, "exec", dont_inherit=True)  # raises the SyntaxError that tells where
    return text, notes


def _indexes_views(text: str) -> bool:
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr in ("keys", "values", "items")
        for node in ast.walk(ast.parse(text))
    ) or bool(re.search(r"\.(keys|values|items)\(\)\.(sort|index|append)\(", text))


def _refactor(text: str, names: list[str], path: str) -> str:
    import logging

    from fissix.pgen2.parse import ParseError
    from fissix.refactor import RefactoringTool

    logging.getLogger("RefactoringTool").setLevel(logging.ERROR)
    fixers = [f"fissix.fixes.fix_{name}" for name in names]
    source = text if text.endswith("\n") else text + "\n"
    for options in ({}, {"print_function": True}):
        if options:
            fixers = [f for f in fixers if not f.endswith("fix_print")]
        try:
            return str(RefactoringTool(fixers, options).refactor_string(source, path))
        except ParseError:
            continue
    return text


def _tokens(text: str, change: Callable[[list[tokenize.TokenInfo], int], str | None]) -> str:
    """Replace names where `change` says so, in code only, keeping every other character."""
    lines = text.splitlines(keepends=True)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return text
    edits = []
    for index, token in enumerate(tokens):
        if token.type == tokenize.NAME:
            replacement = change(tokens, index)
            if replacement is not None:
                edits.append((tokens[index], tokens[index + 2], replacement))
    for first, last, replacement in reversed(edits):
        row = first.start[0] - 1
        if first.start[0] == last.end[0]:
            lines[row] = lines[row][: first.start[1]] + replacement + lines[row][last.end[1] :]
    return "".join(lines)


def _numpy_names(text: str) -> str:
    if not _NUMPY_SIGN.search(text):
        return text

    def change(tokens: list[tokenize.TokenInfo], i: int) -> str | None:
        if tokens[i].string not in ("np", "numpy") or i + 2 >= len(tokens) or tokens[i + 1].string != ".":
            return None
        if i and tokens[i - 1].string == ".":
            return None
        name = tokens[i + 2].string
        if name in _NUMPY:
            return _NUMPY[name]
        if name in _NUMPY_RENAMED:
            return f"{tokens[i].string}.{_NUMPY_RENAMED[name]}"
        return "(lambda value: value.item())" if name == "asscalar" else None

    return _tokens(text, change)


def _distutils(text: str) -> str:
    """Point distutils, gone from Python 3.12, to what stands in for it."""
    return re.sub(r"\bfrom distutils(\.\w+)? import", "from fluidio.paddle.distutils_names import", text)


def to_code_text(text: str, path: str) -> tuple[ast.Module, list[str]]:
    """Return the tree to compile and the notes: modernised, and `/` of integers as Python 2 did it."""
    was_python2 = not _is_python3(text)
    notes: list[str] = []
    if needs_modernising(text):
        text, notes = modernise(text, path)
    tree = ast.parse(text, path)
    if was_python2:
        tree = divide_as_python2(tree)
    return tree, notes

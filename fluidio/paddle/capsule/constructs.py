"""Rewrite language constructs listed in the table: one function for each kind of node."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from fluidio.paddle.capsule import old_constructs
from fluidio.paddle.capsule.shapes import is_list, is_no_array, is_text

if TYPE_CHECKING:
    from fluidio.paddle.capsule.rewrite import Rewriter

__all__ = [
    "LISTS",
    "append",
    "call",
    "divide_in_place",
    "fstring",
    "listed",
    "operator",
    "rename_special_methods",
    "store",
]

LISTS = ("map", "filter", "zip", "range")
_VIEWS = ("keys", "values", "items")
_SPECIAL = {
    "next": "__next__",
    "__nonzero__": "__bool__",
    "__div__": "__truediv__",
    "__rdiv__": "__rtruediv__",
    "__idiv__": "__itruediv__",
    "__unicode__": "__str__",
}


def operator(rewriter: Rewriter, node: ast.BinOp) -> None:
    """`text % values`, `a / b` of Python 2, `map(...) + [...]`."""
    if isinstance(node.op, ast.Mod):
        _percent(rewriter, node)
    elif isinstance(node.op, ast.Div) and rewriter.floors and not (_is_float(node.left) or _is_float(node.right)):
        _as_call(rewriter, node, b"/", rewriter.apply_construct("divide", node, "/ of integers"))
    elif isinstance(node.op, ast.Add):
        listed(rewriter, node.left)
        listed(rewriter, node.right)


def _percent(rewriter: Rewriter, node: ast.BinOp) -> None:
    if rewriter.python2 and old_constructs.percent(rewriter, node):
        _as_call(rewriter, node, b"%", rewriter.apply_construct("old_percent", node, "'...' % values"))
        return
    if not is_text(node.left, rewriter.bindings.texts):
        return
    if not _holds_no_array(node.right):
        _as_call(rewriter, node, b"%", rewriter.apply_construct("percent", node, "'...' % array"))


def _holds_no_array(values: ast.expr) -> bool:
    """Return whether the right operand of % is not, and does not contain, a one-element array."""
    if isinstance(values, ast.Tuple):
        return all(map(is_no_array, values.elts))
    if isinstance(values, ast.Dict):
        return all(map(is_no_array, values.values))
    if isinstance(values, ast.BinOp):
        return _holds_no_array(values.left) and _holds_no_array(values.right)
    return not is_list(values, ("tuple", "dict", "vars", "locals")) and is_no_array(values)


def _as_call(rewriter: Rewriter, node: ast.BinOp, operator: bytes, name: str) -> None:
    edits = rewriter.edits
    where = edits.find(operator, edits.end(node.left), edits.start(node.right))
    edits.open(edits.start(node), f"{name}(")
    edits.replace(where, where + 1, ",")
    edits.close(edits.end(node), ")")


def _is_float(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def divide_in_place(rewriter: Rewriter, node: ast.AugAssign) -> bool:
    """`a /= b` of Python 2; True if it was one."""
    if not isinstance(node.op, ast.Div) or not rewriter.floors or _is_float(node.value):
        return False
    if any(isinstance(part, ast.Call) for part in ast.walk(node.target)):
        return old_constructs.divide_item(rewriter, node)  # evaluating the target twice would repeat a call
    edits = rewriter.edits
    name = rewriter.apply_construct("divide", node, "/= of integers")
    where = edits.find(b"/=", edits.end(node.target), edits.start(node.value))
    target = edits.segment(edits.start(node.target), edits.end(node.target))
    edits.replace(where, where + 2, f"= {name}_in_place({target},")
    edits.close(edits.end(node.value), ")")
    return True


def call(rewriter: Rewriter, node: ast.Call) -> bool:
    """`'{:f}'.format(...)`, sorting with cmp, rounding and lists of Python 2; True if nothing is left to do."""
    function = node.func
    if rewriter.python2 and (old_constructs.raised(rewriter, node) or old_constructs.printed(rewriter, node)):
        node.func = ast.copy_location(ast.Constant(None), node.func)  # done
        return True
    if isinstance(function, ast.Attribute):
        if rewriter.python2 and function.attr == "format" and old_constructs.formats(rewriter, node, function):
            rewriter.as_function(node, function, rewriter.apply_construct("old_format", node, "'...'.format(values)"))
            return True
        if function.attr == "format" and _formats(rewriter, node, function):
            rewriter.as_function(node, function, rewriter.apply_construct("format", node, "'...'.format(array)"))
            return True
        if (
            function.attr == "sort"
            and _sorts(rewriter, node, positional=0)
            and not rewriter.bindings.dotted(function)[0]
        ):
            rewriter.as_function(node, function, rewriter.apply_construct("sort", node, ".sort(cmp)") + "_in_place")
            return True
    if not isinstance(function, ast.Name) or not rewriter.bindings.is_builtin(function.id):
        return False
    if rewriter.python2 and function.id == "map":
        old_constructs.mapped(rewriter, node)
    if function.id == "sorted" and _sorts(rewriter, node, positional=1):
        _rename(rewriter, function, rewriter.apply_construct("sort", node, "sorted(cmp)"))
    elif function.id in ("isinstance", "issubclass") and rewriter.python2 and len(node.args) == 2:
        old_constructs.name_kinds(rewriter, node.args[1])
    elif function.id == "round" and rewriter.python2:
        _rename(rewriter, function, rewriter.apply_construct("round", node, "round()"))
    elif function.id in ("eval", "exec") and node.args and rewriter.floors:
        _run_old_code(rewriter, node, function.id)
    elif function.id in ("len", "reversed") and node.args:
        listed(rewriter, node.args[0])
    elif rewriter.python2 and is_list(node, LISTS) and id(node) not in rewriter.iterated:
        listed(rewriter, node)
    elif rewriter.python2 and function.id in (
        "list",
        "tuple",
        "set",
        "sum",
        "sorted",
        "enumerate",
        "dict",
        "zip",
        "map",
    ):
        rewriter.iterated.update(id(argument) for argument in node.args)
    return False


def _rename(rewriter: Rewriter, function: ast.Name, name: str) -> None:
    rewriter.edits.replace(rewriter.edits.start(function), rewriter.edits.end(function), name)
    function.id = ""  # done


def _formats(rewriter: Rewriter, node: ast.Call, function: ast.Attribute) -> bool:
    if not is_text(function.value, rewriter.bindings.texts):
        return False
    if isinstance(function.value, ast.Constant) and ":" not in str(function.value.value):
        return False
    return not all(is_no_array(value) for value in (*node.args, *(k.value for k in node.keywords)))


def _run_old_code(rewriter: Rewriter, node: ast.Call, mode: str) -> None:
    source = node.args[0]
    rewriter.edits.open(rewriter.edits.start(source), rewriter.apply_construct("code", node, f"{mode}()") + "(")
    rewriter.edits.close(rewriter.edits.end(source), f", {mode!r})")


def _sorts(rewriter: Rewriter, node: ast.Call, positional: int) -> bool:
    """Return whether a call may sort in a way that Python 3 does not: by a function, or values of different kinds."""
    if rewriter.python2 or any(keyword.arg == "cmp" for keyword in node.keywords):
        return True
    extra = node.args[positional:]
    return bool(extra) and not any(isinstance(argument, (ast.Constant, ast.Starred)) for argument in extra)


def listed(rewriter: Rewriter, node: ast.expr) -> None:
    """`map(...)`, `d.keys()` where a list is needed."""
    if not isinstance(node, ast.Call) or id(node) in rewriter.iterated:
        return
    function = node.func
    if isinstance(function, ast.Name):
        if rewriter.python2 and function.id == "filter":
            return  # covered by its own row, which returns its argument
        old = function.id if is_list(node, LISTS) and rewriter.bindings.is_builtin(function.id) else ""
    else:
        is_view = isinstance(function, ast.Attribute) and function.attr in _VIEWS and not node.args
        old = f".{function.attr}" if is_view and isinstance(function, ast.Attribute) and not rewriter.python2 else ""
    if old:
        rewriter.iterated.add(id(node))
        rewriter.edits.open(
            rewriter.edits.start(node), rewriter.apply_construct("lists", node, f"{old}() as a list") + "("
        )
        rewriter.edits.close(rewriter.edits.end(node), ")")


def fstring(rewriter: Rewriter, node: ast.JoinedStr) -> None:
    """`f"{array:.2f}"`; positions inside f-strings are unknown before Python 3.12, so all of it is rewritten."""
    before = ast.unparse(node)
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            text = rewriter.inner(ast.unparse(value.value))
            if value.format_spec is not None and not is_no_array(value.value):
                text = f"{rewriter.apply_construct('fstring', node, 'f-string of an array')}({text})"
            value.value = ast.parse(text, mode="eval").body
    after = ast.unparse(node)
    if after != before:
        rewriter.edits.replace(rewriter.edits.start(node), rewriter.edits.end(node), after)


def store(rewriter: Rewriter, node: ast.Assign | ast.AugAssign) -> None:
    """`array[i] = one_element_array`."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if not isinstance(target, ast.Subscript) or is_no_array(node.value):
        return
    if (isinstance(node, ast.Assign) and len(node.targets) > 1) or _is_slice_or_key(target.slice):
        return
    if any(not isinstance(part, (ast.Name, ast.Attribute, ast.expr_context)) for part in ast.walk(target.value)):
        return
    edits = rewriter.edits
    name = rewriter.apply_construct("store", node, "array[i] = array")
    owner = edits.segment(edits.start(target.value), edits.end(target.value))
    edits.open(edits.start(node.value), f"{name}({owner}, ")
    edits.close(edits.end(node.value), ")")


def _is_slice_or_key(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(
        isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and isinstance(part.value, (str, bytes)))
        for part in parts
    )


def append(rewriter: Rewriter, node: ast.expr | None) -> None:
    """`frame = frame.append(other)`: if the value is used, the object is not a list."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "append":
        return
    if not rewriter.bindings.dotted(node.func)[0]:
        rewriter.as_function(node, node.func, rewriter.apply_construct("append", node, ".append() of a frame"))


def rename_special_methods(rewriter: Rewriter, node: ast.ClassDef) -> None:
    """`def next(self)` and other methods that Python 3 has renamed."""
    methods = {child.name: child for child in node.body if isinstance(child, ast.FunctionDef)}
    for old, new in _SPECIAL.items():
        if rewriter.python2 and old in methods and new not in methods and (old != "next" or "__iter__" in methods):
            edits, method = rewriter.edits, methods[old]
            rewriter.apply_construct("special", method, f"def {old}")
            where = edits.find(old.encode(), edits.start(method) + 3, edits.end(method))
            edits.replace(where, where + len(old), new)

"""Whether a row of the table with a condition applies to a call."""

from __future__ import annotations

import ast

from fluidio.paddle.capsule.shapes import is_lazy, is_no_array

__all__ = ["is_plain", "matches", "says_copy"]


def matches(condition: str, call: ast.Call) -> bool:
    if condition.endswith("="):
        return any(keyword.arg == condition[:-1] for keyword in call.keywords)
    if condition == "lazy":
        return bool(call.args) and is_lazy(call.args[0])
    if condition == "None":
        return bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value is None
    if condition == "U":
        mode = call.args[1] if len(call.args) > 1 else None
        return isinstance(mode, ast.Constant) and "U" in str(mode.value)
    return len(call.args) == int(condition)


def is_plain(call: ast.Call) -> bool:
    """Return whether `int(...)` or `float(...)` cannot meet an array: a base, a literal, text."""
    return len(call.args) != 1 or bool(call.keywords) or is_no_array(call.args[0])


def says_copy(call: ast.Call) -> bool:
    return any(keyword.arg == "copy" for keyword in call.keywords)

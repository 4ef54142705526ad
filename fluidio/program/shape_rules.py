"""What 1.8.5 checks of the dims of an op's inputs when the op is appended, from one table."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from importlib import resources

from fluidio.dtypes import VarType
from fluidio.program.infer import InferContext, Shape

__all__ = ["check_shapes"]

Shapes = Callable[[str], list[Shape]]  # the dims of the dense tensors in a slot
Rule = Callable[[Shapes], str]  # what is wrong with them, or ""

_SLOTS = re.compile(r"(\w+)(:=|:>|:|#|==|=~|\?=)(\S+)")
_DIMS = re.compile(r"(\w+)\.(-?\d)([=~])(?:(\w+)\.(-?\d)|(\d+))")


def check_shapes(c: InferContext) -> None:
    """Fail if the inputs of an op break a rule of 1.8.5."""
    rules = _rules(c.op.type)
    if not rules:
        return

    def shapes(slot: str) -> list[Shape]:
        found = (c.block._find_var_recursive(name) for name in c.op.input(slot))
        return [v.shape for v in found if v is not None and v.type is VarType.LOD_TENSOR and v.shape]

    for rule in rules:
        problem = rule(shapes)
        if problem:
            c.fail(problem)


@functools.cache
def _table() -> dict[str, str]:
    text = resources.files("fluidio.program").joinpath("shape_rules.txt").read_text("utf-8")
    lines = (line.partition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {op: rules for op, _, rules in lines}


@functools.cache
def _rules(op: str) -> list[Rule]:
    return [_rule(text) for text in _table().get(op, "").split()]


def _rule(text: str) -> Rule:
    dims = _DIMS.fullmatch(text)
    if dims:
        slot, index, sign, other, at, number = dims.groups()
        if number:
            return _dim_is(slot, int(index), int(number), sign == "=")
        return _dim_like(slot, int(index), other, int(at), sign == "=")
    found = _SLOTS.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no rule about shapes")
    slot, sign, rest = found.groups()
    if sign == ":":
        return _rank(slot, rest)
    if sign == "#" and rest in "1+":
        return _size(slot, rest == "1")
    return _pair(slot, sign, rest)


def _rank(slot: str, wanted: str) -> Rule:
    low, _, high = wanted.rstrip("+").partition("-")
    least, most = int(low or 0), math.inf if wanted.endswith("+") else int(high or low)
    words = {"+": f"{low} dims or more", "-": f"{high} dims at most"}
    needed = words.get(wanted[-1]) or words.get(wanted[0]) or f"{wanted} dims".replace("-", " to ")

    def check(shapes: Shapes) -> str:
        wrong = [shape for shape in shapes(slot) if not least <= len(shape) <= most]
        return f"{slot} must have {needed}, it has shape {list(wrong[0])}" if wrong else ""

    return check


def _size(slot: str, one: bool) -> Rule:
    def check(shapes: Shapes) -> str:
        for shape in shapes(slot):
            size = math.prod(shape)
            if size != 1 if one else size <= 0:
                return f"{slot} must have {'one element' if one else 'elements'}, it has shape {list(shape)}"
        return ""

    return check


def _dim_is(slot: str, index: int, wanted: int, strict: bool) -> Rule:
    def check(shapes: Shapes) -> str:
        wrong = [shape for shape in shapes(slot) if _differs(_dim(shape, index), wanted, strict)]
        return f"dim {index} of {slot} must be {wanted}, {slot} has shape {list(wrong[0])}" if wrong else ""

    return check


def _dim_like(slot: str, index: int, other: str, at: int, strict: bool) -> Rule:
    def check(shapes: Shapes) -> str:
        first = shapes(other)[:1]
        for shape in shapes(slot):
            if first and _differs(_dim(shape, index), _dim(first[0], at), strict):
                return (
                    f"dim {index} of {slot} must be dim {at} of {other}; {slot} has shape {list(shape)}, "
                    f"{other} {list(first[0])}"
                )
        return ""

    return check


def _dim(shape: Shape, index: int) -> int | None:
    return shape[index] if -len(shape) <= index < len(shape) else None


def _differs(dim: int | None, wanted: int | None, strict: bool) -> bool:
    """Return whether two dims that are there differ; with `strict` an open one differs from a known one."""
    return None not in (dim, wanted) and dim != wanted and (strict or -1 not in (dim, wanted))


_PAIRS: dict[str, tuple[str, Callable[[Shape, Shape], bool]]] = {
    ":=": ("as many dims as", lambda x, y: len(x) == len(y)),
    ":>": ("at least as many dims as", lambda x, y: len(x) >= len(y)),
    "==": ("the shape of", lambda x, y: x == y),
    "=~": ("the shape of", lambda x, y: len(x) == len(y) and not any(_differs(a, b, False) for a, b in zip(x, y))),
    "?=": ("the shape of", lambda x, y: not _counted(x, y) or x == y),
    "#": ("as many elements as", lambda x, y: not _counted(x, y) or math.prod(x) == math.prod(y)),
}


def _counted(x: Shape, y: Shape) -> bool:
    return math.prod(x) > 0 and math.prod(y) > 0


def _pair(slot: str, sign: str, other: str) -> Rule:
    words, fits = _PAIRS[sign]

    def check(shapes: Shapes) -> str:
        x, y = shapes(slot), shapes(other)
        if not x or not y or fits(x[0], y[0]):
            return ""
        return f"{slot} must have {words} {other}; they have shapes {list(x[0])} and {list(y[0])}"

    return check

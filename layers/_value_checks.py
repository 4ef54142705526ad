"""Fluid 1.8's checks of the values of a layer's arguments, from one table: sizes, keywords, flags."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.program import Variable

__all__ = ["ValueCheck", "value_checks"]

Rule = Callable[[Any], bool]

_ERRORS: dict[str, type[Exception]] = {
    "AssertionError": AssertionError,
    "AttributeError": AttributeError,
    "Exception": Exception,
    "TypeError": TypeError,
    "ValueError": ValueError,
}

_FIRST = {"dtype", "given", "hashable", "no_array", "no_list", "tensor", "Variable", "variable_or_list"}

_TYPES: dict[str, type] = {
    "Variable": Variable,
    "bool": bool,
    "float": float,
    "int": int,
    "list": list,
    "tuple": tuple,
}


@dataclass(frozen=True, slots=True)
class ValueCheck:
    """One argument: the rule for its value, and the error if the value breaks it."""

    argument: str
    rule: str
    accepts: Rule
    error: type[Exception]

    @property
    def comes_first(self) -> bool:
        """Return whether this check precedes those of types."""
        return self.rule in _FIRST

    def __call__(self, layer: str, value: object) -> None:
        if not self.accepts(value):
            raise self.error(f"{layer}: {self.argument} must be {_TEXTS.get(self.rule, self.rule)}, got {value!r}")


def _items(value: object) -> list[Any]:
    """Return the numbers of a list, without Variables."""
    return [v for v in value if not isinstance(v, Variable)] if isinstance(value, (list, tuple)) else []


def _is_whole(value: object) -> bool:
    one = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
    return isinstance(one, (int, np.integer))


def _ints(count: int) -> Rule:
    """Return the rule for one number per dim: an int, or a list with one for each."""

    def accepts(value: object) -> bool:
        if isinstance(value, int):
            return True
        if not isinstance(value, (list, tuple, np.ndarray)) or len(value) != count:
            return False
        return all(_is_whole(v) for v in value)

    return accepts


def _pads(count: int) -> Rule:
    """Return the rule for paddings: a keyword, a number for each side, or pairs for all dims of the input."""
    plain = _ints(count)

    def accepts(value: object) -> bool:
        if isinstance(value, str) or plain(value):
            return True
        return isinstance(value, (list, tuple)) and len(value) in (2 * count, count + 2)

    return accepts


def _same_dtype(value: object) -> bool:
    kinds = {v.dtype for v in value if isinstance(v, Variable)} if isinstance(value, (list, tuple)) else set()
    return len(kinds) < 2


def _channel_axis(value: object) -> bool:
    return _is_whole(value) and value in (1, -1, 3)


def _pair_of_ints(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, list) and len(value) == 2)


def _paddings_of_ints(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, list) and len(value) in (2, 4))


def _at_least(bound: int) -> Rule:
    def accepts(value: object) -> bool:
        numbers = [value] if isinstance(value, (int, float)) else _items(value)
        return all(v >= bound for v in numbers if isinstance(v, (int, float)))

    return accepts


def _above_zero(value: object) -> bool:
    return not isinstance(value, (int, float)) or value > 0


def _positive_product(value: Any) -> bool:
    items = _items(value)
    return not items or len(items) < len(value) or not all(map(_is_whole, items)) or math.prod(items) > 0


_RULES: dict[str, Rule] = {
    "above_zero": _above_zero,
    "channel_axis": _channel_axis,
    "dtype": lambda value: isinstance(value, (str, VarType, np.dtype, type)),
    "flag": lambda value: value is True or not value,
    "function": callable,
    "hashable": lambda value: not isinstance(value, (list, dict, np.ndarray)),
    "number": lambda value: isinstance(value, (int, float, np.number)),
    "given": lambda value: value is not None,
    "integers": lambda value: not isinstance(value, (list, tuple)) or all(map(_is_whole, _items(value))),
    "ints2": _ints(2),
    "ints3": _ints(3),
    "no_list": lambda value: not isinstance(value, (list, tuple)),
    "no_array": lambda value: not isinstance(value, np.ndarray),
    "no_bool": lambda value: not isinstance(value, bool),
    "no_constant_bool": lambda value: (
        not isinstance(value, Variable) or value.dtype is not VarType.BOOL or not value.stop_gradient
    ),
    "not_empty": lambda value: not isinstance(value, (list, tuple)) or len(value) > 0,
    "not_false": lambda value: value is not False,
    "not_negative": _at_least(0),
    "paddings_of_ints": _paddings_of_ints,
    "pads2": _pads(2),
    "pads3": _pads(3),
    "pair_of_ints": _pair_of_ints,
    "positive": _at_least(1),
    "positive_product": _positive_product,
    "same_dtype": _same_dtype,
    "single": lambda value: not isinstance(value, Variable) or value.dtype is VarType.FP32,
    "size": lambda value: isinstance(value, int) and value >= 0,
    "tensor": lambda value: isinstance(value, (Variable, np.ndarray)),
    "two": lambda value: isinstance(value, (list, tuple)) and len(value) == 2,
    "variable_int32": lambda value: all(
        one.dtype is VarType.INT32
        for one in (value if isinstance(value, (list, tuple)) else [value])
        if isinstance(one, Variable)
    ),
    "variable_or_list": lambda value: isinstance(value, (Variable, list, tuple)),
    "variables": lambda value: (
        isinstance(value, Variable)
        or (isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(v, Variable) for v in value))
    ),
}

_TEXTS = {
    "above_zero": "more than 0",
    "channel_axis": "1, -1 or 3",
    "dtype": "a dtype",
    "flag": "True or False",
    "hashable": "a word",
    "number": "a number",
    "function": "a Python function",
    "given": "given",
    "integers": "integers or Variables",
    "ints2": "an int, or a list of length 2",
    "ints3": "an int, or a list of length 3",
    "no_list": "a Variable, not a list",
    "no_array": "a Variable (only dygraph took arrays)",
    "no_bool": "a number",
    "no_constant_bool": "of a dtype other than bool, or have stop_gradient=False",
    "not_empty": "a list of at least one entry",
    "not_false": "an attribute: False is not possible here",
    "not_negative": "0 or more",
    "paddings_of_ints": "an int, or a list of 2 or 4 ints",
    "pads2": "'SAME', 'VALID', an int, or a list of length 2 or 4",
    "pads3": "'SAME', 'VALID', an int, or a list of length 3 or 6",
    "pair_of_ints": "an int or a list of two ints",
    "positive": "1 or more",
    "positive_product": "sizes above 0",
    "same_dtype": "Variables of one dtype",
    "single": "of dtype float32",
    "size": "an int that is not negative",
    "tensor": "a Variable or an array",
    "two": "a list or tuple of length 2",
    "variable_int32": "of dtype int32 where it is a Variable",
    "variable_or_list": "a Variable",
    "variables": "a Variable or a list of Variables",
}


@functools.cache
def value_checks() -> dict[str, tuple[ValueCheck, ...]]:
    """Return the checks of each layer."""
    text = Path(__file__).with_name("_values.txt").read_text("utf-8")
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {layer: tuple(map(_parse, words)) for layer, *words in rows}


def _parse(word: str) -> ValueCheck:
    argument, _, rest = word.partition(":")
    rule, _, error = rest.partition("!")
    accepts = _rule(rule.rstrip("?"))
    return ValueCheck(argument, rule.rstrip("?"), _or_none(accepts) if rule.endswith("?") else accepts, _ERRORS[error])


def _or_none(accepts: Rule) -> Rule:
    return lambda value: value is None or accepts(value)


def _rule(words: str) -> Rule:
    if words in _RULES:
        return _RULES[words]
    names = tuple(words.split("|"))
    if all(name in _TYPES for name in names):
        kinds = tuple(_TYPES[name] for name in names)
        return lambda value: isinstance(value, kinds)
    return lambda value: isinstance(value, str) and value in names

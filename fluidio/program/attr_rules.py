"""What 1.8.5 checks of the attributes of an op when the op is appended, from one table."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from importlib import resources
from typing import Any

from fluidio.program.infer import InferContext

__all__ = ["check_attrs"]

Fits = Callable[[Any], bool]

_RULE = re.compile(r"(\w+?)(\*?)(>=|>|=|#|~)(\S+)")
_WORDS = {"ACT": "sigmoid|tanh|relu|identity", "LAYOUT": "NCHW|NHWC|ANYLAYOUT|MKLDNNLAYOUT"}


def check_attrs(c: InferContext) -> None:
    """Fail if an attribute of an op breaks a rule of 1.8.5."""
    for name, fits, needed in _rules(c.op.type):
        value = c.attrs.get(name)
        if value is not None and not fits(value):
            c.fail(f"attribute {name} must {needed}, it is {value!r}")


@functools.cache
def _table() -> dict[str, str]:
    text = resources.files("fluidio.program").joinpath("attr_rules.txt").read_text("utf-8")
    lines = (line.partition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {op: rules for op, _, rules in lines}


@functools.cache
def _rules(op: str) -> list[tuple[str, Fits, str]]:
    return [_rule(text) for text in _table().get(op, "").split()]


def _rule(text: str) -> tuple[str, Fits, str]:
    """Return the attribute, whether a value of it fits, and what is needed."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no rule about attributes")
    name, each, sign, rest = found.groups()
    fits, needed = _size(rest) if sign == "#" else _one(sign, rest)
    if each:
        return name, lambda value: not isinstance(value, (list, tuple)) or all(map(fits, value)), f"{needed} everywhere"
    return name, fits, needed


def _size(wanted: str) -> tuple[Fits, str]:
    least = int(wanted.rstrip("+"))
    exact = not wanted.endswith("+")

    def fits(value: Any) -> bool:
        return not isinstance(value, (list, tuple)) or (len(value) == least if exact else len(value) >= least)

    return fits, f"have {least} entries" if exact else f"have {least} entries or more"


def _one(sign: str, rest: str) -> tuple[Fits, str]:
    low, between, high = rest.partition("..")
    if sign == ">" or sign == ">=" or between:
        least, most = float(low), float(high) if between else float("inf")
        most *= 1 + 1e-6  # Fluid: in 32 bits, where 0.001 is more
        words = f"be {low} to {high}" if between else f"be {'above' if sign == '>' else 'at least'} {low}"
        return lambda value: not _is_number(value) or (least <= value <= most and (sign != ">" or value > least)), words
    allowed = _WORDS.get(rest, rest).split("|")
    if allowed[0].isdigit():
        return lambda value: not _is_number(value) or str(int(value)) in allowed, f"be one of {', '.join(allowed)}"
    fold = str.upper if sign == "~" else str
    return lambda value: not isinstance(value, str) or fold(value) in allowed, f"be one of {', '.join(allowed)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))

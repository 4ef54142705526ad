"""One-element arrays as numbers, which NumPy 2.4 refuses: float(), int(), %, format, storing in another array."""

from __future__ import annotations

import re
import string
from typing import Any

import numpy as np

__all__ = ["SPEC", "format_text", "kinds_of", "percent", "scalar", "storable", "to_float", "to_int"]

SPEC = re.compile(r"%(?:\((?P<key>[^)]*)\))?[#0\- +]*(?P<width>\*|\d+)?(?:\.(?P<digits>\*|\d+))?[hlL]?(?P<kind>.)")


_ARRAY = np.ndarray


def scalar(value: object) -> Any:
    """Return the element of a one-element array; return everything else unchanged."""
    return value.reshape(-1)[0] if isinstance(value, np.ndarray) and value.ndim and value.size == 1 else value


def to_float(value: object = 0.0) -> float:
    """Return float(value), also of a one-element array of any rank."""
    return float(scalar(value))


def to_int(value: object = 0) -> int:
    """Return int(value), also of a one-element array of any rank."""
    return int(scalar(value))


def storable(target: object, value: object) -> Any:
    """Return what `target[i] = value` can store: a one-element array goes into an array of numbers as a number."""
    if isinstance(value, _ARRAY) and isinstance(target, _ARRAY) and target.dtype != object:
        return scalar(value)
    return value


def percent(text: Any, values: Any) -> Any:
    """Return `text % values`; one-element arrays are numbers where a number is expected, and arrays for %s."""
    if not isinstance(text, (str, bytes)) or not _holds_array(values):
        return text % values
    if isinstance(values, dict):
        keys = {match["key"] for match in SPEC.finditer(_as_text(text)) if match["kind"] not in "sr"}
        return text % {key: scalar(value) if key in keys else value for key, value in values.items()}
    kinds = [kind for match in SPEC.finditer(_as_text(text)) for kind in kinds_of(match)]
    given = values if isinstance(values, tuple) else (values,)
    return text % tuple(v if k in "sr" else scalar(v) for v, k in zip(given, kinds + ["s"] * len(given)))


def _holds_array(values: object) -> bool:
    given = values if isinstance(values, tuple) else values.values() if isinstance(values, dict) else (values,)
    for value in given:  # noqa: SIM110  (a generator would take longer than the checks)
        if isinstance(value, _ARRAY):
            return True
    return False


def _as_text(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("latin1")


def kinds_of(match: re.Match[str]) -> list[str]:
    """Return the kinds of the values that one `%...` takes: `%*d` takes two."""
    if match["kind"] == "%":
        return []
    return ["d"] * [match["width"], match["digits"]].count("*") + [match["kind"]]


class _Formatter(string.Formatter):
    def format_field(self, value: object, format_spec: str) -> str:
        return format(scalar(value) if format_spec else value, format_spec)


def format_text(text: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Return `text.format(...)`; one-element arrays are numbers if a format is given."""
    if isinstance(text, str) and (_holds_array(args) or _holds_array(kwargs)):
        return _Formatter().vformat(text, args, kwargs)
    return text.format(*args, **kwargs)

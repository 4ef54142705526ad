"""Ordering as in Python 2: comparison functions, `__cmp__`, and values of different types."""

from __future__ import annotations

import builtins
import functools
import numbers
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from fluidio.paddle.capsule.old_strings import ByteText, EncodedText

Compare: TypeAlias = Callable[[Any, Any], int]
Key: TypeAlias = Callable[[Any], Any]

__all__ = ["Compared", "cmp", "max_of", "min_of", "ordered", "sorted_by", "sorted_by_in_place"]


def cmp(left: Any, right: Any) -> int:
    """Return -1, 0 or 1; None comes first, then numbers, then other types by the names of their types."""
    try:
        return int(left > right) - int(left < right)
    except TypeError:
        pass  # values that Python 3 refuses to compare
    if isinstance(left, complex) or isinstance(right, complex):
        raise TypeError("no ordering relation is defined for complex numbers")
    if type(left) is type(right) and isinstance(left, (tuple, list)):
        found = next((order for a, b in zip(left, right) if (order := cmp(a, b))), 0)
        return found or cmp(len(left), len(right))
    if isinstance(left, dict) and isinstance(right, dict):
        return _cmp_dicts(left, right)
    return cmp(_rank(left), _rank(right))


def _cmp_dicts(left: dict[Any, Any], right: dict[Any, Any]) -> int:
    """Compare the lengths, then the smallest keys that differ, then their values."""
    if len(left) != len(right):
        return cmp(len(left), len(right))
    first, second = _odd_key(left, right), _odd_key(right, left)
    return cmp(first, second) or (0 if first is None else cmp(left[first], right[second]))


def _odd_key(one: dict[Any, Any], other: dict[Any, Any]) -> Any:
    """Return the smallest key whose value the other lacks; None if there is none."""
    odd: list[Any] = [key for key in one if key not in other or one[key] != other[key]]
    return builtins.min(odd, key=_any_order) if odd else None


def _rank(value: object) -> tuple[int, str]:
    if value is None:
        return 0, ""
    return (1, "") if isinstance(value, numbers.Number) else (2, _NAMES.get(type(value), type(value).__name__))


_NAMES: dict[type, str] = {range: "xrange", EncodedText: "str", ByteText: "str"}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def ordered(left: Any, sign: str, right: Any, *rest: Any) -> Any:
    """Return `left < right`, or a chain of comparisons, given as `left, "<", right, "<", ...`."""
    if not rest:
        try:
            if sign == "<":
                return left < right
            if sign == ">":
                return left > right
        except TypeError:
            pass  # compared again below, as Python 2 did
    found = _compared(left, sign, right)
    for place in range(0, len(rest), 2):
        if not found:
            break
        left, right = right, rest[place + 1]
        found = _compared(left, rest[place], right)
    return found


def _compared(left: Any, sign: str, right: Any) -> Any:
    compare = _OPERATORS[sign]
    try:
        return compare(left, right)
    except TypeError:
        if sign not in ("<", "<=", ">", ">="):
            raise
    return compare(cmp(left, right), 0)


_any_order = functools.cmp_to_key(cmp)


def _key(compare: Compare | None, key: Key | None) -> Key | None:
    if compare is None:
        return key
    ordering = functools.cmp_to_key(compare)
    return ordering if key is None else lambda value: ordering(key(value))


def _mixed(key: Key | None) -> Key:
    return _any_order if key is None else lambda value: _any_order(key(value))


def sorted_by(
    values: Iterable[object], cmp: Compare | None = None, key: Key | None = None, reverse: object = False
) -> list[object]:
    """Return sorted(values, cmp, key, reverse)."""
    found = list(values)
    sorted_by_in_place(found, cmp, key, reverse)
    return found


def sorted_by_in_place(values: Any, *args: Any, **kwargs: Any) -> Any:
    """Call values.sort(cmp, key, reverse)."""
    if not isinstance(values, list):
        return values.sort(*args, **kwargs)
    given = dict(zip(("cmp", "key", "reverse"), args)) | kwargs
    key, reverse = _key(given.get("cmp"), given.get("key")), bool(given.get("reverse", False))
    before = list(values)
    try:
        values.sort(key=key, reverse=reverse)
    except TypeError:
        values[:] = before
        values.sort(key=_mixed(key), reverse=reverse)
    return None


def max_of(*args: object, **kwargs: object) -> object:
    """Return max(...)."""
    return _extreme(builtins.max, args, kwargs)


def min_of(*args: object, **kwargs: object) -> object:
    """Return min(...)."""
    return _extreme(builtins.min, args, kwargs)


def _extreme(function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    values = list(args[0]) if len(args) == 1 and isinstance(args[0], Iterator) else None
    given = args if values is None else (values,)
    try:
        return function(*given, **kwargs)
    except TypeError:
        if len(given) == 1 and not hasattr(given[0], "__iter__"):
            raise
        key: Any = kwargs.get("key")
        return function(*given, **{**kwargs, "key": _mixed(key)})


class Compared:
    """A class that defines its order by `__cmp__`."""

    __slots__ = ()

    def __cmp__(self, other: object) -> int:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self.__cmp__(other) == 0

    def __ne__(self, other: object) -> bool:
        return self.__cmp__(other) != 0

    def __lt__(self, other: object) -> bool:
        return self.__cmp__(other) < 0

    def __le__(self, other: object) -> bool:
        return self.__cmp__(other) <= 0

    def __gt__(self, other: object) -> bool:
        return self.__cmp__(other) > 0

    def __ge__(self, other: object) -> bool:
        return self.__cmp__(other) >= 0

    __hash__ = object.__hash__

"""Python 2's semantics: lists, integer division, comparison functions, names of the standard library."""

from __future__ import annotations

import importlib.util
import itertools
import math
import sys
from collections.abc import Callable, ItemsView, Iterable, KeysView, Mapping, ValuesView
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np

from fluidio.paddle.capsule.old_strings import ByteText
from fluidio.paddle.capsule.promotion import promoted
from fluidio.paddle.capsule.scalars import scalar
from fluidio.paddle.capsule.text import join

__all__ = [
    "apply",
    "basestring",
    "ceil",
    "chr_of",
    "coerce",
    "divide",
    "divide_in_place",
    "divide_item",
    "error_parts",
    "execfile",
    "filter_of",
    "floor",
    "has_key",
    "imap",
    "isMappingType",
    "isNumberType",
    "isSequenceType",
    "items_of",
    "iteritems",
    "iterkeys",
    "itervalues",
    "keys_of",
    "map_list",
    "map_longest",
    "message",
    "next_of",
    "nothing",
    "range_list",
    "reload",
    "round_away",
    "values_of",
    "view_items",
    "view_keys",
    "view_values",
    "zip_list",
]

basestring = (str, bytes)
_NUMBERS = frozenset((int, float))


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) or (isinstance(value, np.ndarray) and value.dtype.kind in "iu")


def divide(left: Any, right: Any) -> Any:
    """Return left / right as Python 2 computes it: integers floor."""
    if type(left) in _NUMBERS and type(right) in _NUMBERS:
        return left // right if type(left) is type(right) is int else left / right
    whole = _is_integer(left) and _is_integer(right)
    left, right = promoted(left, right)
    return left // right if whole else left / right


def divide_item(owner: Any, index: Any, right: object) -> None:
    """Do `owner[index] /= right`."""
    owner[index] = divide_in_place(owner[index], right)


def divide_in_place(left: Any, right: Any) -> object:
    """Return the value of `left` after `left /= right` in Python 2."""
    whole = _is_integer(left) and _is_integer(right)
    left, right = promoted(left, right)
    if whole:
        left //= right
    else:
        left /= right
    return left


def round_away(number: Any, ndigits: Any = 0) -> object:
    """Round half away from zero to a float, as Python 2 did."""
    if not isinstance(number, (int, float, np.floating, np.integer)):
        return round(number, ndigits)
    value = float(number)
    if not math.isfinite(value):
        return value
    return float(Decimal(value).quantize(Decimal(1).scaleb(-int(ndigits)), ROUND_HALF_UP))


def _as_list(value: object) -> object:
    return list(value) if isinstance(value, (KeysView, ValuesView, ItemsView)) else value


def keys_of(mapping: Any) -> object:
    """Return mapping.keys() as a list."""
    return _as_list(mapping.keys())


def values_of(mapping: Any) -> object:
    """Return mapping.values() as a list."""
    return _as_list(mapping.values())


def items_of(mapping: Any) -> Any:
    """Return mapping.items() as a list."""
    return _as_list(mapping.items())


def _old_or_new(value: object, old: str, new: str) -> object:
    return getattr(value, old)() if hasattr(value, old) else iter(getattr(value, new)())


def iteritems(mapping: object) -> object:
    """Iterate over the items."""
    return _old_or_new(mapping, "iteritems", "items")


def itervalues(mapping: object) -> object:
    """Iterate over the values."""
    return _old_or_new(mapping, "itervalues", "values")


def iterkeys(mapping: object) -> object:
    """Iterate over the keys."""
    return _old_or_new(mapping, "iterkeys", "keys")


def view_items(mapping: Mapping[object, object]) -> object:
    """Return a view of the items."""
    return getattr(mapping, "viewitems", mapping.items)()


def view_keys(mapping: Mapping[object, object]) -> object:
    """Return a view of the keys."""
    return getattr(mapping, "viewkeys", mapping.keys)()


def view_values(mapping: Mapping[object, object]) -> object:
    """Return a view of the values."""
    return getattr(mapping, "viewvalues", mapping.values)()


def has_key(mapping: Any, *args: object, **kwargs: object) -> object:
    """Return whether a mapping has a key."""
    own = getattr(mapping, "has_key", None)
    return args[0] in mapping if own is None else own(*args, **kwargs)


def message(value: object) -> object:
    """Return value.message, or the only argument of an exception without this attribute."""
    if not isinstance(value, BaseException) or hasattr(value, "message"):
        return getattr(value, "message")  # noqa: B009  (not every exception has it)
    return value.args[0] if len(value.args) == 1 else ""


def error_parts(value: Any) -> Any:
    """Return what `value[0]` looks into: the arguments of an exception, any other object itself."""
    return value.args if isinstance(value, BaseException) and not hasattr(value, "__getitem__") else value


def next_of(iterator: Any) -> object:
    """Return the next value of an iterator."""
    return iterator.next() if hasattr(iterator, "next") else next(iterator)


def map_longest(function: Callable[..., object] | None, *columns: Iterable[object]) -> list[object]:
    """Return map(function, a, b, ...) up to the longest; without a function, tuples or the single values."""
    if function is not None:
        return [function(*values) for values in itertools.zip_longest(*columns)]
    return list(columns[0]) if len(columns) == 1 else list(itertools.zip_longest(*columns))


def map_list(function: Callable[..., object] | None, *columns: Iterable[object]) -> list[object]:
    """Return map(function, values)."""
    return list(map(function, *columns)) if function and len(columns) == 1 else map_longest(function, *columns)


def zip_list(*columns: Iterable[object]) -> list[tuple[object, ...]]:
    """Return zip(...)."""
    return list(zip(*columns))


def range_list(*bounds: Any) -> list[int]:
    """Return range(...)."""
    return list(range(*bounds))


def imap(function: Callable[..., object] | None, *columns: Iterable[object]) -> Iterable[object]:
    """Return itertools.imap(...)."""
    return zip(*columns) if function is None else map(function, *columns)


def filter_of(function: Callable[[object], object] | None, values: Iterable[object]) -> object:
    """Return filter(function, values): text for text, a tuple for a tuple, else a list."""
    found = list(filter(function, values))
    if isinstance(values, (str, ByteText)):
        return join("", found)
    return tuple(found) if isinstance(values, tuple) else found


def floor(number: object) -> float:
    """Return math.floor(number) as a float."""
    return float(math.floor(scalar(number)))


def ceil(number: object) -> float:
    """Return math.ceil(number) as a float."""
    return float(math.ceil(scalar(number)))


def chr_of(number: int) -> str | ByteText:
    """Return the character of a number below 256, which is a byte."""
    return chr(number) if number < 128 else ByteText(bytes([number]))


def coerce(left: Any, right: object) -> tuple[object, object]:
    """Return two numbers as numbers of one type."""
    kind = type(left + right)
    return kind(left), kind(right)


def isSequenceType(value: object) -> bool:
    """Return whether a value can be indexed by numbers."""
    return hasattr(value, "__getitem__") and not isinstance(value, Mapping)


def isMappingType(value: object) -> bool:
    """Return whether a value can be indexed by keys."""
    return isinstance(value, Mapping)


def isNumberType(value: object) -> bool:
    """Return whether a value is a number."""
    return hasattr(value, "__int__") or hasattr(value, "__complex__")


def apply(function: Callable[..., object], args: Any = (), kwargs: Any = None) -> object:
    """Call a function with a tuple of arguments."""
    return function(*args, **(kwargs or {}))


def execfile(filename: str, globals: Any = None, locals: Any = None) -> None:
    """Run a file in the caller's names."""
    from fluidio.paddle.capsule.old_texts import compile_text

    caller = sys._getframe(1)
    with open(filename, "rb") as file:
        code = compile_text(importlib.util.decode_source(file.read()), filename, "exec")
    names = caller.f_globals if globals is None else globals
    exec(code, names, caller.f_locals if locals is None and globals is None else locals)


def reload(module: Any) -> object:
    """Reload a module; `reload(sys)`, which only restored setdefaultencoding, does nothing."""
    return module if module is sys else importlib.reload(module)


def nothing(*args: object, **kwargs: object) -> None:
    """Do nothing: the call no longer has any meaning."""

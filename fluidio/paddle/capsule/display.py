"""What Python 2 shows: str() of numbers with 12 digits, repr() of strings and containers, %, format."""

from __future__ import annotations

import functools
import math
import string
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

import numpy as np

from fluidio.paddle.capsule.old_strings import ByteText, EncodedText, as_text, bytes_of, is_old, is_unicode
from fluidio.paddle.capsule.promotion import promoted
from fluidio.paddle.capsule.scalars import SPEC, kinds_of, scalar

__all__ = ["format_value", "hex_of", "map_text", "oct_of", "old_format", "old_percent", "ord_of", "to_repr", "to_text"]

_MAXINT = (1 << 63) - 1


def _number(value: float) -> str:
    """Return str() of a float: 12 digits."""
    if math.isfinite(value) and value and not -4 <= (exponent := int(f"{value:.11e}".partition("e")[2])) < 11:
        return f"{f'{value:.11e}'.partition('e')[0].rstrip('0').rstrip('.')}e{exponent:+03d}"
    text = f"{value:.12g}"
    return text if set(text) & set(".n") else f"{text}.0"


def _complex(value: complex, show: Any) -> str:
    if value.real == 0 and not str(value.real).startswith("-"):
        return f"{show(value.imag).removesuffix('.0')}j"
    real, imaginary = (show(part).removesuffix(".0") for part in (value.real, value.imag))
    return f"({real}{'' if imaginary[0] in '-' else '+'}{imaginary}j)"


def to_text(value: Any = "") -> Any:
    """Return str(value)."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else as_text(value.encode("utf-8", "surrogateescape"))
    if kind is float:
        return _number(value)
    if kind is complex:
        return _complex(value, _number)
    if kind is EncodedText:
        return value
    if isinstance(value, (bytes, bytearray)):
        return as_text(bytes(value))
    if kind in _SHOWN:
        return to_repr(value)
    if isinstance(value, type):
        return _type(value)
    if isinstance(value, BaseException) and _has_no(kind, "__str__"):
        return as_text(bytes_of(_exception(value)))
    return as_text(bytes_of(str(value)))


def _type(value: type) -> str:
    if type(value).__repr__ is not type.__repr__:
        return repr(value)
    module = "" if value.__module__ == "builtins" else f"{value.__module__}."
    if not module and issubclass(value, BaseException):
        module = "exceptions."
    return f"<{'class' if value.__flags__ & _HEAP_TYPE else 'type'} '{module}{value.__name__}'>"


_HEAP_TYPE = 1 << 9
"""The flag of classes that were made by a class statement."""


def _has_no(kind: type, method: str) -> bool:
    """Return whether a class of exceptions has no method of its own."""
    own: object = getattr(kind, method)
    return own is getattr(BaseException, method)


def _exception(value: BaseException) -> str:
    """Return str() of an exception without a __str__ of its own."""
    if len(value.args) > 1:
        return to_repr(value.args)
    return str.__str__(to_text(value.args[0])) if value.args else ""


def _string(value: str) -> str:
    if value.isascii():
        return repr(value)
    body = "".join(c if c.isascii() else _escape(ord(c)) for c in value)
    return f"u{body!r}".replace("\\\\x", "\\x").replace("\\\\u", "\\u").replace("\\\\U", "\\U")


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def to_repr(value: Any) -> str:
    """Return repr(value)."""
    kind = type(value)
    if kind is str:
        return _string(value)
    if kind is int:
        return repr(value) if -_MAXINT - 2 < value <= _MAXINT else f"{value}L"
    if kind in _SHOWN:
        return _container(value, frozenset())
    if isinstance(value, type):
        return _type(value)
    if isinstance(value, BaseException) and _has_no(kind, "__repr__"):
        return f"{kind.__name__}{to_repr(value.args)}"
    return repr(value)


def _container(value: object, above: frozenset[int]) -> str:
    if id(value) in above:
        return _LOOPS.get(type(value), "...")
    inner = above | {id(value)}

    def show(part: object) -> str:
        return _container(part, inner) if type(part) in _SHOWN else to_repr(part)

    return str(_SHOWN[type(value)](value, show))


def _items(value: Any, show: Any) -> str:
    return ", ".join(f"{show(key)}: {show(part)}" for key, part in value.items())


def _parts(value: Any, show: Any) -> str:
    return ", ".join(map(show, value))


def _tuple(value: Any, show: Any) -> str:
    return f"({show(value[0])},)" if len(value) == 1 else f"({_parts(value, show)})"


def _bound(value: Any) -> str:
    return "" if value.maxlen is None else f", maxlen={value.maxlen}"


_LOOPS: dict[type, str] = {list: "[...]", tuple: "(...)", dict: "{...}"}
_SHOWN: dict[type, Any] = {
    list: lambda value, show: f"[{_parts(value, show)}]",
    tuple: _tuple,
    dict: lambda value, show: f"{{{_items(value, show)}}}",
    set: lambda value, show: f"set([{_parts(value, show)}])",
    frozenset: lambda value, show: f"frozenset([{_parts(value, show)}])",
    deque: lambda value, show: f"deque([{_parts(value, show)}]{_bound(value)})",
    defaultdict: lambda value, show: f"defaultdict({show(value.default_factory)}, {{{_items(value, show)}}})",
    OrderedDict: lambda value, show: f"OrderedDict({show(list(value.items())) if value else ''})",
    Counter: lambda value, show: f"Counter({{{_items(dict(value.most_common()), show)}}})" if value else "Counter()",
    range: lambda value, show: f"x{value!r}".replace("xrange(0, ", "xrange("),
}


def map_text(*args: Any) -> list[object]:
    """Return map(str, values)."""
    return [to_text(*values) for values in zip(*args)]


def ord_of(character: Any) -> int:
    """Return ord(character)."""
    data = bytes_of(character) if is_old(character) else b""
    return data[0] if len(data) == 1 else ord(character)


def format_value(value: Any, spec: Any = "") -> Any:
    """Return format(value, spec)."""
    return format(value, spec) if spec else to_text(value)


def oct_of(number: Any) -> str:
    """Return oct(number)."""
    if not isinstance(number, (int, np.integer)):
        return oct(number)
    digits = f"{abs(int(number)):o}"
    return ("-" if number < 0 else "") + (digits if digits == "0" else f"0{digits}") + _suffix(number)


def hex_of(number: Any) -> str:
    """Return hex(number)."""
    return hex(number) + _suffix(number)


def _suffix(number: Any) -> str:
    return "L" if isinstance(number, int) and not -_MAXINT - 2 < number <= _MAXINT else ""


def old_percent(text: object, values: object) -> object:
    """Return `text % values`; one-element arrays are numbers where a number is expected."""
    if type(text) is str:
        given = values if type(values) is tuple else (values,)
        if given and all(map(_alike_in_both, given, _kinds(text))):
            result = text % given
            return result if result.isascii() else EncodedText(result)
    if not isinstance(text, (str, ByteText)):
        left, right = promoted(text, values)
        return left % right
    form = str.__str__(text) if isinstance(text, str) else str.__str__(str(text))
    found = list(SPEC.finditer(form))
    if isinstance(values, dict) and any(match["key"] is not None for match in found):
        kinds = {match["key"]: match["kind"] for match in found if match["key"] is not None}
        shown: Any = {key: _shown(value, kinds[key]) for key, value in values.items() if key in kinds}
        parts = list(shown.values())
    else:
        given = values if isinstance(values, tuple) else (values,)
        each = [kind for match in found for kind in kinds_of(match)]
        shown = tuple(map(_shown, given, each + ["s"] * (len(given) - len(each))))
        parts = list(shown)
    if not found or not (form.isascii() and all(p.isascii() for p in parts if isinstance(p, str))):
        return _in_bytes(text, form, shown, parts)
    return _shows_all(form) % shown


@functools.lru_cache(1024)
def _kinds(form: str) -> tuple[str, ...]:
    """Return the kinds of values that a format takes; none if it is not ASCII, takes a dict, or aligns text."""
    found = list(SPEC.finditer(form))
    aligned = (m["width"] or m["digits"] for m in found if m["kind"] in "src")
    if not form.isascii() or any(aligned) or any(m["key"] is not None for m in found):
        return ("?",)
    return tuple(kind for match in found for kind in kinds_of(match)) + ("?",)


def _alike_in_both(value: Any, kind: str) -> bool:
    """Return whether both Pythons show a value in the same way, text by its characters or its bytes."""
    which = type(value)
    if which is int:
        return kind not in "?c" and -_MAXINT - 2 < value <= _MAXINT
    if which is float:
        return kind in "feEgGd"
    return kind == "s" and (which is EncodedText or (which is str and value.isascii()))


def _shows_all(form: str) -> str:
    """Return a format in which the values of `%r`, which are shown already, are inserted as they are."""
    return SPEC.sub(lambda match: f"{match[0][:-1]}s" if match["kind"] == "r" else match[0], form)


def _shown(value: object, kind: str) -> object:
    if kind == "s":
        return value if is_unicode(value) else to_text(value)
    if kind == "r":
        return to_repr(value)
    return value if kind == "c" else scalar(value)


def _in_bytes(text: object, form: str, shown: Any, parts: list[object]) -> object:
    """Return text in which bytes outside ASCII appear: widths count bytes, unless a part is unicode."""
    if is_unicode(text) or any(map(is_unicode, parts)):
        return _shows_all(form) % shown
    if isinstance(shown, dict):
        shown = {key: _latin(value) for key, value in shown.items()}
    else:
        shown = tuple(map(_latin, shown))
    return as_text((_shows_all(_latin(text)) % shown).encode("latin-1"))


def _latin(value: object) -> Any:
    return bytes_of(value).decode("latin-1") if isinstance(value, (str, bytes)) else value


class _Formatter(string.Formatter):
    def format_field(self, value: object, format_spec: str) -> object:
        if not format_spec:
            return value if is_unicode(value) else to_text(value)
        return format(scalar(value), format_spec)

    def convert_field(self, value: object, conversion: Any) -> Any:
        if conversion in ("r", "s"):
            return to_repr(value) if conversion == "r" else to_text(value)
        return super().convert_field(value, conversion)


def old_format(text: Any, /, *args: object, **kwargs: object) -> Any:
    """Return `text.format(...)`."""
    if not isinstance(text, (str, ByteText)):
        return text.format(*args, **kwargs)
    found = _Formatter().vformat(str.__str__(str(text)), args, kwargs)
    if found.isascii() or is_unicode(text) or any(map(is_unicode, (*args, *kwargs.values()))):
        return found
    return as_text(bytes_of(found))

"""Python 2's str, which was both text and bytes.

A Python 2 string is a plain `str` here while it is ASCII, where both Pythons agree. Others are `EncodedText`, text that
counts and cuts bytes, or `ByteText`, bytes that behave as text, where other libraries will need bytes: what `encode()`
and files opened as binary return. A plain `str` that is not ASCII is Python 2's unicode.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

__all__ = ["ByteText", "EncodedText", "as_bytes", "as_mixed", "as_text", "bytes_of", "encoded", "is_old", "is_unicode"]


def as_text(data: bytes) -> str:
    """Return bytes as a Python 2 string."""
    return data.decode() if data.isascii() else EncodedText(data.decode("utf-8", "surrogateescape"))


def as_mixed(data: bytes) -> str | ByteText:
    """Return what text and bytes become together: text while it is ASCII."""
    return data.decode() if data.isascii() else ByteText(data)


def bytes_of(text: str | bytes) -> bytes:
    """Return the bytes of a Python 2 string; of unicode, in UTF-8."""
    return str.encode(text, "utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)


def as_bytes(value: object) -> Any:
    """Return the bytes of text; return everything else unchanged."""
    return bytes_of(value) if isinstance(value, str) else value


def encoded(literal: str | bytes) -> str:
    """Return the value of a string literal, which held the bytes of its source file."""
    return as_text(bytes_of(literal))


def is_old(value: object) -> bool:
    """Return whether a value is a Python 2 string with bytes outside ASCII."""
    return isinstance(value, EncodedText) or (isinstance(value, ByteText) and not value.isascii())


def is_unicode(value: object) -> bool:
    """Return whether a value is unicode outside ASCII."""
    return isinstance(value, str) and not isinstance(value, EncodedText) and not value.isascii()


def _wrapped(value: object) -> object:
    if isinstance(value, bytes):
        return as_text(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_wrapped, value))
    return value


def _plain(value: object) -> object:
    """Return an argument of a method of bytes."""
    if isinstance(value, tuple):
        return tuple(map(as_bytes, value))
    return as_bytes(value)


def _outside(frame: FrameType) -> bool:
    """Return whether code is neither of a Python 2 module nor of this package."""
    names = frame.f_globals
    if names.get("__package__") == __package__:
        return False
    helper = names.get("fluidio_capsule") or names.get("capsule")
    return getattr(helper, "__name__", None) != __package__


class EncodedText(str):
    """A Python 2 string that is not ASCII: its length, indices, pieces and repr are those of its bytes in UTF-8.

    As `str` it holds the decoded text, and this is what code outside Python 2 modules sees, such as libraries. Combined
    with unicode it is text.
    """

    __slots__ = ()

    def __len__(self) -> int:
        return str.__len__(self) if _outside(sys._getframe(1)) else len(bytes_of(self))

    def __getitem__(self, index: Any) -> Any:
        if _outside(sys._getframe(1)):
            return str.__getitem__(self, index)
        part = bytes_of(self)[index]
        return as_text(part if isinstance(part, bytes) else bytes([part]))

    def __iter__(self) -> Iterator[Any]:
        if _outside(sys._getframe(1)):
            return str.__iter__(self)
        return (as_text(bytes([byte])) for byte in bytes_of(self))

    def __repr__(self) -> str:
        return str.__repr__(self) if _outside(sys._getframe(1)) else repr(bytes_of(self))[1:]

    def __format__(self, spec: str) -> str:
        if _outside(sys._getframe(1)):
            return str.__format__(self, spec)
        return as_text(format(bytes_of(self).decode("latin-1"), spec).encode("latin-1"))

    def __contains__(self, part: Any) -> bool:
        if is_unicode(part) or _outside(sys._getframe(1)):
            return str.__contains__(self, part)
        return bytes_of(part) in bytes_of(self)

    def __add__(self, other: object) -> Any:
        if not isinstance(other, (str, bytes)):
            return NotImplemented
        if is_unicode(other) or _outside(sys._getframe(1)):
            return str.__add__(self, str(other))
        return as_text(bytes_of(self) + bytes_of(other))

    def __radd__(self, other: str) -> str:
        if is_unicode(other) or _outside(sys._getframe(1)):
            return str.__add__(other, self)
        return as_text(bytes_of(other) + bytes_of(self))

    def __mul__(self, times: Any) -> Any:
        return as_text(bytes_of(self) * times)

    def __rmul__(self, times: Any) -> Any:
        return self * times

    def __mod__(self, values: object) -> Any:
        from fluidio.paddle.capsule.display import old_percent

        return str.__mod__(self, values) if _outside(sys._getframe(1)) else old_percent(self, values)

    def __reduce__(self) -> tuple[object, ...]:
        return encoded, (str.__str__(self),)


class ByteText(bytes):
    """Bytes that behave as text when combined with text: they compare, join, split, index and print like str."""

    def _text(self) -> str:
        return self.decode("utf-8", "surrogateescape")

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        return bytes.__repr__(self)[1:]

    def __format__(self, spec: str) -> str:
        return format(as_text(self), spec)

    def __eq__(self, other: object) -> bool:
        return self._text() == other if isinstance(other, str) else bytes.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._text())  # the same hash as the str it equals

    def __lt__(self, other: object) -> bool:
        return self._text() < str(other)

    def __le__(self, other: object) -> bool:
        return self._text() <= str(other)

    def __gt__(self, other: object) -> bool:
        return self._text() > str(other)

    def __ge__(self, other: object) -> bool:
        return self._text() >= str(other)

    def __contains__(self, part: Any) -> bool:
        return part in self._text() if is_unicode(part) else bytes.__contains__(self, as_bytes(part))

    def __add__(self, other: Any) -> Any:
        return self._text() + other if is_unicode(other) else as_mixed(bytes.__add__(self, as_bytes(other)))

    def __radd__(self, other: Any) -> object:
        return other + self._text() if is_unicode(other) else as_mixed(as_bytes(other) + bytes(self))

    def __mul__(self, times: Any) -> Any:
        return ByteText(bytes.__mul__(self, times))

    __rmul__ = __mul__

    def __mod__(self, values: object) -> Any:
        from fluidio.paddle.capsule.display import old_percent

        return old_percent(as_text(self), values)

    def __reduce__(self) -> tuple[object, ...]:
        return ByteText, (bytes(self),)

    def __getitem__(self, index: Any) -> Any:
        part = bytes.__getitem__(self, index)
        return ByteText(part if isinstance(part, bytes) else bytes([part]))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._text()) if self.isascii() else (self[i] for i in range(len(self)))

    def isdecimal(self) -> bool:
        """Return whether all characters are digits."""
        return self.isdigit()


def _byte_method(name: str) -> object:
    """Return a method that works on the bytes, unless an argument is unicode."""

    def method(self: EncodedText | ByteText, *args: object, **kwargs: object) -> Any:
        if any(map(is_unicode, args)) or (isinstance(self, str) and _outside(sys._getframe(1))):
            return getattr(str, name)(str.__str__(as_text(bytes_of(self))), *args, **kwargs)
        return _wrapped(getattr(bytes, name)(bytes_of(self), *map(_plain, args), **kwargs))

    return method


_METHODS = """
    capitalize center count endswith expandtabs find index isalnum isalpha isdigit islower isspace istitle isupper
    ljust lower lstrip partition replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip
    swapcase title upper zfill
"""
for _name in _METHODS.split():
    setattr(EncodedText, _name, _byte_method(_name))
    setattr(ByteText, _name, _byte_method(_name))


def _cut_method(name: str) -> object:
    """Return a method that cuts text at ASCII characters, which no other character's bytes contain in UTF-8."""
    by_bytes: Any = getattr(EncodedText, name)
    strips, of_str = name.endswith("strip"), getattr(str, name)

    def method(self: EncodedText, *args: Any, **kwargs: Any) -> Any:
        outside = _outside(sys._getframe(1))
        if strips and not args and not outside:
            args = (_SPACE,)
        if args and not kwargs and type(args[0]) is str and args[0].isascii() and args[0]:
            found = of_str(self, *args)
        elif outside:
            return of_str(str.__str__(self), *args, **kwargs)
        else:
            return by_bytes(self, *args, **kwargs)
        if type(found) is str:
            return found if found.isascii() else EncodedText(found)
        return type(found)([part if part.isascii() else EncodedText(part) for part in found])

    return method


_SPACE = " \t\n\r\x0b\x0c"
for _name in ("strip", "lstrip", "rstrip", "split", "rsplit", "partition", "rpartition"):
    setattr(EncodedText, _name, _cut_method(_name))


def _join(self: EncodedText | ByteText, parts: Any) -> object:
    from fluidio.paddle.capsule.text import join

    outside = isinstance(self, str) and _outside(sys._getframe(1))
    return str.join(str.__str__(str(self)), parts) if outside else join(self, parts)


def _format(self: EncodedText | ByteText, *args: object, **kwargs: object) -> str:
    from fluidio.paddle.capsule.display import old_format

    outside = isinstance(self, str) and _outside(sys._getframe(1))
    return str.format(str.__str__(str(self)), *args, **kwargs) if outside else old_format(self, *args, **kwargs)


for _method in (_join, _format):
    setattr(EncodedText, _method.__name__.strip("_"), _method)
    setattr(ByteText, _method.__name__.strip("_"), _method)

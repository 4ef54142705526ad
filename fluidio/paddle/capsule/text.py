"""Python 2's str, both text and bytes: what files opened as binary return, and what encode() returns."""

from __future__ import annotations

import builtins
import codecs
import contextlib
import io
import os
import subprocess
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

__all__ = ["ByteText", "check_output", "decode", "encode", "fdopen", "getwriter", "join", "open_file"]
__all__ += ["binary_reader", "binary_writer", "to_unicode", "translate"]

_CODECS = {"hex", "base64", "zlib", "bz2", "quopri", "uu", "rot13", "string_escape", "string-escape"}


class ByteText(bytes):
    """Bytes that behave as text when combined with text: they compare, join, split, index and print as str does."""

    def _text(self) -> str:
        return self.decode("utf-8", "surrogateescape")

    def __str__(self) -> str:
        return self._text()

    def __repr__(self) -> str:
        return repr(self._text())

    def __format__(self, spec: str) -> str:
        return format(self._text(), spec)

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
        return part in self._text() if isinstance(part, str) else bytes.__contains__(self, part)

    def __add__(self, other: Any) -> Any:
        return self._text() + other if isinstance(other, str) else ByteText(bytes.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return other + self._text()

    def __mod__(self, values: object) -> Any:
        return self._text() % values

    def __getitem__(self, index: Any) -> Any:
        part = bytes.__getitem__(self, index)
        return ByteText(part if isinstance(part, bytes) else bytes([part]))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._text()) if self.isascii() else (self[i] for i in range(len(self)))


def _text_method(name: str) -> Any:
    def method(self: ByteText, *args: object, **kwargs: object) -> Any:
        if args and isinstance(args[0], bytes):
            return getattr(bytes, name)(self, *args, **kwargs)
        return getattr(str(self), name)(*args, **kwargs)

    return method


_TEXT_METHODS = """
    capitalize center count endswith expandtabs find format index isalnum isalpha isdigit islower isspace isupper join
    ljust lower lstrip partition replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip
    swapcase title upper zfill
"""
for _name in _TEXT_METHODS.split():
    setattr(ByteText, _name, _text_method(_name))


def decode(value: Any, *args: Any, **kwargs: Any) -> Any:
    """Return value.decode(...); text is decoded already."""
    if args and args[0] in _CODECS:
        return _recode(codecs.decode, value, args[0])
    return value if isinstance(value, str) else value.decode(*args, **kwargs)


def _recode(function: Any, value: Any, codec: str) -> Any:
    """Return a str of Python 2 after a codec from str to str."""
    if codec == "rot13":
        return function(str(value), "rot13")
    data = _as_bytes(value)
    if codec.startswith("string"):
        pair: Any = codecs.escape_encode(data) if function is codecs.encode else codecs.escape_decode(data)
        return ByteText(pair[0])
    return ByteText(function(data, codec))


def to_unicode(value: object = "", encoding: str = "ascii", errors: str = "strict") -> str:
    """Return unicode(value, encoding)."""
    if isinstance(value, ByteText) and encoding == "ascii":
        return str(value)
    if isinstance(value, str) and encoding != "ascii" and not value.isascii():
        with contextlib.suppress(UnicodeError):  # a text of Python 2 that was written as bytes
            return value.encode("latin-1").decode(encoding, errors)
    return value.decode(encoding, errors) if isinstance(value, (bytes, bytearray)) else str(value)


def translate(value: Any, table: Any, *deletions: Any) -> Any:
    """Return value.translate(table, deletions)."""
    if not isinstance(value, str):
        whole = table.encode("latin-1") if isinstance(table, str) else table  # of string.maketrans
        return value.translate(whole, *deletions)
    if not (deletions or table is None):
        return value.translate(table)
    left = value.translate(dict.fromkeys(map(ord, deletions[0]))) if deletions else value
    return left if table is None else left.translate(table)


def encode(value: Any, *args: Any, **kwargs: Any) -> Any:
    """Return value.encode(...) as bytes that still behave as text."""
    if args and args[0] in _CODECS:
        return _recode(codecs.encode, value, args[0])
    if isinstance(value, bytes):
        return value
    encoded = value.encode(*args, **kwargs)
    return ByteText(encoded) if isinstance(encoded, bytes) else encoded


def join(separator: Any, *args: Any, **kwargs: Any) -> Any:
    """Return separator.join(parts), whichever of them are bytes; any other `join`, such as a thread's, as it is."""
    if len(args) != 1 or not isinstance(separator, (str, bytes)):
        return separator.join(*args, **kwargs)
    words = list(args[0])
    if isinstance(separator, bytes) and not isinstance(separator, ByteText):
        return separator.join(words)
    return str(separator).join(str(w) if isinstance(w, ByteText) else w for w in words)


if TYPE_CHECKING:
    _Base = io.BufferedIOBase
else:
    _Base = object  # set by the subclasses


class _Reads(_Base):
    """Reading a file opened as binary: lines are text, read() gives bytes that behave as text."""

    def read(self, size: int | None = -1, /) -> Any:
        return ByteText(super().read(size))

    def readline(self, size: int | None = -1, /) -> Any:
        return _as_line(super().readline(size))

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def readlines(self, hint: int | None = None, /) -> Any:
        return list(self)


class _Writes(_Base):
    """Writing to a file opened as binary: text is encoded."""

    def write(self, data: Any, /) -> Any:
        return super().write(_as_bytes(data))

    def writelines(self, lines: Iterable[object], /) -> None:
        for line in lines:
            self.write(line)


class _BinaryReader(_Reads, io.BufferedReader):
    pass


class _BinaryWriter(_Writes, io.BufferedWriter):
    pass


class _Binary(_Reads, _Writes, io.BufferedRandom):
    pass


class _Text(io.TextIOWrapper):
    """A file opened as text that takes bytes too."""

    def write(self, data: Any, /) -> int:
        return super().write(data.decode("utf-8", "surrogateescape") if isinstance(data, bytes) else data)


def _as_line(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _as_bytes(data: object) -> Any:
    return data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data


def open_file(name: Any, mode: str = "r", buffering: int = -1, *args: Any, **kwargs: Any) -> Any:
    """Return open(name, mode) as Python 2 did: text and bytes mix."""
    plain = mode.replace("U", "") or "r"
    if args or kwargs:
        return builtins.open(name, plain, buffering, *args, **kwargs)
    if "b" not in plain:
        raw = builtins.open(name, plain + "b")
        return _Text(raw, "utf-8", "surrogateescape", line_buffering=buffering in (0, 1))
    file = io.FileIO(name, plain.replace("b", ""))
    kind = _Binary if "+" in plain else _BinaryReader if "r" in plain else _BinaryWriter
    return kind(file)


def binary_reader(file: Any) -> io.BufferedReader:
    """Return a reader around a file of bytes: lines are text, read() gives bytes that behave as text."""
    return _BinaryReader(file)


def binary_writer(file: Any) -> io.BufferedWriter:
    """Return a writer around a file of bytes that takes text too."""
    return _BinaryWriter(file)


def check_output(*args: Any, **kwargs: Any) -> Any:
    """Return the output of a command, bytes that behave as text."""
    found: Any = subprocess.check_output(*args, **kwargs)
    return ByteText(found) if isinstance(found, bytes) else found


def fdopen(fd: int, mode: str = "r", buffering: int = -1) -> Any:
    """Return os.fdopen(...); text without a buffer is text flushed by lines."""
    return os.fdopen(fd, mode, 1 if buffering == 0 and "b" not in mode else buffering)


def getwriter(encoding: str) -> Any:
    """Return what makes a stream encode its text: text streams do."""
    writer: Any = codecs.getwriter(encoding)
    return lambda stream, *args: stream if isinstance(stream, io.TextIOBase) else writer(stream, *args)

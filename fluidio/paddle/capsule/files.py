"""Files of Python 2: opened as text or as binary, they hold bytes; what is read mixes with text."""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fluidio.paddle.capsule.old_strings import ByteText, as_bytes, as_text, bytes_of

__all__ = ["binary_reader", "binary_writer", "open_file", "stdin"]

if TYPE_CHECKING:
    _Base = io.BufferedIOBase
else:
    _Base = object  # set by the subclasses


class _Reads(_Base):
    """Reading: lines are text; read() gives bytes that behave as text if the file was opened as binary, else text."""

    as_bytes = True

    def read(self, size: int | None = -1, /) -> Any:
        data = super().read(size)
        return ByteText(data) if self.as_bytes else as_text(data)

    def readline(self, size: int | None = -1, /) -> Any:
        return as_text(super().readline(size))

    def __next__(self) -> Any:
        line = super().readline()
        if not line:
            raise StopIteration
        return as_text(line)

    def readlines(self, hint: int | None = None, /) -> Any:
        return list(self)

    def xreadlines(self) -> object:
        """Return an iterator over the lines."""
        return self


class _Writes(_Base):
    """Writing: text is encoded; without a buffer, or with one line, it reaches the file at once."""

    at_once = False
    softspace = 0

    def write(self, data: object, /) -> Any:
        self.softspace = 0
        count = super().write(as_bytes(data))
        if self.at_once:
            self.flush()
        return count

    def writelines(self, lines: Iterable[object], /) -> None:
        for line in lines:
            self.write(line)


class _BinaryReader(_Reads, io.BufferedReader):
    pass


class _BinaryWriter(_Writes, io.BufferedWriter):
    pass


class _Binary(_Reads, _Writes, io.BufferedRandom):
    pass


class _AnyLines(io.TextIOWrapper):
    """A file whose lines may end in any way, opened with "U"."""

    def read(self, size: int | None = -1, /) -> str:
        return as_text(bytes_of(super().read(size)))

    def readline(self, size: Any = -1, /) -> Any:
        return as_text(bytes_of(super().readline(size)))

    def __next__(self) -> Any:
        return as_text(bytes_of(super().__next__()))


def open_file(name: Any, mode: str = "r", buffering: int = -1, *args: Any, **kwargs: Any) -> object:
    """Return open(name, mode) as Python 2 did: text and bytes mix."""
    plain = mode.replace("U", "") or "r"
    plain = plain if plain[0] in "rwax" else f"r{plain}"
    if args or kwargs:
        return builtins.open(name, plain, buffering, *args, **kwargs)
    if "U" in mode:
        return _AnyLines(builtins.open(name, "rb"), "utf-8", "surrogateescape")
    file = io.FileIO(name, plain.replace("b", "").replace("t", ""))
    kind: Any = _Binary if "+" in plain else _BinaryReader if "r" in plain else _BinaryWriter
    opened = kind(file)
    opened.as_bytes = "b" in plain
    opened.at_once = buffering in (0, 1)
    return opened


def binary_reader(file: Any, as_bytes: bool = True) -> io.BufferedReader:
    """Return a reader around a file of bytes: lines are text, read() gives bytes that behave as text."""
    reader = _BinaryReader(file)
    reader.as_bytes = as_bytes
    return reader


def binary_writer(file: Any) -> io.BufferedWriter:
    """Return a writer around a file of bytes that takes text too."""
    return _BinaryWriter(file)


class _StandardInput:
    """sys.stdin, whose lines are Python 2 strings."""

    def read(self, *size: int) -> object:
        return self._read(sys.stdin.read(*size))

    def readline(self, *size: int) -> object:
        return self._read(sys.stdin.readline(*size))

    def readlines(self, *hint: int) -> list[object]:
        return list(self)

    def next(self) -> object:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    __next__ = next

    def __iter__(self) -> Any:
        return self

    def _read(self, data: Any) -> object:
        return as_text(bytes_of(data)) if isinstance(sys.stdin, io.TextIOWrapper) else data

    def __getattr__(self, name: str) -> object:
        return getattr(sys.stdin, name)


stdin = _StandardInput()

"""The protobuf wire format, as far as a ProgramDesc needs it: varints, 32-bit floats, length-prefixed fields."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from fluidio.errors import EnforceNotMet
from fluidio.varint import read_varint, varint

__all__ = ["Message", "float_field", "signed", "text_field", "varint_field"]

_float = struct.Struct("<f")


def varint_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def float_field(number: int, value: float) -> bytes:
    return varint(number << 3 | 5) + _float.pack(value)


def text_field(number: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def signed(value: int) -> int:
    """Interpret a 64-bit varint as a signed number."""
    return value - (1 << 64) if value >> 63 else value


class Message:
    """A message inside a buffer: its fields are parsed once, in place; unknown ones are skipped.

    Only what the bytes hold is allocated, so a damaged file cannot request more memory than it has bytes.
    """

    __slots__ = ("data", "end", "start", "what")

    def __init__(self, data: bytes, what: str, start: int = 0, end: int | None = None) -> None:
        self.data = data
        self.what = what
        self.start = start
        self.end = len(data) if end is None else end

    def fields(self) -> Iterator[tuple[int, int | float | Message]]:
        """Yield field number and value: a number, or a Message over the bytes of a length-prefixed field."""
        position = self.start
        while position < self.end:
            key = self.data[position]
            position += 1
            if key >= 0x80:  # a call takes longer than all the rest here
                key, position = self._varint(position - 1)
            number, wire = key >> 3, key & 7
            if wire == 0:
                value, position = self._varint(position)
                yield number, value
            elif wire == 2:
                size, position = self._varint(position)
                self._need(size, position)
                yield number, Message(self.data, self.what, position, position + size)
                position += size
            elif wire == 5:
                self._need(4, position)
                yield number, _float.unpack_from(self.data, position)[0]
                position += 4
            elif wire == 1:
                self._need(8, position)
                position += 8
            else:
                self.fail(f"wire type {wire} of field {number}", position)

    def _varint(self, position: int) -> tuple[int, int]:
        if position < self.end and self.data[position] < 0x80:
            return self.data[position], position + 1  # nearly all numbers in a program
        try:
            return read_varint(self.data, position, self.end)
        except IndexError as error:
            self.fail(str(error), position)
            raise

    def _need(self, size: int, position: int) -> None:
        if size > self.end - position:
            self.fail(f"a field of {size} bytes where {self.end - position} are left", position)

    def fail(self, problem: str, position: int | None = None) -> None:
        where = self.start if position is None else position
        raise EnforceNotMet(
            f"cannot parse {self.what}: {problem} at byte {where}; the file is damaged or another format"
        )

    def text(self) -> str:
        try:
            return self.data[self.start : self.end].decode()
        except UnicodeDecodeError:
            self.fail(f"a name that is not UTF-8: {self.data[self.start : self.end][:40]!r}")
            raise

    def varints(self) -> list[int]:
        """Return a packed list of numbers."""
        found, position = [], self.start
        while position < self.end:
            value, position = self._varint(position)
            found.append(value)
        return found

    def floats(self) -> list[float]:
        """Return a packed list of floats."""
        count, rest = divmod(self.end - self.start, 4)
        if rest:
            self.fail(f"a packed list of floats of {self.end - self.start} bytes")
        return list(struct.unpack_from(f"<{count}f", self.data, self.start))

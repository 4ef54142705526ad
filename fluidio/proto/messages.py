"""Protobuf messages described by tables: the interface of Fluid's `*_pb2` modules without the protobuf library.

A class lists its fields; attributes, lists with `add`, bytes and text follow from that.
"""

from __future__ import annotations

import copy
import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.program.wire import Message, float_field, signed, text_field, varint_field

__all__ = ["DecodeError", "EncodeError", "EnumNames", "Field", "ProtoMessage", "message"]

M = TypeVar("M", bound="ProtoMessage")


class EncodeError(Exception):
    """A message lacks a field that it must have."""


class DecodeError(Exception):
    """The bytes are not a message of the type."""


@dataclass(frozen=True)
class Field:
    """One field: `kind` is str, int, float, bool, an IntEnum or a message class; `bits` bounds whole numbers."""

    name: str
    number: int
    kind: Any
    label: str = "optional"
    default: Any = None
    bits: int = 32

    @property
    def is_repeated(self) -> bool:
        return self.label == "repeated"

    @property
    def is_message(self) -> bool:
        return issubclass(self.kind, ProtoMessage)

    def start(self) -> Any:
        """Return the value of the field when it is not set."""
        if self.default is not None:
            return self.default
        return 0 if issubclass(self.kind, enum.IntEnum) else self.kind()

    def checked(self, value: object) -> Any:
        """Return a value as the field keeps it; TypeError or ValueError if it cannot."""
        if self.kind is str:
            if isinstance(value, (str, bytes)):
                return value.decode() if isinstance(value, bytes) else value
        elif self.kind is float:
            if isinstance(value, (int, float, np.number)):
                with np.errstate(over="ignore"):
                    return float(np.float32(value))
        elif isinstance(value, (int, np.integer)):
            if self.kind is bool:
                return bool(value)
            if self.kind is not int and int(value) not in self.kind._value2member_map_:
                raise ValueError(f"{self.name} has no enum value {value}")
            if not -(1 << self.bits - 1) <= value < 1 << self.bits - 1:
                raise ValueError(f"{self.name}: {value} does not fit {self.bits} bits")
            return int(value)
        raise TypeError(f"{self.name} must be {self.kind.__name__}, got {type(value).__name__} {value!r}")

    def encoded(self, value: Any) -> bytes:
        if self.is_message:
            return text_field(self.number, value.SerializePartialToString())
        if self.kind is str:
            return text_field(self.number, value)
        return float_field(self.number, value) if self.kind is float else varint_field(self.number, int(value))

    def decoded(self, value: int | float | Message) -> list[Any]:
        """Decode one field: several values if they are packed."""
        if isinstance(value, Message):
            if self.is_message:
                return [self.kind()._read(value)]
            if self.kind is str:
                return [value.text()]
            return list(value.floats()) if self.kind is float else [self._number(v) for v in value.varints()]
        return [value if self.kind is float else self._number(int(value))]

    def _number(self, value: int) -> Any:
        return bool(value) if self.kind is bool else signed(value)


class _Repeated(list[Any]):
    """The values of a repeated field."""

    def __init__(self, field: Field) -> None:
        super().__init__()
        self._field = field

    def add(self, **values: object) -> Any:
        """Append a new message and return it."""
        made = self._field.kind(**values)
        super().append(made)
        return made

    def append(self, value: object) -> None:
        if not self._field.is_message:
            value = self._field.checked(value)
        elif isinstance(value, self._field.kind):
            value = copy.deepcopy(value)
        else:
            raise TypeError(f"expected a {self._field.kind.__name__}, got {value!r}")
        super().append(value)

    def extend(self, values: Iterable[object]) -> None:
        for value in values:
            self.append(value)

    MergeFrom = extend


class ProtoMessage:
    """Base class of messages; `fields` is the table."""

    fields: ClassVar[tuple[Field, ...]] = ()

    def __init__(self, **values: object) -> None:
        self.__dict__["_values"] = {}
        for name, value in values.items():
            field = self._field(name, f"{type(self).__name__} has no field {name!r}")
            if field.is_repeated:
                getattr(self, name).extend(value)
            elif field.is_message:
                getattr(self, name).CopyFrom(value)
            else:
                setattr(self, name, value)

    @classmethod
    def _field(cls, name: str, otherwise: str) -> Field:
        for field in cls.fields:
            if field.name == name:
                return field
        raise ValueError(otherwise)

    def __getattr__(self, name: str) -> Any:
        for field in type(self).fields:
            if field.name == name:
                return self._value(field)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _value(self, field: Field) -> Any:
        values = self.__dict__["_values"]
        if field.name not in values:
            if not field.is_repeated and not field.is_message:
                return field.start()
            values[field.name] = _Repeated(field) if field.is_repeated else field.kind()
        return values[field.name]

    def __setattr__(self, name: str, value: object) -> None:
        try:
            field = self._field(name, "")
        except ValueError:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}") from None
        if field.is_repeated or field.is_message:
            kind = "repeated" if field.is_repeated else "composite"
            raise AttributeError(f"{name} is {kind}, so it cannot be set: change what it holds")
        self.__dict__["_values"][name] = field.checked(value)

    # -- what is set ------------------------------------------------------------------------------------------------

    def _set(self) -> Iterator[tuple[Field, Any]]:
        values = self.__dict__["_values"]
        for field in sorted(self.fields, key=lambda field: field.number):
            if self._has(field):
                yield field, values[field.name]

    def _has(self, field: Field) -> bool:
        value = self.__dict__["_values"].get(field.name)
        if value is None or field.is_repeated:
            return bool(value)
        return not field.is_message or value.__dict__.get("_is_present", False) or any(True for _ in value._set())

    def HasField(self, name: str) -> bool:
        """Return whether a field that is not repeated is set."""
        field = self._field(name, f"{type(self).__name__} has no field {name!r}")
        if field.is_repeated:
            raise ValueError(f"{type(self).__name__} has no single field {name!r}")
        return self._has(field)

    def SetInParent(self) -> None:
        self.__dict__["_is_present"] = True

    def ClearField(self, name: str) -> None:
        self.__dict__["_values"].pop(self._field(name, f"no field {name}").name, None)

    def Clear(self) -> None:
        self.__dict__["_values"].clear()

    def ListFields(self) -> list[tuple[Field, Any]]:
        return list(self._set())

    def _missing(self) -> list[str]:
        missing = [field.name for field in self.fields if field.label == "required" and not self._has(field)]
        for field, value in self._set():
            if field.is_message:
                for one in value if field.is_repeated else [value]:
                    missing += [f"{field.name}.{name}" for name in one._missing()]
        return missing

    def IsInitialized(self) -> bool:
        return not self._missing()

    # -- copies -----------------------------------------------------------------------------------------------------

    def CopyFrom(self, other: ProtoMessage) -> None:
        """Replace the content with that of another message of the same type."""
        if not isinstance(other, type(self)):
            raise TypeError(f"CopyFrom takes a {type(self).__name__}, got {type(other).__name__}")
        self.Clear()
        self.MergeFrom(other)

    def MergeFrom(self, other: ProtoMessage) -> None:
        """Merge the set fields of another message; repeated fields are extended."""
        for field, value in other._set():
            if field.is_repeated:
                self._value(field).extend(value)
            elif field.is_message:
                self._value(field).MergeFrom(value)
            else:
                self.__dict__["_values"][field.name] = value
        self.SetInParent()

    def __deepcopy__(self: M, memo: object) -> M:
        twin = type(self)()
        twin.MergeFrom(self)
        return twin

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and list(self._set()) == list(other._set())

    # -- bytes and text -----------------------------------------------------------------------------------------------

    def SerializePartialToString(self) -> bytes:
        parts = ((field, value if field.is_repeated else [value]) for field, value in self._set())
        return b"".join(field.encoded(one) for field, values in parts for one in values)

    def SerializeToString(self) -> bytes:
        """Return the message as bytes; EncodeError if a required field is missing."""
        missing = self._missing()
        if missing:
            raise EncodeError(f"cannot write this {type(self).__name__}: {', '.join(missing)} must be set")
        return self.SerializePartialToString()

    def ByteSize(self) -> int:
        return len(self.SerializePartialToString())

    def MergeFromString(self, serialized: bytes) -> int:
        """Merge a message given as bytes."""
        try:
            self._read(Message(bytes(serialized), f"the {type(self).__name__}"))
        except EnforceNotMet as error:
            raise DecodeError(f"not a {type(self).__name__}: {error}") from error
        return len(serialized)

    def _read(self: M, source: Message) -> M:
        by_number = {field.number: field for field in self.fields}
        for number, value in source.fields():
            field = by_number.get(number)
            if field is None:
                continue
            found = field.decoded(value)
            if field.is_repeated:
                list.extend(self._value(field), found)
            elif field.is_message:
                self._value(field).MergeFrom(found[-1])
            elif found:
                self.__dict__["_values"][field.name] = found[-1]
        self.SetInParent()
        return self

    def ParseFromString(self, serialized: bytes) -> int:
        """Replace the content with a message given as bytes; DecodeError if they are not one."""
        self.Clear()
        size = self.MergeFromString(serialized)
        if self._missing():
            raise DecodeError(f"not a whole {type(self).__name__}: {', '.join(self._missing())} must be there")
        return size

    @classmethod
    def FromString(cls: type[M], serialized: bytes) -> M:
        made = cls()
        made.ParseFromString(serialized)
        return made

    def _lines(self) -> Iterator[str]:
        for field, value in self._set():
            for one in value if field.is_repeated else [value]:
                if field.is_message:
                    yield f"{field.name} {{"
                    yield from (f"  {line}" for line in one._lines())
                    yield "}"
                else:
                    yield f"{field.name}: {_text(field, one)}"

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    __repr__ = __str__


def _text(field: Field, value: Any) -> str:
    if field.kind is str:
        return (
            '"' + "".join(_ESCAPES.get(c) or (chr(c) if 32 <= c < 127 else f"\\{c:03o}") for c in value.encode()) + '"'
        )
    if field.kind is bool:
        return "true" if value else "false"
    return str(field.kind(value).name) if issubclass(field.kind, enum.IntEnum) else repr(value)


_ESCAPES = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}


class EnumNames:
    """`AttrType.Name(3)` and `AttrType.Value("FLOAT")` of a protobuf enum."""

    def __init__(self, kind: type[enum.IntEnum], name_of: Callable[[Any], str] = lambda one: one.name) -> None:
        self._numbers = {name_of(one): int(one) for one in kind}

    def Name(self, number: int) -> str:
        for name, value in self._numbers.items():
            if value == number:
                return name
        raise ValueError(f"no name has the value {number}")

    def Value(self, name: str) -> int:
        if name not in self._numbers:
            raise ValueError(f"no value is called {name!r}")
        return self._numbers[name]

    def keys(self) -> list[str]:
        return list(self._numbers)

    def values(self) -> list[int]:
        return list(self._numbers.values())

    def items(self) -> list[tuple[str, int]]:
        return list(self._numbers.items())


def message(name: str, *fields: Field, **others: object) -> Any:
    """Return a message class with these fields; `others` are further attributes, such as nested messages."""
    return type(name, (ProtoMessage,), {"fields": fields, **others})

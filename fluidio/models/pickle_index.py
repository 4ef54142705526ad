"""Find the arrays of a large pickle without reading them: `fluid.save` wrote a dict of arrays by name.

A small machine interprets the opcodes of such a pickle and skips long strings; it builds names, numbers, tuples, dicts
and descriptions of arrays, and calls nothing. Anything else stops it, and the full pickle reader takes over.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from fluidio.models.stored import StoredTensor, in_memory
from fluidio.regular import open_regular

__all__ = ["index_arrays"]

_LONG = 4096  # strings above this many bytes are skipped
_DTYPES = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "b1"}
_NAMES = {
    ("numpy.core.multiarray", "_reconstruct"): "array",
    ("numpy._core.multiarray", "_reconstruct"): "array",
    ("numpy", "ndarray"): "class",
    ("numpy", "dtype"): "dtype",
    ("_codecs", "encode"): "encode",
    ("__builtin__", "bytes"): "nothing",
    ("builtins", "bytes"): "nothing",
}
_MARK = object()


class _Other(Exception):
    """The pickle contains something that this machine does not build."""


@dataclass
class _Span:
    """A long string in the file; `is_text` if it is UTF-8 of Latin-1, as protocol 2 writes bytes."""

    offset: int
    size: int
    is_text: bool


@dataclass
class _Array:
    state: Any = None


@dataclass
class _Dtype:
    dtype: np.dtype[Any]


def index_arrays(path: str) -> dict[str, StoredTensor] | None:
    """Return the arrays of a pickled dict, leaving long ones in the file; None if the pickle has another form."""
    try:
        with open_regular(path) as file:
            found = _Machine(file).run()
        if not isinstance(found, dict):
            return None
        found.pop("StructuredToParameterName@@", None)
        return {name: _tensor(path, name, value) for name, value in found.items()}
    except (_Other, struct.error, ValueError, IndexError, KeyError, TypeError, UnicodeError):
        return None


def _tensor(path: str, name: object, value: object) -> StoredTensor:
    if not isinstance(name, str) or not isinstance(value, _Array) or value.state is None:
        raise _Other
    _, shape, dtype, fortran, data = value.state
    if not isinstance(dtype, _Dtype) or fortran or not all(isinstance(dim, int) and dim >= 0 for dim in shape):
        raise _Other
    tensor = StoredTensor(name, dtype.dtype, tuple(shape), path)
    if isinstance(data, _Span):
        most = 2 * tensor.nbytes if data.is_text else tensor.nbytes  # a byte above 127 is two in UTF-8
        if not tensor.nbytes <= data.size <= most:
            raise _Other
        return StoredTensor(name, dtype.dtype, tuple(shape), path, data.offset, text_size=data.size * data.is_text)
    if not isinstance(data, bytes) or len(data) != tensor.nbytes:
        raise _Other
    return in_memory(name, np.frombuffer(data, dtype.dtype).reshape(shape).copy())


class _Machine:
    """Opcodes of protocols 2 to 5 that a dict of arrays needs."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.size = file.seek(0, 2)
        file.seek(0)
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        while True:
            code = self._read(1)
            if code == b".":
                return self.stack.pop()
            action = _ACTIONS.get(code)
            if action is None:
                raise _Other
            action(self)

    def _read(self, size: int) -> bytes:
        data = self.file.read(size)
        if len(data) != size:
            raise _Other
        return data

    def number(self, form: str) -> int:
        return int(struct.unpack(form, self._read(struct.calcsize(form)))[0])

    def line(self) -> str:
        text = self.file.readline(512)
        if not text.endswith(b"\n"):
            raise _Other
        return text[:-1].decode()

    def string(self, form: str, is_text: bool) -> None:
        size, start = self.number(form), self.file.tell()
        if size > self.size - start:
            raise _Other
        if size > _LONG:
            self.file.seek(size, 1)
            self.stack.append(_Span(start, size, is_text))
        else:
            data = self._read(size)
            self.stack.append(data.decode("utf-8", "surrogatepass") if is_text else data)

    def to_mark(self) -> list[Any]:
        for index in range(len(self.stack) - 1, -1, -1):
            if self.stack[index] is _MARK:
                found = self.stack[index + 1 :]
                del self.stack[index:]
                return found
        raise _Other

    def pop(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise _Other
        found = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return found

    def name(self, module: str, name: str) -> None:
        self.stack.append(("name", _NAMES[module, name]))

    def reduce(self) -> None:
        (_, kind), arguments = self.pop(2)
        if kind == "array":
            self.stack.append(_Array())
        elif kind == "dtype" and arguments[0] in _DTYPES:
            self.stack.append(_Dtype(np.dtype(arguments[0])))
        elif kind == "nothing" and arguments == ():
            self.stack.append(b"")
        elif kind == "encode" and arguments[1] in ("latin1", "latin-1"):
            text = arguments[0]
            self.stack.append(text if isinstance(text, _Span) else text.encode("latin1"))
        else:
            raise _Other

    def build(self) -> None:
        (state,) = self.pop(1)
        target = self.stack[-1]
        if isinstance(target, _Array) and len(state) == 5:
            target.state = state
        elif isinstance(target, _Dtype) and state[1] in ("<", "|", "=") and state[2:5] == (None, None, None):
            return
        else:
            raise _Other

    def set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise _Other
        target.update(zip(items[::2], items[1::2], strict=True))


def _pushes(make: Callable[[_Machine], Any]) -> Callable[[_Machine], None]:
    return lambda m: m.stack.append(make(m))


def _remembers(find: Callable[[_Machine], int]) -> Callable[[_Machine], None]:
    def action(m: _Machine) -> None:
        m.memo[find(m)] = m.stack[-1]

    return action


def _takes_names(m: _Machine) -> None:
    module, name = m.pop(2)
    m.name(module, name)


_ACTIONS: dict[bytes, Callable[[_Machine], Any]] = {
    b"\x80": lambda m: m._read(1),
    b"\x95": lambda m: m._read(8),
    b"}": _pushes(lambda m: {}),
    b")": _pushes(lambda m: ()),
    b"(": _pushes(lambda m: _MARK),
    b"N": _pushes(lambda m: None),
    b"\x88": _pushes(lambda m: True),
    b"\x89": _pushes(lambda m: False),
    b"K": _pushes(lambda m: m.number("<B")),
    b"M": _pushes(lambda m: m.number("<H")),
    b"J": _pushes(lambda m: m.number("<i")),
    b"\x8a": _pushes(lambda m: int.from_bytes(m._read(m.number("<B")), "little", signed=True)),
    b"X": lambda m: m.string("<I", True),
    b"\x8c": lambda m: m.string("<B", True),
    b"\x8d": lambda m: m.string("<Q", True),
    b"B": lambda m: m.string("<I", False),
    b"C": lambda m: m.string("<B", False),
    b"\x8e": lambda m: m.string("<Q", False),
    b"q": _remembers(lambda m: m.number("<B")),
    b"r": _remembers(lambda m: m.number("<I")),
    b"\x94": _remembers(lambda m: len(m.memo)),
    b"h": _pushes(lambda m: m.memo[m.number("<B")]),
    b"j": _pushes(lambda m: m.memo[m.number("<I")]),
    b"c": lambda m: m.name(m.line(), m.line()),
    b"\x93": _takes_names,
    b"t": _pushes(lambda m: tuple(m.to_mark())),
    b"\x85": _pushes(lambda m: tuple(m.pop(1))),
    b"\x86": _pushes(lambda m: tuple(m.pop(2))),
    b"\x87": _pushes(lambda m: tuple(m.pop(3))),
    b"R": lambda m: m.reduce(),
    b"b": lambda m: m.build(),
    b"s": lambda m: m.set_items(m.pop(2)),
    b"u": lambda m: m.set_items(m.to_mark()),
}

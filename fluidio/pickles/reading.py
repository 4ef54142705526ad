"""Read pickles with or without trust."""

from __future__ import annotations

import io
import pickle
from typing import IO, Any, Literal

import numpy as np

from fluidio.errors import UnsafePickleError
from fluidio.pickles.opcodes import scan
from fluidio.pickles.quick import read
from fluidio.pickles.standins import Names, StandIn, refuse
from fluidio.pickles.unwrapping import unwrap

__all__ = ["Encoding", "load", "loads"]

Encoding = Literal["ASCII", "bytes", "latin1", "utf-8"]


def loads(
    data: bytes | bytearray | memoryview,
    allow_pickle: bool = False,
    *,
    encoding: Encoding = "latin1",
    source: str = "",
) -> Any:
    """Return the object in `data`.

    Args:
        data: one pickle, of any protocol, from Python 2 or 3.
        allow_pickle: accept any class and function; only for data you trust, it can run any code.
        encoding: how Python 2's byte strings become text; "bytes" leaves them as they are.
        source: the file's name, for error texts.
    """
    return _read(bytes(data), allow_pickle, encoding, source)[0]


def load(file: IO[bytes], allow_pickle: bool = False, *, encoding: Encoding = "latin1", source: str = "") -> Any:
    """Return the next object of a binary file and leave the file positioned after it."""
    if not source:
        source = str(getattr(file, "name", ""))
    # A length word in a damaged pickle may request petabytes: only a buffer of the bytes that exist is safe.
    if not file.seekable():
        return _read(file.read(), allow_pickle, encoding, source)[0]
    start = file.tell()
    value, size = _read(file.read(), allow_pickle, encoding, source)
    file.seek(start + size)
    return value


def _read(data: bytes, allow_pickle: bool, encoding: Encoding, source: str) -> tuple[Any, int]:
    """Return the first object in `data` and how many bytes it took."""
    where = f"{source}: " if source else ""
    if not data:
        raise EOFError(f"{where}no pickle found: the data is empty")
    try:
        return _trust(data, encoding) if allow_pickle else _check(data, encoding)
    except UnsafePickleError as error:
        raise UnsafePickleError(f"{where}{error}") from None
    except Exception as error:
        if allow_pickle and not isinstance(error, pickle.UnpicklingError | EOFError):
            raise
        raise pickle.UnpicklingError(
            f"{where}not a whole, sound pickle ({type(error).__name__}: {error}); the data is damaged or cut"
        ) from error


def _trust(data: bytes, encoding: Encoding) -> tuple[Any, int]:
    buffer = io.BytesIO(data)
    value = _TrustingUnpickler(buffer, encoding=encoding).load()
    return value, buffer.tell()


_names = Names()


def _check(data: bytes, encoding: Encoding) -> tuple[Any, int]:
    size = scan(data)
    quick = read(data)
    if quick is not None:
        return quick[0], size
    framed = data[1] >= 4 and data[0] == 0x80  # since protocol 4, pickles themselves say how much to read at once
    unpickler = _DataUnpickler(io.BytesIO(data) if framed else _Peekable(data), encoding=encoding)
    unpickler.has_standins = False
    budget, unpickler.names = _names.both
    outer, budget.left = budget.left, 3 * size + 64  # a finalizer or signal handler may unpickle meanwhile
    try:
        value = unpickler.load()
        return (unwrap(value) if unpickler.has_standins else value), size
    finally:
        budget.left = outer


class _Peekable(io.BytesIO):
    """Bytes that the unpickler reads a page at a time instead of requesting each number."""

    def peek(self, size: int) -> memoryview:
        start = self.tell()
        return self.getbuffer()[start : start + size]


_PYTHON2_MODULES = {"__builtin__": "builtins", "copy_reg": "copyreg"}


def _modern(module: str) -> str:
    """Return today's name of a module named in a pickle of any age."""
    if module.startswith("numpy.core.") and not hasattr(np, "_core"):
        return module
    if module.startswith("numpy.core."):
        return module.replace("numpy.core.", "numpy._core.", 1)
    if module.startswith("numpy._core.") and not hasattr(np, "_core"):
        return module.replace("numpy._core.", "numpy.core.", 1)
    return _PYTHON2_MODULES.get(module, module)


class _TrustingUnpickler(pickle.Unpickler):
    """Accept everything, after translating old module names."""

    def find_class(self, module: str, name: str) -> Any:
        return super().find_class(_modern(module), name)


class _DataUnpickler(pickle.Unpickler):
    """Accept only data."""

    __slots__ = ("has_standins", "names")

    names: dict[tuple[str, str], StandIn]
    has_standins: bool

    def find_class(self, module: str, name: str) -> StandIn:
        self.has_standins = True
        try:
            return self.names[module, name]
        except KeyError:
            refuse(module, name)

    def persistent_load(self, pid: object) -> Any:
        raise UnsafePickleError("the pickle refers to an object outside itself (a persistent id)")

"""pickle in Python 2 modules: files opened as text, and pickles written by Python 2."""

from __future__ import annotations

import codecs
import io
import pickle
from typing import Any

from fluidio.paddle.capsule.old_strings import ByteText, EncodedText, as_bytes, bytes_of

__all__ = ["Pickler", "Unpickler", "dump", "dumps", "load", "loads"]


class _Plain:
    """A file whose reads are plain bytes."""

    def __init__(self, file: Any) -> None:
        self._file = file
        for name in ("seek", "tell"):
            if hasattr(file, name):
                setattr(self, name, getattr(file, name))

    def read(self, size: int = -1) -> bytes:
        return bytes(as_bytes(self._file.read(size)))

    def readline(self) -> bytes:
        return bytes(as_bytes(self._file.readline()))


def _binary(file: object) -> Any:
    inner = getattr(file, "buffer", file)
    return inner if type(inner) in (io.BytesIO, io.BufferedReader) else _Plain(inner)


def _decoded(self: object, value: bytes) -> str | ByteText:
    """Return a Python 2 string as text if it is ASCII, else as bytes that behave as text."""
    return value.decode() if value.isascii() else ByteText(value)


def _encode(text: str, encoding: str = "utf-8", *args: str) -> object:
    """Return codecs.encode(...), by which pickles of Python 3 make strings."""
    found: Any = codecs.encode(text, encoding, *args)
    return ByteText(found) if isinstance(found, bytes) else found


class _Fast(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        return _encode if (module, name) == ("_codecs", "encode") else super().find_class(module, name)


# The pure-Python unpickler calls `_decode_string` for each string of Python 2.
_Python: Any = vars(pickle)["_Unpickler"]


def _find_class(self: object, module: str, name: str) -> object:
    """Return what a pickle names."""
    return _encode if (module, name) == ("_codecs", "encode") else _Python.find_class(self, module, name)


_Reader: Any = type("_Reader", (_Python,), {"_decode_string": _decoded, "find_class": _find_class})


def load(file: Any) -> Any:
    """Return the object in a file."""
    stream = _binary(file)
    start = stream.tell() if hasattr(stream, "seek") else None
    if start is None:
        return _Reader(stream).load()
    try:
        return _Fast(stream).load()
    except UnicodeDecodeError:
        stream.seek(start)  # a string of Python 2 that is not ASCII, such as an array's data
    return _Reader(stream).load()


def loads(data: Any) -> object:
    """Return the object in a string."""
    return load(io.BytesIO(as_bytes(data)))


def dump(obj: object, file: object, protocol: int | None = None) -> None:
    """Write an object to a file, opened as text or not."""
    Pickler(file, protocol).dump(obj)


def dumps(obj: object, protocol: int | None = None) -> object:
    """Return an object as a pickle that Python 2 can read."""
    buffer = io.BytesIO()
    Pickler(buffer, protocol).dump(obj)
    return ByteText(buffer.getvalue())


class _TwoWay(pickle.Pickler):
    """Write strings with bytes outside ASCII so that both Pythons read them."""

    def reducer_override(self, obj: object) -> Any:
        if isinstance(obj, (EncodedText, ByteText)):
            return codecs.encode, (bytes_of(obj).decode("latin-1"), "latin1")
        return NotImplemented


def Pickler(file: Any, protocol: int | None = None) -> Any:
    """Return a pickler that writes what Python 2 can read."""
    number = 0 if protocol is None else protocol
    return _TwoWay(getattr(file, "buffer", file), 2 if number < 0 else min(number, 2))


def Unpickler(file: object) -> object:
    """Return an unpickler of what Python 2 wrote."""
    return _Reader(_binary(file))

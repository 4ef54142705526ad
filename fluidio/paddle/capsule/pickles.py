"""pickle in Python 2 modules: files opened as text, and pickles written by Python 2."""

from __future__ import annotations

import io
import pickle
from typing import Any

from fluidio.paddle.capsule.text import ByteText

__all__ = ["dump", "load", "loads"]


def _binary(file: object) -> Any:
    inner = getattr(file, "buffer", file)
    return inner.raw if isinstance(inner, io.BufferedReader) and type(inner) is not io.BufferedReader else inner


def _decoded(self: object, value: bytes) -> str | ByteText:
    """Return a Python 2 string as text if it is ASCII, else as bytes that behave as text."""
    return value.decode() if value.isascii() else ByteText(value)


# The pure-Python unpickler calls this for each string.
_Unpickler: Any = type("_Unpickler", (vars(pickle)["_Unpickler"],), {"_decode_string": _decoded})


def load(file: Any) -> Any:
    """Return the object in a file."""
    stream = _binary(file)
    stream = stream if hasattr(stream, "readline") else file
    start = stream.tell() if hasattr(stream, "seek") else None
    if start is None:
        return _Unpickler(stream).load()
    try:
        return pickle.load(stream)
    except UnicodeDecodeError:
        stream.seek(start)  # a string of Python 2 that is not ASCII, such as an array's data
    return _Unpickler(stream).load()


def loads(data: Any) -> Any:
    """Return the object in a string."""
    return load(io.BytesIO(data.encode("latin1") if isinstance(data, str) else data))


def dump(obj: Any, file: Any, protocol: int | None = None) -> None:
    """Write an object to a file, opened as text or not."""
    pickle.dump(obj, getattr(file, "buffer", file), 2 if protocol in (None, -1) else protocol)

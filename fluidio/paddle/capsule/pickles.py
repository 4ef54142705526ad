"""pickle in Python 2 modules: files opened as text, and what Python 2 has pickled."""

from __future__ import annotations

import io
import pickle
from typing import Any

__all__ = ["dump", "load", "loads"]


def _binary(file: object) -> Any:
    inner = getattr(file, "buffer", file)
    return inner.raw if isinstance(inner, io.BufferedReader) and type(inner) is not io.BufferedReader else inner


def load(file: Any) -> Any:
    """Return the object in a file; text that Python 2 pickled is read as latin1, as its arrays need."""
    stream = _binary(file)
    return pickle.load(stream if hasattr(stream, "readline") else file, encoding="latin1")


def loads(data: Any) -> Any:
    """Return the object in a string."""
    return pickle.loads(data.encode("latin1") if isinstance(data, str) else data, encoding="latin1")


def dump(obj: Any, file: Any, protocol: int | None = None) -> None:
    """Write an object to a file, opened as text or not."""
    pickle.dump(obj, getattr(file, "buffer", file), 2 if protocol in (None, -1) else protocol)

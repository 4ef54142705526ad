"""json with the former argument `encoding`, and of Python 2's strings."""

from __future__ import annotations

import json
from typing import Any

from fluidio.paddle.capsule.old_strings import ByteText, as_text, bytes_of, is_old

__all__ = ["dump", "dumps", "load", "loads"]


def load(fp: Any, *args: Any, encoding: str | None = None, **kwargs: object) -> object:
    """Return the value in a file."""
    return loads(fp.read(), *args, encoding=encoding, **kwargs)


def loads(s: Any, *args: Any, encoding: str | None = None, **kwargs: Any) -> Any:
    """Return the value in a string."""
    return json.loads(s.decode(encoding) if encoding and isinstance(s, bytes) else s, *args, **kwargs)


def dump(obj: Any, fp: Any, *args: object, **kwargs: Any) -> None:
    """Write a value to a file."""
    fp.write(dumps(obj, *args, **kwargs))


def dumps(obj: Any, *args: Any, encoding: str | None = None, **kwargs: Any) -> str:
    """Return a value as text."""
    if kwargs.get("indent") is not None and kwargs.get("separators") is None:
        kwargs["separators"] = (", ", ": ")  # with a space at the end of lines
    found = json.dumps(_plain(obj), *args, **kwargs)
    return found if found.isascii() or not _has_old(obj) else as_text(bytes_of(found))


def _parts(value: Any) -> Any:
    if isinstance(value, dict):
        return (*value.keys(), *value.values())
    return value if isinstance(value, (list, tuple)) else ()


def _has_old(value: object) -> bool:
    return is_old(value) or any(map(_has_old, _parts(value)))


def _plain(value: Any) -> Any:
    """Return a value with bytes as text."""
    if isinstance(value, ByteText):
        return str(value)
    if isinstance(value, dict) and any(isinstance(part, (ByteText, dict, list, tuple)) for part in _parts(value)):
        return type(value)((_plain(key), _plain(part)) for key, part in value.items())
    return list(map(_plain, value)) if type(value) in (list, tuple) else value

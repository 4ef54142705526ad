"""json with its former argument `encoding`."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["dump", "dumps", "load", "loads"]


def load(fp: Any, *args: Any, encoding: str | None = None, **kwargs: Any) -> Any:
    """Return the value in a file."""
    return loads(fp.read(), *args, encoding=encoding, **kwargs)


def loads(s: Any, *args: Any, encoding: str | None = None, **kwargs: Any) -> Any:
    """Return the value in a string."""
    return json.loads(s.decode(encoding) if encoding and isinstance(s, bytes) else s, *args, **kwargs)


def dump(obj: Any, fp: Any, *args: Any, encoding: str | None = None, **kwargs: Any) -> None:
    """Write a value to a file."""
    json.dump(obj, fp, *args, **kwargs)


def dumps(obj: Any, *args: Any, encoding: str | None = None, **kwargs: Any) -> str:
    """Return a value as text."""
    return json.dumps(obj, *args, **kwargs)

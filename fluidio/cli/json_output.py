"""What `--json` prints: JSON that every parser reads."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

__all__ = ["json_text"]


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return plain values as JSON.

    JSON has no NaN and no infinities: they become "NaN", "Infinity" and "-Infinity", which Python's float() and
    JavaScript's Number() read. Text is escaped where the output is not UTF-8.
    """
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return json.dumps(_finite(value), ensure_ascii=not unicode, indent=indent, allow_nan=False)


def _finite(value: object) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value

"""Python 2's StringIO and cStringIO: buffers that hold text or bytes, whatever is written first."""

from __future__ import annotations

import io
from typing import Any

__all__ = ["StringIO"]


def StringIO(buffer: object = None) -> Any:
    """Return a buffer over bytes or text; an empty one takes either."""
    if isinstance(buffer, bytes):
        return io.BytesIO(buffer)
    return io.StringIO(buffer) if isinstance(buffer, str) and buffer else _Either()


class _Either(io.BytesIO):
    """An empty buffer: bytes until text is written to it."""

    _is_text = False

    def write(self, data: Any, /) -> int:
        self._is_text = self._is_text or isinstance(data, str)
        return super().write(data.encode() if isinstance(data, str) else data)

    def getvalue(self) -> Any:
        return super().getvalue().decode() if self._is_text else super().getvalue()

"""Python 2's StringIO and cStringIO: buffers that hold text or bytes, depending on the first write."""

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

    def _as_written(self, data: bytes) -> str | bytes:
        return data.decode("utf-8", "surrogateescape") if self._is_text else data

    def write(self, data: Any, /) -> int:
        self._is_text = self._is_text or isinstance(data, str)
        return super().write(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)

    def getvalue(self) -> Any:
        return self._as_written(super().getvalue())

    def read(self, size: int | None = -1, /) -> Any:
        return self._as_written(super().read(size))

    def readline(self, size: int | None = -1, /) -> Any:
        return self._as_written(super().readline(size))

    def readlines(self, hint: int | None = None, /) -> Any:
        return list(self)

    def __next__(self) -> Any:
        return self._as_written(super().__next__())

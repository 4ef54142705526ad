"""Python 2's StringIO and cStringIO: buffers that hold text or bytes, depending on what is written."""

from __future__ import annotations

import io
from typing import Any

from fluidio.paddle.capsule.old_strings import ByteText, as_bytes, as_text, is_unicode

__all__ = ["StringIO", "binary_view"]


def StringIO(buffer: Any = None) -> Any:
    """Return a buffer over bytes or text; an empty one takes either."""
    if is_unicode(buffer):
        return _Unicode(buffer)
    found = _Either(b"" if buffer is None else as_bytes(buffer))
    found.is_text = isinstance(buffer, str) and bool(buffer)
    return found


class _Unicode(io.StringIO):
    """A buffer of unicode."""

    @property
    def len(self) -> int:
        """Return how many characters it holds."""
        return len(self.getvalue())

    def next(self) -> str:
        return next(self)


class _Either(io.BytesIO):
    """A buffer of Python 2 strings: bytes until text is written to it."""

    is_text = False
    softspace = 0

    def _as_written(self, data: bytes) -> Any:
        return as_text(data) if self.is_text else ByteText(data)

    @property
    def len(self) -> int:
        """Return how many bytes it holds."""
        return self.getbuffer().nbytes

    def reset(self) -> None:
        """Go back to the start."""
        self.seek(0)

    def write(self, data: Any, /) -> int:
        self.is_text = self.is_text or isinstance(data, str)
        return super().write(as_bytes(data))

    def writelines(self, lines: Any, /) -> None:
        for line in lines:
            self.write(line)

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

    next = __next__


def binary_view(file: Any) -> Any:
    """Return the rest of a StringIO as a file of bytes, for libraries that copy it; any other file unchanged."""
    return io.BytesIO(as_bytes(file.read())) if isinstance(file, (_Either, _Unicode)) else file

"""Names and texts of foreign files on a terminal: what would move the cursor or reorder text is shown, never sent."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from typing import IO, Any

__all__ = ["bytes_text", "one_line", "readable", "readable_output", "several", "span"]

# Control characters but tab and newline, marks that turn the direction of text, bytes of file names that are not UTF-8.
_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def readable(text: str) -> str:
    """Return a text with \\u001b and the like in place of what a terminal would obey; valid in JSON too."""
    return _UNREADABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str) -> str:
    """Return a readable text that cannot pretend to be several lines."""
    return readable(text.replace("\n", "\\n"))


def several(count: int, noun: str) -> str:
    """Return "1 record", "2 records"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def span(fewest: int, most: int) -> str:
    """Return "5" or "5 to 6"."""
    return f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"


def bytes_text(size: int) -> str:
    """Return a number of bytes with three or four digits."""
    number = float(size)
    for unit in ("bytes", "KB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            break
        number /= 1000
    return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"


@contextlib.contextmanager
def readable_output() -> Iterator[None]:
    """Let stdout and stderr show readable text in this block, also where their encoding has no such character."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Readable(before[0]), _Readable(before[1])
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class _Readable:
    """A text stream that shows what it would otherwise send; `unfiltered` is the stream itself."""

    def __init__(self, stream: IO[str]) -> None:
        self.unfiltered = stream

    def write(self, text: str) -> int:
        shown = readable(text)
        try:
            return self.unfiltered.write(shown)
        except UnicodeEncodeError as error:
            return self.unfiltered.write(shown.encode(error.encoding, "backslashreplace").decode(error.encoding))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)

"""The print statement of Python 2, and print() of modules that import it from the future."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from fluidio.paddle.capsule.display import to_text
from fluidio.paddle.capsule.old_strings import bytes_of, is_unicode

__all__ = ["print_line", "print_values", "write_out"]


def _shown(value: object) -> str:
    return str(value) if is_unicode(value) else str.__str__(to_text(value))


def _wait(stream: Any, waits: bool) -> None:
    """Say whether the next print statement begins with a space, as after one that ends in a comma."""
    with contextlib.suppress(AttributeError):
        stream.softspace = int(waits)


def print_values(*values: Any, **options: Any) -> None:
    """Print values as the function of Python 2.7 does."""
    print(*map(_shown, values), **options)


def print_line(*values: Any, end: str = "\n", file: Any = None) -> None:
    """Print values as the statement does; `end` is a space if it ends in a comma."""
    stream = sys.stdout if file is None else file
    waiting = bool(getattr(stream, "softspace", 0))
    for value in values:
        text = _shown(value)
        stream.write(f" {text}" if waiting else text)
        waiting = not (isinstance(value, (str, bytes)) and text and text[-1] in "\t\n\r\x0b\x0c")
    if end == "\n":
        stream.write("\n")
    _wait(stream, waiting and end != "\n")


def write_out(text: Any) -> object:
    """Call sys.stdout.write(text)."""
    _wait(sys.stdout, False)
    return sys.stdout.write(bytes_of(text).decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text)

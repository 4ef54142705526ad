"""The encoding that a source file declares: `# -*- coding: gbk -*-`."""

from __future__ import annotations

import codecs
import importlib.util
import re

__all__ = ["encoding_of", "read_source", "without_cookie"]

_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+).*$")


def encoding_of(text: str) -> str:
    """Return the encoding that one of the first two lines declares; without one, UTF-8."""
    for line in text.splitlines()[:2]:
        found = _COOKIE.match(line)
        if found:
            try:
                return codecs.lookup(found[1]).name
            except LookupError:
                return "utf-8"
    return "utf-8"


def read_source(data: bytes) -> str:
    """Return the text of a source file in the encoding that it declares, with marks where it does not keep to it."""
    try:
        return importlib.util.decode_source(data)
    except (SyntaxError, UnicodeDecodeError):
        return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def without_cookie(text: str) -> str:
    """Return a text that is written in UTF-8 from now on: what declared another encoding says so."""
    if encoding_of(text) == "utf-8":
        return text
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines[:2]):
        found = _COOKIE.match(line)
        if found:
            lines[index] = line[: found.start(1)] + "utf-8" + line[found.end(1) :]
            break
    return "".join(lines)

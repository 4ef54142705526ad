"""Regular expressions of Python 2: on strings they match bytes, and \\w and others are ASCII without re.UNICODE."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fluidio.paddle.capsule.old_strings import as_text, bytes_of, is_old, is_unicode

__all__ = ["compile", "findall", "finditer", "match", "search", "split", "sub", "subn"]


def _latin(value: object) -> Any:
    """Return text with one character for each byte."""
    return value if not isinstance(value, (str, bytes)) or is_unicode(value) else bytes_of(value).decode("latin-1")


def _back(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_back, value))
    return as_text(value.encode("latin-1")) if isinstance(value, str) else value


class _Match:
    """A match in the bytes of a string."""

    def __init__(self, found: Any, pattern: _Pattern, string: Any) -> None:
        self._found = found
        self.re = pattern
        self.string = string

    def group(self, *groups: object) -> object:
        return _back(self._found.group(*groups))

    def groups(self, default: object = None) -> object:
        return _back(self._found.groups(default))

    def groupdict(self, default: object = None) -> dict[str, Any]:
        return {name: _back(value) for name, value in self._found.groupdict(default).items()}

    def expand(self, template: object) -> object:
        return _back(self._found.expand(_latin(template)))

    def __getattr__(self, name: str) -> object:
        return getattr(self._found, name)


class _Pattern:
    """A compiled pattern."""

    def __init__(self, pattern: object, flags: int) -> None:
        form = _latin(pattern) if is_old(pattern) else str(pattern)
        wide = flags & re.UNICODE or re.search(r"\(\?[aiLmsx]*u", form)
        self._compiled = re.compile(form, flags if wide else flags | re.ASCII)
        self._is_old = is_old(pattern)
        self.pattern = pattern
        self.flags = flags

    def _in_bytes(self, *texts: object) -> bool:
        return not any(map(is_unicode, texts)) and (self._is_old or any(map(is_old, texts)))

    def _one(self, name: str, string: object, args: tuple[object, ...]) -> object:
        find = getattr(self._compiled, name)
        if not self._in_bytes(string):
            return find(str(string), *args)
        found = find(_latin(string), *args)
        return found and _Match(found, self, string)

    def match(self, string: object, *args: object) -> object:
        return self._one("match", string, args)

    def search(self, string: object, *args: object) -> object:
        return self._one("search", string, args)

    def findall(self, string: object, *args: Any) -> Any:
        if self._in_bytes(string):
            return _back(self._compiled.findall(_latin(string), *args))
        return self._compiled.findall(str(string), *args)

    def finditer(self, string: object, *args: Any) -> Iterator[Any]:
        if not self._in_bytes(string):
            return self._compiled.finditer(str(string), *args)
        return (_Match(found, self, string) for found in self._compiled.finditer(_latin(string), *args))

    def split(self, string: object, maxsplit: int = 0) -> list[object]:
        in_bytes = self._in_bytes(string)
        text = _latin(string) if in_bytes else str(string)
        parts = self._filled(text, maxsplit)
        return list(map(_back, parts)) if in_bytes else parts

    def _filled(self, text: str, maxsplit: int) -> list[object]:
        """Split at matches that are not empty: Python 2 did not split at others."""
        parts: list[Any] = []
        done = 0
        for found in self._compiled.finditer(text):
            if found.end() > found.start() and not (maxsplit and len(parts) // (1 + self.groups) >= maxsplit):
                parts += [text[done : found.start()], *found.groups()]
                done = found.end()
        return [*parts, text[done:]]

    def subn(self, repl: object, string: object, count: int = 0) -> tuple[object, int]:
        texts = (string,) if callable(repl) else (repl, string)
        if not self._in_bytes(*texts):
            return self._compiled.subn(repl if callable(repl) else str(repl), str(string), count)
        if callable(repl):
            given = repl
            repl = lambda found: _latin(given(_Match(found, self, string)))  # noqa: E731
        text, times = self._compiled.subn(_latin(repl), _latin(string), count)
        return _back(text), times

    def sub(self, repl: object, string: object, count: int = 0) -> object:
        return self.subn(repl, string, count)[0]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)

    def __reduce__(self) -> tuple[object, ...]:
        return compile, (self.pattern, self.flags)


_known: dict[tuple[Any, type, int], _Pattern] = {}


def compile(pattern: object, flags: int = 0) -> Any:
    """Return re.compile(pattern, flags)."""
    if isinstance(pattern, (_Pattern, re.Pattern)):
        return pattern
    key = (pattern, type(pattern), int(flags))
    if key not in _known:
        if len(_known) > 256:
            _known.clear()
        _known[key] = _Pattern(pattern, int(flags))
    return _known[key]


def match(pattern: Any, string: Any, flags: int = 0) -> object:
    """Return re.match(...)."""
    return compile(pattern, flags).match(string)


def search(pattern: object, string: object, flags: int = 0) -> object:
    """Return re.search(...)."""
    return compile(pattern, flags).search(string)


def findall(pattern: object, string: object, flags: int = 0) -> object:
    """Return re.findall(...)."""
    return compile(pattern, flags).findall(string)


def finditer(pattern: object, string: object, flags: int = 0) -> Iterator[object]:
    """Return re.finditer(...)."""
    found: Iterator[Any] = compile(pattern, flags).finditer(string)
    return found


def split(pattern: object, string: object, maxsplit: int = 0, flags: int = 0) -> object:
    """Return re.split(...)."""
    return compile(pattern, flags).split(string, maxsplit)


def sub(pattern: object, repl: object, string: object, count: int = 0, flags: int = 0) -> object:
    """Return re.sub(...)."""
    return compile(pattern, flags).sub(repl, string, count)


def subn(pattern: object, repl: object, string: object, count: int = 0, flags: int = 0) -> tuple[object, int]:
    """Return re.subn(...)."""
    found: tuple[Any, int] = compile(pattern, flags).subn(repl, string, count)
    return found

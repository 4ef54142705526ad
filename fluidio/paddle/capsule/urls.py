"""urllib's functions for Python 2's strings."""

from __future__ import annotations

from typing import Any
from urllib import parse

from fluidio.paddle.capsule.old_strings import ByteText, as_bytes, as_text

__all__ = ["quote", "quote_plus", "unquote", "unquote_plus", "urlencode"]


def quote(s: object, safe: str = "/") -> str:
    """Return urllib.quote(...)."""
    return parse.quote_from_bytes(bytes(as_bytes(s)), safe)


def quote_plus(s: object, safe: str = "") -> str:
    """Return urllib.quote_plus(...)."""
    return quote(s, f"{safe} ").replace(" ", "+")


def unquote(s: str) -> str:
    """Return urllib.unquote(...)."""
    return as_text(parse.unquote_to_bytes(s))


def unquote_plus(s: str) -> str:
    """Return urllib.unquote_plus(...)."""
    return unquote(s.replace("+", " "))


def urlencode(query: Any, doseq: bool = False) -> str:
    """Return urllib.urlencode(...)."""
    pairs = query.items() if hasattr(query, "items") else query
    return parse.urlencode([(_plain(name), _plain(value)) for name, value in pairs], doseq)


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, ByteText) else value

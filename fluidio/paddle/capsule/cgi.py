"""The one function of `cgi` that scripts use; Python 3.13 removed the module."""

from __future__ import annotations

import html

__all__ = ["escape"]


def escape(s: str, quote: bool = False) -> str:
    """Escape &, < and >; quotes only if asked."""
    return html.escape(s, quote)

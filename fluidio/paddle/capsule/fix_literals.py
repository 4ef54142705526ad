"""Texts of Python 2 for fissix: `ur''`, and backslashes that were no escapes.

Its own fixer renames as well, and `unichr` is not Python 2's `chr`; names are the table's matter.
"""

from __future__ import annotations

from typing import Any

from fissix.fixes.fix_unicode import FixUnicode

__all__ = ["FixLiterals"]

FixLiterals: Any = type("FixLiterals", (FixUnicode,), {"PATTERN": "STRING"})

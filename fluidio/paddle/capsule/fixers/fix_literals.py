"""Texts of Python 2: `ur''`, and backslashes that were no escapes; names such as `unichr` are the table's matter."""

from __future__ import annotations

from fissix.fixes.fix_unicode import FixUnicode

__all__ = ["FixLiterals"]

# fissix's fixer of texts without its renaming: `unichr` is not Python 2's `chr`.
FixLiterals = type("FixLiterals", (FixUnicode,), {"PATTERN": "STRING"})

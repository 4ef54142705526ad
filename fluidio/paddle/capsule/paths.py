"""Functions of os.path, whose results are Python 2 strings if their arguments are."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from fluidio.paddle.capsule.old_strings import as_text, bytes_of, is_old

__all__ = ["abspath", "basename", "dirname", "join", "normpath", "split", "splitext"]


def _old(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_old, value))
    return as_text(bytes_of(value))


def _of(function: Callable[..., Any]) -> Callable[..., Any]:
    def with_strings(*paths: Any) -> Any:
        found = function(*(str(path) if isinstance(path, bytes) else path for path in paths))
        return _old(found) if any(map(is_old, paths)) else found

    return with_strings


abspath = _of(os.path.abspath)
basename = _of(os.path.basename)
dirname = _of(os.path.dirname)
join = _of(os.path.join)
normpath = _of(os.path.normpath)
split = _of(os.path.split)
splitext = _of(os.path.splitext)

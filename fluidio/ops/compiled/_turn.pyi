"""Copies in another order in C; the module may be missing."""

from typing import Any

from typing_extensions import Buffer

def copy(x: Any, out: Buffer, threads: int, /) -> bool: ...

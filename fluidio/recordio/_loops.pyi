"""The compiled half of loops.py; it may be missing."""

from collections.abc import Callable
from typing import Any

from typing_extensions import Buffer

def walk(payload: Buffer, edges: Buffer, /) -> int: ...
def prefixes(
    payload: Buffer,
    at: Buffer,
    ends: Buffer,
    before: Buffer,
    has_lod: bool,
    start: Buffer,
    tail: Buffer,
    row_size: int,
    rows: Buffer,
    firsts: Buffer,
    lasts: Buffer,
    /,
) -> bool: ...
def join(payload: Buffer, starts: Buffer, stops: Buffer, target: Buffer, /) -> None: ...
def pick(payloads: tuple[Buffer, ...], which: Buffer, starts: Buffer, stops: Buffer, target: Buffer, /) -> None: ...
def copy(payload: Buffer, first: int, stride: int, size: int, target: Buffer, at: int, count: int, /) -> None: ...
def putter(table: Buffer, otherwise: Callable[[int, Any], object], /) -> Callable[[int, Any], object]: ...

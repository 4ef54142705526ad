"""Sums and maxima over sequences in C; the module may be missing."""

from typing_extensions import Buffer

def instructions(bits: int, /) -> int: ...
def sums(
    x: Buffer,
    columns: int,
    offsets: Buffer,
    factors: Buffer | None,
    pad: float,
    out: Buffer,
    least: int,
    threads: int,
    /,
) -> None: ...
def maxima(
    x: Buffer, columns: int, offsets: Buffer, pad: float, out: Buffer, index: Buffer, least: int, threads: int, /
) -> None: ...
def repeat(
    each: Buffer, columns: int, offsets: Buffer, factors: Buffer | None, rows: Buffer, least: int, threads: int, /
) -> None: ...
def place(
    each: Buffer, columns: int, offsets: Buffer, index: Buffer, rows: Buffer, least: int, threads: int, /
) -> None: ...

"""Largest elements and means of the cells of regions in C; the module may be missing."""

from typing_extensions import Buffer

def instructions(bits: int, /) -> int: ...
def pool(
    x: Buffer,
    image: Buffer,
    edges: Buffer,
    out: Buffer,
    where: Buffer,
    sizes: tuple[int, int, int, int, int, int],
    begin: int,
    end: int,
    /,
) -> None: ...
def means(
    x: Buffer,
    image: Buffer,
    edges: Buffer,
    out: Buffer,
    sizes: tuple[int, int, int, int, int, int],
    spreads: bool,
    /,
) -> None: ...

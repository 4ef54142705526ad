"""Means of samples in the cells of regions in C; the module may be missing."""

from collections.abc import Sequence

from typing_extensions import Buffer

def align(
    x: Buffer,
    image: Buffer,
    boxes: Buffer,
    out: Buffer,
    sizes: Sequence[int],
    ratio: int,
    spreads: bool,
    threads: int,
    /,
) -> None: ...

"""Samples between pixels in C; the module may be missing."""

from collections.abc import Sequence

from typing_extensions import Buffer

def instructions(bits: int, /) -> int: ...
def read(
    x: Buffer, offset: Buffer, mask: Buffer | None, columns: Buffer, sizes: Sequence[int], threads: int, /
) -> None: ...
def spread(
    x: Buffer,
    offset: Buffer,
    mask: Buffer | None,
    columns: Buffer,
    dx: Buffer,
    doffset: Buffer,
    dmask: Buffer | None,
    sizes: Sequence[int],
    threads: int,
    /,
) -> None: ...

"""Products of matrices in C; the module may be missing."""

from typing_extensions import Buffer

def instructions(bits: int, /) -> int: ...
def multiply(
    a: Buffer,
    b: Buffer,
    out: Buffer,
    sizes: tuple[int, int, int],
    turned: tuple[bool, bool],
    images: tuple[int, int, int],
    worth: int,
    threads: int,
    /,
) -> None: ...
def multiply_each(a: Buffer, b: Buffer, out: Buffer, worth: int, threads: int, /) -> None: ...

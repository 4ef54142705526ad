"""The updates of more optimizers in C; the module may be missing."""

from collections.abc import Sequence

from typing_extensions import Buffer

NAMES: tuple[str, ...]

def instructions(bits: int, /) -> int: ...
def scaled(
    number: int,
    param: Buffer,
    grad: Buffer,
    u: Buffer,
    v: Buffer | None,
    w: Buffer | None,
    numbers: Sequence[float],
    least: int,
    threads: int,
    /,
) -> None: ...

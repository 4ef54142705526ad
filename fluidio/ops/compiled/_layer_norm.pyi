"""Layer normalisation in C; the module may be missing."""

from typing_extensions import Buffer

def instructions(bits: int, /) -> int: ...
def layer_norm(
    x: Buffer,
    scale: Buffer | None,
    bias: Buffer | None,
    y: Buffer,
    mean: Buffer,
    variance: Buffer,
    sizes: tuple[int, int],
    epsilon: float,
    least: int,
    threads: int,
    /,
) -> None: ...
def layer_norm_grad(
    x: Buffer,
    scale: Buffer | None,
    mean: Buffer,
    variance: Buffer,
    dy: Buffer,
    dx: Buffer | None,
    sums: Buffer,
    sizes: tuple[int, int, int],
    epsilon: float,
    least: int,
    threads: int,
    /,
) -> None: ...

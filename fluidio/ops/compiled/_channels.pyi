"""Batch normalisation, ReLU and max pooling in C; the module may be missing."""

from typing_extensions import Buffer

_Sizes = tuple[int, ...]

def instructions(bits: int, /) -> int: ...
def flush_denormals(bits: int, /) -> int | None: ...
def normalise(
    x: Buffer,
    other: Buffer | None,
    y: Buffer,
    scale: Buffer,
    bias: Buffer,
    mean: Buffer,
    variance: Buffer,
    inverse: Buffer,
    sizes: _Sizes,
    epsilon: float,
    relu: bool,
    least: int,
    threads: int,
    /,
) -> None: ...
def normalise_grad(
    x: Buffer,
    dy: Buffer,
    out: Buffer | None,
    dx: Buffer | None,
    scale: Buffer,
    mean: Buffer,
    inverse: Buffer,
    dscale: Buffer,
    dbias: Buffer,
    sizes: _Sizes,
    fixed: bool,
    least: int,
    threads: int,
    /,
) -> None: ...
def sum_channels(x: Buffer, sums: Buffer, sizes: tuple[int, int, int], least: int, threads: int, /) -> None: ...
def relu_grad(out: Buffer, dout: Buffer, dx: Buffer, least: int, threads: int, /) -> None: ...
def max_pool(x: Buffer, out: Buffer, windows: _Sizes, lowest: float, least: int, threads: int, /) -> None: ...
def max_pool_grad(
    x: Buffer, out: Buffer, dout: Buffer, dx: Buffer, windows: _Sizes, least: int, threads: int, /
) -> None: ...

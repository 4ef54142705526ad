"""Convolutions in C; the module may be missing."""

from typing_extensions import Buffer

_Sizes = tuple[int, ...]

def instructions(bits: int, /) -> int: ...
def correlate(
    images: Buffer,
    out: Buffer,
    filters: Buffer,
    taps: Buffer,
    groups: int,
    image_sizes: _Sizes,
    out_sizes: _Sizes,
    grid: _Sizes,
    target: _Sizes,
    strides: _Sizes,
    worth: int,
    threads: int,
    /,
) -> None: ...
def take_columns(
    images: Buffer, columns: Buffer, taps: Buffer, image_sizes: _Sizes, grid: _Sizes, worth: int, threads: int, /
) -> None: ...
def add_columns(
    columns: Buffer, images: Buffer, taps: Buffer, image_sizes: _Sizes, grid: _Sizes, worth: int, threads: int, /
) -> None: ...
def filter_gradient(
    images: Buffer,
    gradients: Buffer,
    out: Buffer,
    taps: Buffer,
    groups: int,
    image_sizes: _Sizes,
    out_sizes: _Sizes,
    grid: _Sizes,
    target: _Sizes,
    strides: _Sizes,
    worth: int,
    threads: int,
    /,
) -> None: ...

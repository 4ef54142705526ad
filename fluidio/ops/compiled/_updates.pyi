"""Updates of optimizers in C; the module may be missing."""

from typing_extensions import Buffer

def instructions(bits: int, /) -> int: ...
def momentum(
    param: Buffer,
    grad: Buffer,
    velocity: Buffer,
    numbers: tuple[float, float],
    nesterov: bool,
    least: int,
    threads: int,
    /,
) -> None: ...
def adam(
    param: Buffer,
    grad: Buffer,
    moment1: Buffer,
    moment2: Buffer,
    numbers: tuple[float, float, float, float, float, float],
    least: int,
    threads: int,
    /,
) -> None: ...
def adagrad(
    param: Buffer, grad: Buffer, moment: Buffer, rate: float, epsilon: float, least: int, threads: int, /
) -> None: ...
def adam_rows(
    param: Buffer,
    values: Buffer,
    moment1: Buffer,
    moment2: Buffer,
    rows: Buffer,
    numbers: tuple[float, float, float, float, float, float],
    width: int,
    least: int,
    threads: int,
    /,
) -> bool: ...

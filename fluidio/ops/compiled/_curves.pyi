"""Activations and their gradients in C; the module may be missing."""

from typing_extensions import Buffer

NAMES: tuple[str, ...]

def instructions(bits: int, /) -> int: ...
def curve(
    number: int, x: Buffer, d: Buffer | None, out: Buffer, a: float, b: float, c: float, least: int, threads: int, /
) -> None: ...

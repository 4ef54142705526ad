"""Random numbers in C; the module may be missing."""

from typing_extensions import Buffer

def uniform(out: Buffer, state: int, span: float, low: float, /) -> None: ...

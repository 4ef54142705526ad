"""The compiled half of fetch.py; it may be missing."""

from typing_extensions import Buffer

FAST: int

def crc32(data: Buffer, value: int = 0, bits: int = 512, /) -> int: ...
def rows(
    fd: int,
    offset: int,
    records: int,
    stride: int,
    same: tuple[tuple[int, Buffer], ...],
    columns: tuple[tuple[int, Buffer], ...],
    scratch: Buffer,
    /,
) -> int | None: ...
def ragged(
    fd: int,
    offset: int,
    size: int,
    records: int,
    tensors: tuple[tuple[object, ...], ...],
    scratch: Buffer,
    room: int,
    /,
) -> tuple[int, list[tuple[int, bool]]] | None: ...

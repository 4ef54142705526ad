"""The compiled half of opcodes.py; it may be missing."""

from typing_extensions import Buffer

def scan(data: Buffer, start: int, table: bytes, deepest: int, least_memo: int, /) -> int: ...

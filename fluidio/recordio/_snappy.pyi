"""The compiled half of compressors.py; it may be missing."""

from typing_extensions import Buffer

def decompress(stored: Buffer, blocks: Buffer, limit: int, target: Buffer, /) -> int: ...

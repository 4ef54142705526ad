"""Suppression of boxes in C; the module may be missing."""

from typing_extensions import Buffer

def keep_apart(boxes: Buffer, kept: Buffer, threshold: float, eta: float, normalized: bool, most: int, /) -> int: ...

"""Limit the decompressed size of a chunk: a few bytes of gzip can expand to gigabytes."""

from __future__ import annotations

import os

__all__ = ["chunk_limit", "set_chunk_limit"]

_USUAL_RATIO = 4  # a chunk that expands no more than this is always read, however large


def _from_environment() -> int:
    text = os.environ.get("FLUIDIO_CHUNK_LIMIT", "")
    if text and not text.isdigit():
        raise ValueError(f"FLUIDIO_CHUNK_LIMIT must be a number of bytes, got {text!r}")
    return int(text) if text else 1 << 30


_limit = _from_environment()


def set_chunk_limit(size: int) -> int:
    """Set the maximum decompressed size of a chunk in bytes; return the previous limit.

    The default is 1 GiB, or the value of the environment variable FLUIDIO_CHUNK_LIMIT. A chunk that expands to at most
    four times its stored size is always read.
    """
    global _limit
    if size < 1:
        raise ValueError(f"the limit must be at least 1 byte, got {size}")
    before, _limit = _limit, int(size)
    return before


def chunk_limit(stored: int) -> int:
    """Return the maximum decompressed size of a chunk of `stored` bytes."""
    return max(_limit, _USUAL_RATIO * stored)

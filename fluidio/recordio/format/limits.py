"""How large a compressed chunk may become: a few bytes of gzip unfold to gigabytes."""

from __future__ import annotations

import os

__all__ = ["chunk_limit", "set_chunk_limit"]

_USUAL_RATIO = 4  # a chunk that becomes no more than so many times its size is no trap, however large it is


def _from_environment() -> int:
    text = os.environ.get("FLUIDIO_CHUNK_LIMIT", "")
    if text and not text.isdigit():
        raise ValueError(f"FLUIDIO_CHUNK_LIMIT is a number of bytes, not {text!r}")
    return int(text) if text else 1 << 30


_limit = _from_environment()


def set_chunk_limit(size: int) -> int:
    """Set how many bytes a chunk may become when it is decompressed; return the limit there was.

    The default is 1 GiB, or what the environment variable FLUIDIO_CHUNK_LIMIT says. A chunk that becomes no more than
    four times its stored size is always read.
    """
    global _limit
    if size < 1:
        raise ValueError(f"the limit must be at least 1 byte, got {size}")
    before, _limit = _limit, int(size)
    return before


def chunk_limit(stored: int) -> int:
    """Return how many bytes a chunk of `stored` bytes may become."""
    return max(_limit, _USUAL_RATIO * stored)

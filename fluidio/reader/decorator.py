"""The names of `paddle.reader.decorator`."""

from __future__ import annotations

from fluidio.reader.multiprocess import multiprocess_reader
from fluidio.reader.pipe import PipeReader
from fluidio.reader.prefetch import buffered, xmap_readers
from fluidio.reader.simple import ComposeNotAligned, Fake, cache, chain, compose, firstn, map_readers, shuffle

__all__ = [
    "ComposeNotAligned",
    "Fake",
    "PipeReader",
    "buffered",
    "cache",
    "chain",
    "compose",
    "firstn",
    "map_readers",
    "multiprocess_reader",
    "shuffle",
    "xmap_readers",
]

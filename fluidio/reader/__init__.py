"""Python readers: everything in `paddle.reader`, and `paddle.batch`.

A *reader* is a callable without arguments that returns an iterable of samples; calling it again starts again.
"""

from __future__ import annotations

from fluidio.reader import creator, decorator
from fluidio.reader.batching import batch
from fluidio.reader.decorator import (
    ComposeNotAligned,
    Fake,
    PipeReader,
    buffered,
    cache,
    chain,
    compose,
    firstn,
    map_readers,
    multiprocess_reader,
    shuffle,
    xmap_readers,
)

__all__ = [
    "ComposeNotAligned",
    "Fake",
    "PipeReader",
    "batch",
    "buffered",
    "cache",
    "chain",
    "compose",
    "creator",
    "decorator",
    "firstn",
    "map_readers",
    "multiprocess_reader",
    "shuffle",
    "xmap_readers",
]

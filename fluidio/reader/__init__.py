"""Python readers: everything in `paddle.reader`, and `paddle.batch`.

A *reader* is a callable without arguments that returns an iterable of samples; calling it again starts again.
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

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


def __getattr__(name: str) -> _typing.Any:
    """Find loaders here too: `paddle.reader` and `paddle.fluid.reader` are two modules, `fluidio.reader` is one."""
    loaders = _importlib.import_module("fluidio.io.reader_names")
    if name in loaders.__all__:
        return getattr(loaders, name)
    raise AttributeError(f"module 'fluidio.reader' has no attribute {name!r}")

"""`fluid.io`: datasets, loaders, python readers, saving and loading."""

from __future__ import annotations

from fluidio.io.collate import default_collate_fn
from fluidio.io.data_loader import DataLoader
from fluidio.io.dataset_types import Dataset
from fluidio.io.py_reader import PyReader
from fluidio.io.samplers import BatchSampler
from fluidio.io.workers import get_worker_info
from fluidio.reader import (
    ComposeNotAligned,
    batch,
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
    "BatchSampler",
    "ComposeNotAligned",
    "DataLoader",
    "Dataset",
    "PyReader",
    "batch",
    "buffered",
    "cache",
    "chain",
    "compose",
    "default_collate_fn",
    "firstn",
    "get_worker_info",
    "map_readers",
    "multiprocess_reader",
    "shuffle",
    "xmap_readers",
]

"""Draw a bounded sample of records from files of any size: chunks spread evenly over all of them, good ones only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fluidio.recordio.files.index import ChunkIndex
from fluidio.recordio.files.source import opened
from fluidio.recordio.format.chunks import ChunkReader

__all__ = ["Drawn", "draw"]

_CHUNKS = 256
_BYTES = 64 << 20


class Drawn(NamedTuple):
    """One record: the number of its file, its number in the file, its bytes."""

    file: int
    number: int
    record: bytes


def draw(paths: Sequence[str], indexes: Sequence[ChunkIndex], most: int) -> Iterator[Drawn]:
    """Yield at most `most` records, in order, from chunks spread evenly over the files."""
    sizes = np.concatenate([index.ends - index.offsets for index in indexes]) if indexes else np.zeros(0, np.int64)
    files = np.repeat(np.arange(len(indexes)), [index.num_chunks for index in indexes])
    chosen = _choose(sizes)
    each = max(1, most // max(1, len(chosen)))
    first_of_file = np.concatenate([[0], np.cumsum([index.num_chunks for index in indexes])])
    left = most
    for chunk in chosen.tolist():
        file = int(files[chunk])
        for drawn in _of_chunk(paths[file], file, indexes[file], chunk - int(first_of_file[file]), min(each, left)):
            left -= 1
            yield drawn


def _choose(sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return evenly spread chunks: at most `_CHUNKS`, and at most `_BYTES` unless a single one is larger."""
    count = min(len(sizes), _CHUNKS)
    while True:
        chosen = np.unique(np.linspace(0, len(sizes) - 1, count).astype(np.int64)) if count else np.zeros(0, np.int64)
        if count <= 1 or int(sizes[chosen].sum()) <= _BYTES:
            return chosen
        count //= 2


def _of_chunk(path: str, file: int, index: ChunkIndex, number: int, most: int) -> Iterator[Drawn]:
    offset = int(index.offsets[number])
    with opened(path) as source:
        chunk = ChunkReader(source, on_error="skip", offset=offset).next()
    if chunk is None or chunk.offset != offset:
        return
    records = chunk.records()
    before = int(index.first_records[number])
    for at in np.unique(np.linspace(0, len(records) - 1, min(most, len(records))).astype(np.int64)).tolist():
        yield Drawn(file, before + at, records[at])

"""Where in a file good chunks and damage are: a strip of cells from its first byte to its last."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.recordio.files.index import ChunkIndex
from fluidio.recordio.files.survey import Survey

__all__ = ["file_map"]

_CELLS = 160


def file_map(found: Survey, index: ChunkIndex) -> dict[str, Any]:
    """Return the records that begin in each cell, and the damaged ranges in bytes, with the problem."""
    if not found.size:
        return {"cells": [], "damage": []}
    count = max(1, min(_CELLS, index.num_chunks))
    places = np.minimum(index.offsets * count // max(1, found.size), count - 1)
    cells = np.bincount(places, weights=index.counts, minlength=count)
    return {"cells": cells.astype(np.int64).tolist(), "damage": _ranges(found, index)}


def _ranges(found: Survey, index: ChunkIndex) -> list[list[Any]]:
    ranges: list[list[Any]] = []
    for damage in found.damage[:200]:
        start = damage.offset or 0
        after = index.offsets[index.offsets > start]
        ranges.append([start, int(after[0]) if len(after) else found.size, damage.kind, damage.problem])
    return ranges

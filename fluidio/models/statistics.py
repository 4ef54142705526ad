"""Statistics of a tensor, computed in one pass over its pieces."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fluidio.models.stored import StoredTensor

__all__ = ["Statistics", "statistics"]


@dataclass
class Statistics:
    """Statistics of a tensor's values; non-finite values are only counted."""

    least: float | None = None
    most: float | None = None
    mean: float | None = None
    deviation: float | None = None
    nan: int = 0
    infinite: int = 0
    zeros: int = 0
    count: int = 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def remarks(self) -> list[str]:
        """Notes on anything that deserves attention."""
        found = []
        if self.nan:
            found.append(f"{self.nan} NaN")
        if self.infinite:
            found.append(f"{self.infinite} infinite")
        if self.count and self.zeros == self.count:
            found.append("all zero")
        return found


def statistics(tensor: StoredTensor) -> Statistics:
    """Return the statistics of a tensor, with only a piece of it in memory at a time."""
    found = Statistics(count=tensor.count)
    finite, total, squares = 0, 0.0, 0.0
    for piece in tensor.pieces():
        values = np.frombuffer(piece, tensor.dtype.newbyteorder("<"))
        found.zeros += int(np.count_nonzero(values == 0))
        if values.dtype.kind == "f":
            found.nan += int(np.isnan(values).sum())
            found.infinite += int(np.isinf(values).sum())
            values = values[np.isfinite(values)]
        if not values.size:
            continue
        wide = values.astype(np.float64)
        finite += values.size
        total += float(wide.sum())
        squares += float(np.dot(wide, wide))
        found.least = min(float(wide.min()), math.inf if found.least is None else found.least)
        found.most = max(float(wide.max()), -math.inf if found.most is None else found.most)
    if finite:
        found.mean = total / finite
        found.deviation = math.sqrt(max(squares / finite - found.mean**2, 0.0))
    return found

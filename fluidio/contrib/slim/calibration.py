"""Measures of a model's weights and activations, taken while it runs on sample data."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from fluidio.contrib.slim.divergence import kl_threshold

__all__ = ["AbsMax", "Divergence", "Measure", "MinMax"]

Array = NDArray[Any]


class Measure:
    """Records one number for each activation, under the name of the attribute that will hold it."""

    attributes: tuple[str, ...] = ("out_threshold",)

    def __init__(self) -> None:
        self._activations: dict[str, dict[str, float]] = {attribute: {} for attribute in self.attributes}
        self._weights: dict[str, dict[str, list[float]]] = {attribute: {} for attribute in self.attributes}

    def see_weight(self, name: str, value: Array) -> None:
        """Record a weight; most measures need none."""

    def see(self, name: str, value: Array) -> None:
        """Record an activation of one batch."""
        raise NotImplementedError

    def finish(self) -> None:
        """Compute the results from everything seen."""

    def activations(self, attribute: str) -> dict[str, float]:
        """Return the results for all activations."""
        return self._activations[attribute]

    def of(self, name: str, attribute: str) -> float | list[float]:
        """Return the result for an activation, or for each row of a weight."""
        found = self._weights[attribute].get(name)
        return self._activations[attribute][name] if found is None else found


class AbsMax(Measure):
    """The largest absolute value."""

    def see(self, name: str, value: Array) -> None:
        found = self._activations["out_threshold"]
        found[name] = max(found.get(name, 0.0), float(np.abs(value).max()))


class MinMax(Measure):
    """The smallest and the largest value."""

    attributes = ("out_min", "out_max")

    def see_weight(self, name: str, value: Array) -> None:
        rows = value.reshape(value.shape[0], -1)
        self._weights["out_min"][name] = rows.min(axis=1).tolist()
        self._weights["out_max"][name] = rows.max(axis=1).tolist()

    def see(self, name: str, value: Array) -> None:
        low, high = self._activations["out_min"], self._activations["out_max"]
        low[name] = min(low.get(name, np.inf), float(value.min()))
        high[name] = max(high.get(name, -np.inf), float(value.max()))


class Divergence(Measure):
    """The clipping value that distorts the distribution least.

    Args:
        folder: keeps the activations in files, until `finish`; None: they stay in memory.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        super().__init__()
        self._folder = None if folder is None else Path(folder)
        self._kept: defaultdict[str, list[Array | Path]] = defaultdict(list)

    def see(self, name: str, value: Array) -> None:
        sizes = np.abs(value).ravel()
        kept = self._kept[name]
        if self._folder is None:
            kept.append(sizes)
            return
        path = self._folder / f"{quote(name, safe='')}_{len(kept)}.npy"
        np.save(path, sizes)
        kept.append(path)

    def finish(self) -> None:
        for name, kept in self._kept.items():
            sizes = np.concatenate([np.load(each) if isinstance(each, Path) else each for each in kept])
            self._activations["out_threshold"][name] = kl_threshold(sizes)
            for each in kept:
                if isinstance(each, Path):
                    each.unlink()
            kept.clear()

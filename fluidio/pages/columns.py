"""Summarise the columns of some rows: their kind, and the distribution of values, lengths and texts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.conversion.pictures import picture
from fluidio.tensor.array import Array

__all__ = ["ColumnSketch", "bins"]

_BINS = 40
_VALUES = 2_000_000
_OF_ONE = 256
_TEXTS = 5000


class ColumnSketch:
    """One column: collects a bounded number of values and lengths."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._records = 0
        self._kinds: Counter[str] = Counter()
        self._values: list[Array] = []
        self._held = 0
        self._thinned = False
        self._lengths: list[int] = []
        self._texts: Counter[str] = Counter()

    def add(self, value: object) -> None:
        """Add one record's value."""
        self._records += 1
        if isinstance(value, (bool, int, float, np.generic)):
            self._numbers(np.asarray(value), "")
        elif isinstance(value, np.ndarray):
            self._numbers(value, f" {value.shape}")
            if value.ndim:
                self._lengths.append(len(value))
        elif isinstance(value, bytes):
            self._bytes(value)
        elif isinstance(value, str):
            self._text(value)
        elif isinstance(value, (list, tuple)):
            self._list(value)
        else:
            self._kinds[type(value).__name__] += 1

    def _numbers(self, array: Array, shape: str) -> None:
        self._kinds[f"{array.dtype.name}{shape}"] += 1
        if array.dtype.kind not in "biuf" or self._held >= _VALUES:
            return
        flat = array.reshape(-1)
        if len(flat) > _OF_ONE:
            self._thinned = True
            flat = flat[:: -(-len(flat) // _OF_ONE)]
        self._held += len(flat)
        self._values.append(flat.astype(np.float64))

    def _bytes(self, value: bytes) -> None:
        found = picture(value)
        if found is not None:
            self._kinds[f"{found.split()[0]} picture"] += 1
            self._lengths.append(len(value))
            return
        try:
            self._text(value.decode())
        except UnicodeDecodeError:
            self._kinds["bytes"] += 1
            self._lengths.append(len(value))

    def _text(self, value: str) -> None:
        self._kinds["text"] += 1
        self._lengths.append(len(value))
        if len(self._texts) < _TEXTS:
            self._texts[value[:80]] += 1

    def _list(self, value: Any) -> None:
        self._lengths.append(len(value))
        numbers = value and all(isinstance(item, (int, float)) for item in value)
        if numbers:
            self._numbers(np.asarray(value), "")
            self._kinds.popitem()
        inner = type(value[0]).__name__ if value else "nothing"
        self._kinds[f"list of {'numbers' if numbers else inner}"] += 1

    def as_json(self) -> dict[str, Any]:
        """Return the summary as plain values."""
        shapes = [kind for kind, _ in self._kinds.most_common()]
        described: dict[str, Any] = {"name": self.name, "kind": _kind(shapes), "records": self._records}
        if self._values:
            values = np.concatenate(self._values)
            described["values"] = bins(values)
            described["thinned"] = self._thinned
        if self._lengths and min(self._lengths) != max(self._lengths):
            described["lengths"] = bins(np.asarray(self._lengths, np.float64))
        if self._texts and len(self._texts) <= max(12, self._records // 4):
            described["top"] = self._texts.most_common(8)
            described["distinct"] = len(self._texts)
        elif not self._held and self._kinds.get("text"):
            described["examples"] = list(self._texts)[:4]
        return described


def _kind(kinds: list[str]) -> str:
    """Return the kinds in a few words; arrays of different shapes are listed once."""
    if len(kinds) < 2:
        return "".join(kinds)
    dtypes = dict.fromkeys(kind.partition(" (")[0] for kind in kinds)
    if len(dtypes) == 1 and all(" (" in kind for kind in kinds):
        return f"{next(iter(dtypes))}, shapes differ"
    return ", ".join(kinds[:3]) + (", ..." if len(kinds) > 3 else "")


def bins(values: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return a histogram and figures; whole numbers of a small range get a bin each."""
    finite = values[np.isfinite(values)]
    described: dict[str, Any] = {"count": len(values), "not_finite": len(values) - len(finite)}
    if not len(finite):
        return described
    low, high = float(finite.min()), float(finite.max())
    scale = max(1.0, abs(low), abs(high))  # squares of the largest floats overflow
    mean, std = scale * float((finite / scale).mean()), scale * float((finite / scale).std())
    whole = bool((finite == np.floor(finite)).all())
    described |= {"least": low, "most": high, "mean": mean, "std": std}
    described["median"] = float(np.median(finite))
    if whole and high - low < 60:
        edges = np.arange(low, high + 2) - 0.5
        described["whole"] = True
    elif low == high or not np.isfinite(high - low):
        return described
    else:
        edges = np.linspace(low, high, _BINS + 1)
    described["counts"] = np.histogram(finite, edges)[0].tolist()
    return described

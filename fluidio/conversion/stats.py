"""Figures about the columns of some files: values of numbers, lengths of text and lists; block by block."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fluidio.conversion.looking import blocks_with_slots, choose
from fluidio.conversion.progress import note
from fluidio.recordio.decode.block import Column
from fluidio.recordio.files.schema import Field, without_rows
from fluidio.recordio.files.steady import steadily
from fluidio.tensor.array import Array

__all__ = ["ColumnStats", "stats"]


@dataclass
class ColumnStats:
    """One column. `least`, `most`, `mean` and `std` are of its numbers, lengths are `len()` of its text and lists."""

    name: str
    type: str
    records: int = 0
    least: float | None = None  # whole numbers stay whole
    most: float | None = None
    mean: float | None = None
    std: float | None = None
    not_finite: int = 0
    shortest: int | None = None
    longest: int | None = None
    mean_length: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class _Gathered:
    def __init__(self, slot: Field) -> None:
        self.slot = slot
        self.stats = ColumnStats(slot.name, slot.text or _type(slot))
        self._numbers = 0
        self._sum = self._squares = 0.0
        self._lengths = 0

    def add(self, column: Column) -> None:
        """Add a block's column."""
        stats = self.stats
        if not self.slot.lod_level and self.slot.rows not in (None, column.rows_per_record) and column.num_records:
            self._vary(self.slot.rows or 0)
        stats.records += column.num_records
        if self.slot.lod_level or self.slot.rows is None:
            lengths = self._lengths_of(column)
            if len(lengths):
                stats.shortest = min(int(lengths.min()), stats.shortest if stats.shortest is not None else 1 << 62)
                stats.longest = max(int(lengths.max()), stats.longest or 0)
                self._lengths += int(lengths.sum())
                stats.mean_length = self._lengths / stats.records
        if not self.slot.text and column.data.size:
            self._values(column.data)

    def _vary(self, rows: int) -> None:
        """Note that not all records have the number of rows that those so far had."""
        self.slot = without_rows(self.slot)
        self.stats.type = _type(self.slot)
        if self.stats.records:
            self.stats.shortest = self.stats.longest = rows
            self._lengths = rows * self.stats.records

    def _lengths_of(self, column: Column) -> Array:
        """Return the `len()` of each row: characters of text, items of a list, bytes, rows of a sequence."""
        if len(column.lod) > 1:
            return np.diff(column.lod[0][column.sequences()])
        if self.slot.text != "str":
            return np.diff(column.offsets())
        begins = np.zeros(len(column.data) + 1, np.int64)
        np.cumsum((column.data.reshape(-1) & 0xC0) != 0x80, out=begins[1:])
        return np.diff(begins[column.offsets()])

    def _values(self, data: Any) -> None:
        stats, values = self.stats, data.astype(np.float64).reshape(-1)
        finite = values[np.isfinite(values)]
        stats.not_finite += len(values) - len(finite)
        if not len(finite):
            return
        exact = finite if data.dtype.kind == "f" else data.astype(np.int64)
        stats.least = min(exact.min().item(), stats.least if stats.least is not None else math.inf)
        stats.most = max(exact.max().item(), stats.most if stats.most is not None else -math.inf)
        # Chan's formula: sums of squares of large numbers would lose the digits that matter.
        count, total = len(finite), self._numbers + len(finite)
        with np.errstate(over="ignore"):  # sums and squares of the largest numbers are infinite
            mean = float(finite.mean())
            mean = mean if math.isfinite(mean) else float((finite / count).sum())
            delta = mean - self._sum
            squares = float(((finite - mean) ** 2).sum())
        self._squares += squares + (delta * delta * (self._numbers * count / total) if self._numbers else 0)
        self._sum += delta * (count / total)
        self._numbers = total
        stats.mean, stats.std = self._sum, math.sqrt(self._squares / total)


def _type(slot: Field) -> str:
    rows = "*" if slot.lod_level or slot.rows is None else str(slot.rows)
    return f"{slot.dtype} ({', '.join([rows, *map(str, slot.shape)])}{'' if slot.shape else ','})"


def stats(paths: Sequence[str], columns: Collection[str] | None = None) -> list[ColumnStats]:
    """Return figures about all columns of some files, or only about the named ones, without decoding the others."""
    gathered: dict[str, _Gathered] = {}
    for path in steadily(paths):
        slots, blocks = blocks_with_slots(path)
        chosen = choose(path, slots, columns)
        for block in blocks:
            note(len(block))
            for number in chosen:
                slot = slots[number]
                gathered.setdefault(slot.name, _Gathered(slot)).add(block.columns[number])
    return [each.stats for each in gathered.values()]

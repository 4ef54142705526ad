"""Numbers over steps or over time in bounded memory: neighbours are merged when there are too many."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Curve", "Lanes"]

_BUCKETS = 1000
_PENDING = 512


class Curve:
    """A value over steps: minimum, maximum and mean per bucket; bucket size doubles whenever buckets run out.

    Args:
        keep: also keep every value, to be compared with another run.
    """

    def __init__(self, keep: bool = False) -> None:
        self.stride = 1
        self.count = self.not_finite = 0
        self.last = math.nan
        self.values: array[float] | None = array("d") if keep else None
        self.steps: array[int] | None = array("q") if keep else None
        self._rows: list[tuple[int, float, float, float]] = []
        self._pending_steps: list[int] = []
        self._pending: list[float] = []

    def add(self, step: int, value: float) -> None:
        """Add the value of a step."""
        self.count += 1
        self.last = value
        self._pending_steps.append(step)
        self._pending.append(value)
        if self.values is not None and self.steps is not None:
            self.values.append(value)
            self.steps.append(step)
        if len(self._pending) >= _PENDING and len(self._pending) >= self.stride:
            self._flush(whole=True)

    def _flush(self, *, whole: bool) -> None:
        """Convert pending values to rows; with `whole` the last, unfinished bucket stays pending."""
        stop = len(self._pending) - (len(self._pending) % self.stride if whole else 0)
        values = np.asarray(self._pending[:stop])
        steps = self._pending_steps[:stop]
        del self._pending[:stop], self._pending_steps[:stop]
        self.not_finite += int((~np.isfinite(values)).sum())
        full = stop - stop % self.stride
        self._rows += zip(steps[: full : self.stride], *_summed(values[:full].reshape(-1, self.stride)))
        if full < stop:
            self._rows += zip(steps[full : full + 1], *_summed(values[full:].reshape(1, -1)))
        while len(self._rows) > 2 * _BUCKETS:
            self._halve()

    def _halve(self) -> None:
        self.stride *= 2
        pairs = zip(self._rows[::2], self._rows[1::2])
        merged = [(a[0], _least(a[1], b[1]), _most(a[2], b[2]), _mean(a[3], b[3])) for a, b in pairs]
        self._rows = merged + self._rows[len(self._rows) // 2 * 2 :]

    def as_json(self) -> dict[str, Any]:
        """Return the curve as plain values: columns of step, minimum, maximum, mean."""
        self._flush(whole=False)
        columns = [list(column) for column in zip(*self._rows)] or [[], [], [], []]
        described: dict[str, Any] = {"count": self.count, "stride": self.stride, "not_finite": self.not_finite}
        described |= {"last": self.last, "step": columns[0], "mean": _rounded(columns[3])}
        if self.stride > 1:
            described |= {"least": _rounded(columns[1]), "most": _rounded(columns[2])}
        if self.values is not None and self.steps is not None:
            described |= {"values": self.values.tolist(), "steps": self.steps.tolist()}
        return described


def _summed(groups: npt.NDArray[np.float64]) -> tuple[list[float], list[float], list[float]]:
    """Return minimum, maximum and mean of the finite values of each row; nan if there are none."""
    good = np.isfinite(groups)
    counts = good.sum(1)
    some = counts > 0
    least = np.where(some, np.where(good, groups, math.inf).min(1, initial=math.inf), math.nan)
    most = np.where(some, np.where(good, groups, -math.inf).max(1, initial=-math.inf), math.nan)
    mean = np.where(some, np.where(good, groups, 0.0).sum(1) / np.maximum(counts, 1), math.nan)
    return least.tolist(), most.tolist(), mean.tolist()


def _rounded(values: list[float]) -> list[float]:
    return [float(f"{value:.7g}") for value in values]


def _least(a: float, b: float) -> float:
    return b if math.isnan(a) else a if math.isnan(b) else min(a, b)


def _most(a: float, b: float) -> float:
    return b if math.isnan(a) else a if math.isnan(b) else max(a, b)


def _mean(a: float, b: float) -> float:
    return b if math.isnan(a) else a if math.isnan(b) else (a + b) / 2


class Lanes:
    """Amounts over time: named lanes with common buckets, whose length doubles whenever the run outgrows them."""

    size = 400

    def __init__(self, start: float, width: float = 0.01) -> None:
        self.start = start
        self.width = width
        self.lanes: dict[str, list[float]] = {}
        self.peaks: dict[str, list[float]] = {}
        self.end = start

    def at(self, when: float) -> int:
        """Return the bucket of a time, after making room for it."""
        bucket = int((when - self.start) / self.width)
        while bucket >= self.size:
            self._halve()
            bucket = int((when - self.start) / self.width)
        self.end = max(self.end, when)
        return max(0, bucket)

    def count(self, lane: str, times: Sequence[float], amounts: Sequence[float]) -> None:
        """Add amounts at times."""
        self.at(max(times))
        values = self._lane(lane)
        buckets = self._buckets(np.asarray(times))
        for bucket, amount in enumerate(np.bincount(buckets, amounts).tolist()):
            if amount:
                values[bucket] += amount

    def spend_all(self, lane: str, starts: Sequence[float], stops: Sequence[float]) -> None:
        """Add many intervals at once; those inside one bucket together."""
        self.at(max(stops))
        begin, end = np.asarray(starts), np.asarray(stops)
        first, last = self._buckets(begin), self._buckets(end)
        inside = first == last
        values = self._lane(lane)
        for bucket, amount in enumerate(np.bincount(last[inside], (end - begin)[inside]).tolist()):
            if amount:
                values[bucket] += amount
        for start, stop in zip(begin[~inside].tolist(), end[~inside].tolist()):
            self.spend(lane, start, stop)

    def _buckets(self, times: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        return np.clip((times - self.start) / self.width, 0, self.size - 1).astype(np.int64)

    def spend(self, lane: str, start: float, stop: float) -> None:
        """Add the seconds from `start` to `stop` to the buckets they fall into."""
        self.spread(lane, start, stop, stop - start)

    def spread(self, lane: str, start: float, stop: float, amount: float) -> None:
        """Spread an amount evenly over the time from `start` to `stop`."""
        last = self.at(stop)
        first = self.at(start)
        values = self._lane(lane)
        if first == last:
            values[last] += amount
            return
        share = amount / (stop - start)
        for bucket in range(first, last + 1):
            low = max(start, self.start + bucket * self.width)
            values[bucket] += share * max(0.0, min(stop, self.start + (bucket + 1) * self.width) - low)

    def peak(self, lane: str, when: float, value: float) -> None:
        """Keep the largest value of each bucket."""
        bucket = self.at(when)
        values = self.peaks.setdefault(lane, [-1.0] * self.size)
        values[bucket] = max(values[bucket], value)

    def _lane(self, lane: str) -> list[float]:
        found = self.lanes.get(lane)
        if found is None:
            found = self.lanes[lane] = [0.0] * self.size
        return found

    def _halve(self) -> None:
        self.width *= 2
        half = self.size // 2
        for name, values in self.lanes.items():
            self.lanes[name] = [a + b for a, b in zip(values[::2], values[1::2])] + [0.0] * half
        for name, values in self.peaks.items():
            self.peaks[name] = [max(a, b) for a, b in zip(values[::2], values[1::2])] + [-1.0] * half

    def as_json(self) -> dict[str, Any]:
        """Return the lanes as plain values, up to the last bucket that is used."""
        used = min(self.size, int((self.end - self.start) / self.width) + 1)
        described = {name: [float(f"{value:.4g}") for value in values[:used]] for name, values in self.lanes.items()}
        peaks = {name: values[:used] for name, values in self.peaks.items()}
        return {"width": self.width, "lanes": described, "peaks": peaks}

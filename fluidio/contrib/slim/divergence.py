"""The best clipping value for int8 activations, by the Kullback-Leibler divergence."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["kl_threshold"]

_BINS = 2048
_STEPS = 255
_FIRST = int((_BINS - 1) * 0.7)


def kl_threshold(sizes: NDArray[np.floating]) -> float:
    """Return where to clip absolute values so that 255 steps preserve most of their distribution.

    Fluid: the steps are counted from the smallest value, the threshold from zero.
    """
    counts, edges = np.histogram(sizes, bins=_BINS, range=(sizes.min(), sizes.max()))
    return (_best_end(counts) + 0.5) * float(edges[1] - edges[0])


def _best_end(counts: NDArray[np.int64]) -> int:
    """Return how many bins to keep: the first of those that lose least."""
    ends = [end for end in range(_FIRST, _BINS) if counts[end - 1]]
    if not ends:
        filled = np.flatnonzero(counts[: _FIRST + 1])
        return int(filled[-1]) if filled.size else 0
    losses = [_loss(*_spreads(counts, end)) for end in ends]
    near = min(losses) + 1e-9
    close = [end for end, loss in zip(ends, losses, strict=True) if loss <= near]
    return min(close, key=lambda end: _exact_loss(*_spreads(counts, end)))


def _spreads(counts: NDArray[np.int64], end: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how often values fall into the filled bins before `end`: as they are, and after rounding."""
    kept = counts[:end]
    filled = kept > 0
    starts = np.arange(_STEPS) * (end // _STEPS)
    means = np.add.reduceat(kept, starts) / np.maximum(np.add.reduceat(filled, starts, dtype=np.int64), 1)
    rounded = np.repeat(means, np.diff(starts, append=end))
    original = kept.astype(np.float64)
    original[-1] += counts[end:].sum()
    return original[filled], rounded[filled]


def _loss(original: NDArray[np.float64], rounded: NDArray[np.float64]) -> float:
    total = original.sum()
    terms = original * (np.log(rounded.sum() * original) - np.log(total * rounded))
    return float(terms.sum() / total)


def _exact_loss(original: NDArray[np.float64], rounded: NDArray[np.float64]) -> float:
    """Return the same, added up one by one as Fluid did: it decides between ends that lose nearly the same."""
    total, rounded_total = float(original.sum()), sum(rounded.tolist())
    first = second = 0.0
    for p, q in zip(original.tolist(), rounded.tolist(), strict=True):
        first += p * math.log(rounded_total * p)
        second += p * math.log(total * q)
    return (first - second) / total

"""Sliding windows over images and volumes: sizes, paddings, and conversion to and from columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

from fluidio.errors import EnforceNotMet

__all__: list[str] = []

Ints = Sequence[int]
Pairs = list[tuple[int, int]]


def padding_pairs(attrs: dict[str, Any], sizes: Ints, kernel: Ints, strides: Ints) -> Pairs:
    """Return (before, after) for each spatial dim, by padding_algorithm and paddings."""
    algorithm = attrs.get("padding_algorithm", "EXPLICIT")
    if algorithm == "VALID":
        return [(0, 0)] * len(sizes)
    if algorithm == "SAME":
        totals = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in zip(sizes, kernel, strides)]
        return [(t // 2, t - t // 2) for t in totals]
    flat = list(attrs["paddings"])
    if len(flat) == len(sizes):
        return [(p, p) for p in flat]
    if len(flat) == 2 * len(sizes):
        return list(zip(flat[::2], flat[1::2]))
    raise EnforceNotMet(f"paddings must hold {len(sizes)} or {2 * len(sizes)} numbers, got {flat}")


def reach(kernel: Ints, dilations: Ints) -> list[int]:
    """Return how many elements a dilated kernel spans."""
    return [d * (k - 1) + 1 for k, d in zip(kernel, dilations)]


def out_sizes(sizes: Ints, spans: Ints, strides: Ints, pads: Pairs, ceil: bool = False) -> list[int]:
    """Return the number of windows along each dim; -1 for an unknown size.

    Fluid: C's division truncates, so an input slightly too small for a large stride has one window.
    """
    return [
        -1 if n < 0 else int((n + before + after - k + (s - 1 if ceil else 0)) / s) + 1
        for n, k, s, (before, after) in zip(sizes, spans, strides, pads)
    ]


def reaching(sizes: Ints, spans: Ints, strides: Ints, pads: Pairs, outs: Ints) -> Pairs:
    """Return the paddings, with as much more at the end as the last window needs."""
    ends = [(o - 1) * s + k for o, s, k in zip(outs, strides, spans)]
    return [(before, max(after, end - n - before)) for n, (before, after), end in zip(sizes, pads, ends)]


def view(xp: Any, x: Any, lead: int, kernel: Ints, strides: Ints, dilations: Ints, outs: Ints) -> Any:
    """Return all windows of X [lead dims, *spatial, rest] as a view [lead dims, *kernel, *outs, rest]."""
    dims = len(kernel)
    steps = x.strides[lead : lead + dims]
    return xp.lib.stride_tricks.as_strided(
        x,
        (*x.shape[:lead], *kernel, *outs, *x.shape[lead + dims :]),
        (
            *x.strides[:lead],
            *(step * d for step, d in zip(steps, dilations)),
            *(step * s for step, s in zip(steps, strides)),
            *x.strides[lead + dims :],
        ),
    )


def add_back(target: Any, lead: int, columns: Any, kernel: Ints, strides: Ints, dilations: Ints, outs: Ints) -> None:
    """Add columns [lead dims, *kernel, *outs, rest] to the elements of `target` that `view` took them from."""
    every = (slice(None),) * lead
    for offset in product(*(range(k) for k in kernel)):
        place = tuple(slice(o * d, o * d + s * (n - 1) + 1, s) for o, d, s, n in zip(offset, dilations, strides, outs))
        target[(*every, *place)] += columns[(*every, *offset)]


def volume(sizes: Ints) -> int:
    return math.prod(sizes)

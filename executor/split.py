"""Divide fed batches among places and join the values places return."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fluidio.era import era
from fluidio.errors import EnforceNotMet
from fluidio.executor.fetched import FetchedArray
from fluidio.program.arguments import Feed
from fluidio.tensor import LoDTensor
from fluidio.tensor.array import Array
from fluidio.tensor.lod import LoD, merge, sequence_slice

__all__ = ["join_fetched", "split_feed", "split_tensor"]


def split_feed(
    feed: Feed, places: int, is_persistable: Callable[[str], bool] = lambda name: False
) -> list[dict[str, Any]]:
    """Return one feed dict for each place from a dict (divided along dim 0) or a list of dicts.

    A list may be shorter, as in the last step of a loader with drop_last=False. A persistable variable with fewer rows
    than there are places, such as a learning rate, goes to each place whole. From 1.8 on, a batch of fewer samples
    than places gives that many dicts.
    """
    if not feed:
        return [{} for _ in range(places)]
    if isinstance(feed, (list, tuple)):
        if len(feed) > places:
            raise ValueError(f"feed is a list of {len(feed)} dicts for {places} places: give one dict for each place")
        for item in feed:
            if not isinstance(item, dict):
                raise TypeError(
                    f"feed: each entry of the list must be a dict of names and values, got {type(item).__name__}"
                )
        return [dict(item) for item in feed]
    if not isinstance(feed, dict):
        raise TypeError(f"feed must be a dict of names and values, or a list of them, got {type(feed).__name__}")
    tensors = {n: v if isinstance(v, LoDTensor) else LoDTensor.wrap(np.asarray(v)) for n, v in feed.items()}
    whole = {name for name, tensor in tensors.items() if len(tensor.array) < places and is_persistable(name)}
    counts = {_count(tensor.array, tensor.levels) for name, tensor in tensors.items() if name not in whole}
    # A last batch with fewer samples than places: some places get none, which training refuses.
    used = next(iter(counts)) if len(counts) == 1 and 0 < min(counts) < places and era().feed_split_ceil else places
    parts: list[dict[str, Any]] = [{name: tensors[name] for name in whole} for _ in range(used)]
    for name, tensor in tensors.items():
        if name not in whole:
            for part, piece in zip(parts, split_tensor(tensor.array, tensor.levels, used, name)):
                part[name] = LoDTensor.wrap(*piece)
    return parts


def _count(array: Array, lod: LoD) -> int:
    return len(lod[0]) - 1 if lod else len(array)


def split_tensor(array: Array, lod: LoD, places: int, name: str = "", *, ceil: bool | None = None) -> list[Any]:
    """Divide rows, or outermost sequences, among places.

    Fluid: until 1.5 each place got `n // places` and the last one the rest, in 1.8 `ceil(n / places)`.
    """
    count = _count(array, lod)
    if count < places:
        raise EnforceNotMet(
            f"the batch fed for {name!r} has {count} samples, too few for {places} places: each needs at least one"
        )
    if ceil is None:
        ceil = era().feed_split_ceil
    step = -(-count // places) if ceil else count // places
    bounds = [min(i * step, count) for i in range(places)] + [count]
    if bounds[-2] == count:  # ceil left nothing for the last place
        bounds = [i * count // places for i in range(places + 1)]
    pieces = []
    for start, stop in itertools.pairwise(bounds):
        if lod:
            part, first, last = sequence_slice(lod, start, stop)
            pieces.append((array[first:last], part))
        else:
            pieces.append((array[start:stop], ()))
    return pieces


def join_fetched(results: Sequence[Any]) -> Any:
    """Join the values of one fetched variable from every place along dim 0; arrays of tensors entry by entry."""
    if all(isinstance(result, list) for result in results) and len({len(result) for result in results}) == 1:
        return [join_fetched(entry) for entry in zip(*results)]
    if all(isinstance(result, LoDTensor) for result in results):
        arrays = [_at_least_1d(result.array) for result in results]
        return LoDTensor.wrap(np.concatenate(arrays), merge([result.levels for result in results]))
    if all(isinstance(result, np.ndarray) for result in results):
        return np.concatenate([_at_least_1d(np.asarray(result)) for result in results]).view(FetchedArray)
    return list(results)


def _at_least_1d(array: Array) -> Any:
    return array.reshape(1) if array.ndim == 0 else array

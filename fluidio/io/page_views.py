"""Page views: the samples of a dataset that one search has shown, joined by the search id in their log keys."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from fluidio.errors import ReaderError
from fluidio.io.slot_text import Sample

__all__ = ["page_views", "search_id"]

_DIGITS = 16  # of a log key's end, hexadecimal: the search id


def search_id(sample: Sample) -> int:
    """Return the search that a sample belongs to, by its log key."""
    key = sample[-1][-1].decode("latin-1")
    try:
        return int(key[-_DIGITS:], 16)
    except ValueError:
        raise ReaderError(f"the log key {key!r} does not end with {_DIGITS} hexadecimal digits") from None


def page_views(samples: Sequence[Sample], by_search: bool) -> list[list[Sample]]:
    """Return lists of samples, the highest search id first: one list for each search or, unmerged, for each sample."""
    ordered = sorted(samples, key=search_id, reverse=True)
    if not by_search:
        return [[sample] for sample in ordered]
    return [list(view) for _, view in itertools.groupby(ordered, search_id)]

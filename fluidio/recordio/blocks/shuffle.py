"""Shuffle records without copying them: permute their numbers, and pick the batch from the chunks at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fluidio.recordio.decode.block import Column, check_same_layout
from fluidio.recordio.decode.spans import ColumnSource, Part, Pieces, Scattered, Span, Strided, repeat, unfilled
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray

__all__ = ["permuted"]


def permuted(parts: Sequence[Part], order: IntArray) -> Span:
    """Return the records of all parts in this order, as one span.

    Raises:
        ValueError: the parts differ in dtype, trailing dims or LoD levels.
    """
    check_same_layout(parts)
    slots = range(len(parts[0].span.sources))
    places = [[_place(part.span.sources[slot], part.start, part.stop) for part in parts] for slot in slots]
    return Span(len(order), [_scattered(found, order) for found in places])


class _Place(NamedTuple):
    """Where the data of some records is, and their column without the data."""

    payloads: tuple[memoryview, ...]
    which: IntArray
    starts: IntArray
    stops: IntArray
    column: Column


def _place(source: ColumnSource, start: int, stop: int) -> _Place:
    if type(source) is Scattered:
        chosen = slice(start, stop)
        return _Place(
            source.payloads,
            source.which[chosen],
            source.starts[chosen],
            source.stops[chosen],
            source.column.slice(start, stop),
        )
    count = stop - start
    first = np.zeros(count, np.int64)
    if type(source) is Strided:
        head = source.head
        starts = np.arange(start, stop, dtype=np.int64) * source.stride + head.start
        data = unfilled((count * head.dims[0], *head.dims[1:]), head.dtype)
        column = Column(data, None, tuple([repeat(level, count) for level in head.lod]), num_records=count)
        return _Place((source.payload,), first, starts, starts + (head.stop - head.start), column)
    if type(source) is Pieces:
        payload, starts, stops = source.cuts(start, stop)
        return _Place(
            (payload,),
            first,
            np.asarray(starts, np.int64),
            np.asarray(stops, np.int64),
            source.column.slice(start, stop),
        )
    assert type(source) is Column
    column = source.slice(start, stop)
    edges = column.offsets() * _row_size(column.data)
    whole = np.ascontiguousarray(column.data)
    return _Place((whole.reshape(-1).view(np.uint8).data,), first, edges[:-1], edges[1:], column)


def _row_size(data: Array) -> int:
    return data.dtype.itemsize * math.prod(data.shape[1:])


def _scattered(places: list[_Place], order: IntArray) -> Scattered:
    payloads = tuple([payload for place in places for payload in place.payloads])
    before = np.cumsum([0, *[len(place.payloads) for place in places[:-1]]])
    which = np.concatenate([place.which + number for place, number in zip(places, before)])
    starts = np.concatenate([place.starts for place in places])
    stops = np.concatenate([place.stops for place in places])
    return Scattered(
        payloads, which[order], starts[order], stops[order], _frame([place.column for place in places], order)
    )


def _frame(columns: list[Column], order: IntArray) -> Column:
    """Return the column of the records in their new order, without its data."""
    like = columns[0].data
    heights = {column.rows_per_record for column in columns}
    if len(heights) == 1 and None not in heights and not columns[0].lod:
        rows = (columns[0].rows_per_record or 0) * len(order)
        return Column(unfilled((rows, *like.shape[1:]), like.dtype), num_records=len(order))
    whole = Column.chain(columns, unfilled((sum([len(c.data) for c in columns]), *like.shape[1:]), like.dtype))
    return whole.take(order, _no_rows)


def _no_rows(data: Array, starts: IntArray, lengths: IntArray) -> Array:
    return unfilled((int(lengths.sum()), *data.shape[1:]), data.dtype)

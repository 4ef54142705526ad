"""Sequences in flat data: the sequence and position of each row, and conversion to and from padded data.

Everything follows from the offsets [0, n1, n1 + n2, ..., rows]; empty sequences are allowed.
"""

from __future__ import annotations

import functools

import numpy as np

from fluidio.models.onnx.graph import Graph, Value

__all__ = ["Segments", "offsets_from_lengths"]


def offsets_from_lengths(g: Graph, lengths: Value) -> Value:
    """Return [0, l1, l1 + l2, ...]."""
    total = g("CumSum", lengths, np.asarray(0, np.int64))
    return g("Concat", np.array([0]), total, axis=0, dtype=np.int64, rank=1)


class Segments:
    """The sequences of some rows, by offsets; each property is computed at most once."""

    def __init__(self, graph: Graph, offsets: Value, rows: Value | None = None) -> None:
        self.g = graph
        self.offsets = offsets
        self._rows = rows

    @functools.cached_property
    def starts(self) -> Value:
        return self.g.slice(self.offsets, 0, 0, -1)

    @functools.cached_property
    def ends(self) -> Value:
        return self.g.slice(self.offsets, 0, 1, 2**62)

    @functools.cached_property
    def lengths(self) -> Value:
        return self.g("Sub", self.ends, self.starts)

    @functools.cached_property
    def count(self) -> Value:
        """How many sequences there are, as [1]."""
        return self.g("Sub", self.g.rows(self.offsets), 1)

    @functools.cached_property
    def rows(self) -> Value:
        """How many rows there are, as [1]."""
        if self._rows is not None:
            return self.g.rows(self._rows)
        return self.g.slice(self.offsets, 0, -1, 2**62)

    @functools.cached_property
    def longest(self) -> Value:
        """The length of the longest sequence, as [1]."""
        return self.g("ReduceMax", self.lengths, keepdims=1)

    @functools.cached_property
    def steps(self) -> Value:
        """How many steps a Scan takes, as [1], at least one: ONNX Runtime crashes on a Scan without steps."""
        return self.g("Max", self.longest, 1)

    @functools.cached_property
    def number(self) -> Value:
        """The sequence number of each row."""
        g = self.g
        inner = g.slice(self.offsets, 0, 1, -1)
        room = g.filled(g("Add", self.rows, 1), 0, np.int64)
        ones = g.filled(g.shape(inner), 1, np.int64)
        marks = g("ScatterElements", room, inner, ones, axis=0, reduction="add", rank=1)
        return g.slice(g("CumSum", marks, np.asarray(0, np.int64), rank=1), 0, 0, -1)

    @functools.cached_property
    def position(self) -> Value:
        """The position of each row in its sequence."""
        return self.g("Sub", self.g.arange(self.rows), self.g("Gather", self.starts, self.number))

    @functools.cached_property
    def own_length(self) -> Value:
        """The length of each row's sequence."""
        return self.g("Gather", self.lengths, self.number)

    @functools.cached_property
    def cells(self) -> Value:
        """[rows, 2]: sequence and position of each row, for ScatterND and GatherND on padded data."""
        return self.g("Concat", self.g.unsqueeze(self.number, 1), self.g.unsqueeze(self.position, 1), axis=1)

    @functools.cached_property
    def mask(self) -> Value:
        """[sequences, steps]: whether each sequence has that step."""
        places = self.g.unsqueeze(self.g.arange(self.steps), 0)
        return self.g("Less", places, self.g.unsqueeze(self.lengths, 1))

    def padded(self, x: Value, fill: Value | None = None, length: Value | None = None) -> Value:
        """Return rows as [sequences, longest, ...], padded with zeros or a scalar."""
        g = self.g
        inner = g("Shape", x, start=1)
        dims = g("Concat", self.count, self.longest if length is None else length, inner, axis=0, rank=1)
        rank = None if x.rank is None else x.rank + 1
        if fill is None:
            room = g.filled(dims, 0, x.dtype)
        else:
            room = g("Expand", fill, dims)
        return g("ScatterND", room, self.cells, x, rank=rank)

    def flat(self, padded: Value) -> Value:
        """Return the rows of padded data one after another."""
        rank = None if padded.rank is None else padded.rank - 1
        return self.g("GatherND", padded, self.cells, rank=rank)

    def ranges(self, starts: Value, lengths: Value) -> tuple[Value, Segments]:
        """Return the indices start, start + 1, ... of each range one after another, and their own segments."""
        g = self.g
        own = Segments(g, offsets_from_lengths(g, lengths))
        return g("Add", g("Gather", starts, own.number), own.position), own

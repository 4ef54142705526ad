"""Sequences as batches over time: step t holds one row of every sequence that is longer than t.

Recurrent ops use this layout: with sequences sorted by length, longest first, the sequences present at a step are a
prefix of those at the previous step, and one matrix product serves all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.sequence import vector_gates
from fluidio.tensor.array import Array, ArrayLibrary
from fluidio.tensor.lod import IntArray

__all__ = ["ACTIVATIONS", "Activation", "TimeMajor", "activation", "time_major"]


class TimeMajor:
    """The order of rows by time for one LoD level.

    Attributes:
        order: sequence numbers, longest first (empty sequences last).
        steps: (start, stop) of every step in the time-major rows.
        rows: the original row of each time-major row.
    """

    def __init__(self, offsets: IntArray, reverse: bool = False) -> None:
        lengths = offsets[1:] - offsets[:-1]
        self.order = np.argsort(-lengths, kind="stable")
        longest_first = lengths[self.order]
        time = int(longest_first[0]) if lengths.size else 0
        alive = np.searchsorted(-longest_first, -np.arange(time), side="left")
        starts = np.zeros(time + 1, np.int64)
        np.cumsum(alive, out=starts[1:])
        self.total = int(starts[-1])
        self.time = time
        edges = starts.tolist()
        self.steps: list[tuple[int, int]] = list(itertools.pairwise(edges))
        step_of = np.repeat(np.arange(time), alive)
        place = np.arange(self.total) - starts[step_of]
        of = self.order[place]
        self.rows: IntArray = offsets[of + 1] - 1 - step_of if reverse else offsets[of] + step_of
        self._alive, self._starts, self._step_of, self._place = alive, starts, step_of, place
        self._by_column: dict[int, IntArray] = {}
        # The same sequence's row one step earlier, for every row after the first step.
        first = self.first
        self.before: IntArray = starts[step_of[first:] - 1] + place[first:]

    @property
    def first(self) -> int:
        """Number of sequences that are not empty."""
        return self.steps[0][1] if self.steps else 0

    def rows_by_column(self, columns: int) -> IntArray:
        """Return `rows` for rows split into `columns` rows each: within a step, all first parts, then all second parts.

        Entries columns * start ... columns * stop belong to a step.
        """
        found = self._by_column.get(columns)
        if found is None:
            found = self._by_column[columns] = np.empty(columns * self.total, np.int64)
            target = columns * self._starts[self._step_of] + self._place
            width = self._alive[self._step_of]
            for column in range(columns):
                found[target + column * width] = columns * self.rows + column
        return found

    def start_state(self, k: Call, given: Array | None, width: int, dtype: npt.DTypeLike) -> Array:
        """Return the state before the first step, one row for each sequence that is not empty."""
        if given is None:
            return k.xp.zeros((self.first, width), dtype)
        if given.shape[0] != self.order.size or given.shape[-1] != width:
            raise EnforceNotMet(
                f"the initial state must have shape [{self.order.size}, {width}], got {list(given.shape)}"
            )
        return given[k.dev.upload(self.order[: self.first])]

    def previous(self, k: Call, values: Array, start: Array) -> Array:
        """Return for every row its sequence's value one step earlier; `start` for the first step."""
        out = k.xp.empty_like(values)
        out[: self.first] = start
        out[self.first :] = values[k.dev.upload(self.before)]
        return out

    def state_grad(self, k: Call, given: Any, grad: Any) -> Any:
        """Return the gradient of an initial state from that of its sorted rows."""
        out = k.xp.zeros_like(given)
        if grad is not None:
            out[k.dev.upload(self.order[: self.first])] = grad
        return out


@lru_cache(maxsize=16)
def _cached(offsets: bytes, reverse: bool) -> TimeMajor:
    return TimeMajor(np.frombuffer(offsets, np.int64), reverse)


def time_major(offsets: IntArray, reverse: bool = False) -> TimeMajor:
    """Return the order of rows by time; ops on the same sequences (and their gradients) share it."""
    return _cached(np.ascontiguousarray(offsets, np.int64).tobytes(), reverse)


@dataclass(frozen=True)
class Activation:
    """A function applied to an array in place, and its derivative in terms of the result."""

    name: str
    apply: Callable[[Any, Any], None]
    slope: Callable[[Any], Any]


def _sigmoid(xp: ArrayLibrary | ModuleType, x: Array) -> None:
    half = x.dtype.type(0.5)
    x *= half
    xp.tanh(x, out=x)
    x *= half
    x += half


SIGMOID_TOP = 13.0
"""Fluid: the sigmoid of recurrent ops takes no larger number, so a gate is 0.9999977 at most."""


def _cut_sigmoid(xp: ArrayLibrary | ModuleType, x: Array) -> None:
    xp.minimum(x, x.dtype.type(SIGMOID_TOP), out=x)
    _sigmoid(xp, x)


def _tanh(xp: ArrayLibrary | ModuleType, x: Array) -> None:
    xp.tanh(x, out=x)


def _relu(xp: ArrayLibrary | ModuleType, x: Array) -> None:
    xp.maximum(x, x.dtype.type(0), out=x)


def _identity(xp: ArrayLibrary | ModuleType, x: Array) -> None:
    return None


ACTIVATIONS = {
    "sigmoid": Activation("sigmoid", _sigmoid, lambda y: y * (1 - y)),
    "tanh": Activation("tanh", _tanh, lambda y: 1 - y * y),
    "relu": Activation("relu", _relu, lambda y: (y > 0).astype(y.dtype)),
    "identity": Activation("identity", _identity, lambda y: y * 0 + 1),
}


_CUT_SIGMOID = Activation("sigmoid", _cut_sigmoid, ACTIVATIONS["sigmoid"].slope)
_VECTOR = {
    "sigmoid": Activation("sigmoid", vector_gates.sigmoid, ACTIVATIONS["sigmoid"].slope),
    "tanh": Activation("tanh", vector_gates.tanh, ACTIVATIONS["tanh"].slope),
}


def recurrent_activation(name: str, *, vector: bool = False) -> Activation:
    """Return an activation for ops over sequences; `vector` means that Fluid uses its vector kernels."""
    if vector and name in _VECTOR:
        return _VECTOR[name]
    return _CUT_SIGMOID if name == "sigmoid" else activation(name)


def activation(name: str) -> Activation:
    """Return an activation by name."""
    found = ACTIVATIONS.get(name or "identity")
    if found is None:
        raise EnforceNotMet(f"unknown activation {name!r}: use one of {', '.join(sorted(ACTIVATIONS))}")
    return found

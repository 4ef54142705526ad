"""Draw a program of layer calls, step by step; the drawer knows the shape of each value it has."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.differential.tensors import literal

__all__ = ["MOVES", "ProgramDraw", "Value", "move", "var"]

BATCH = 4


class Value(NamedTuple):
    """A Variable of the program: its handle, its kind and the shape of one row (images: channels, height, width)."""

    handle: str
    kind: str
    shape: tuple[int, ...]


def var(value: Value | str) -> dict[str, str]:
    """Write a Variable as an argument."""
    return {"var": value if isinstance(value, str) else value.handle}


class ProgramDraw:
    """Collect inputs and steps. `call` appends a layer call, `feed` an input; moves build on `self.values`."""

    def __init__(self, rng: random.Random, runs: int) -> None:
        self.rng = rng
        self.numpy = np.random.RandomState(rng.randrange(2**31))
        self.runs = runs
        self.inputs: dict[str, Any] = {}
        self.steps: list[dict[str, Any]] = []
        self.values: list[Value] = []
        self.losses: list[str] = []
        self.count = 0
        self.lengths = [[self.rng.randint(1, 4) for _ in range(BATCH)] for _ in range(runs)]
        self.inner = [[self.rng.randint(1, 3) for _ in range(sum(lengths))] for lengths in self.lengths]
        self.how = self.pick("data", "layers")

    # -- choices

    def chance(self, probability: float = 0.5) -> bool:
        return self.rng.random() < probability

    def pick(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def size(self, low: int = 1, high: int = 4) -> int:
        return self.rng.randint(low, high)

    def number(self, low: float, high: float) -> float:
        return round(self.rng.uniform(low, high), 3)

    def some(self, **choices: Sequence[Any]) -> dict[str, Any]:
        """Return keyword arguments, each left out half of the time."""
        return {name: self.pick(*values) for name, values in choices.items() if self.chance()}

    # -- inputs

    def feed(self, kind: str, shape: tuple[int, ...], low: float = -1.0, high: float = 1.0) -> Value:
        """Make an input of floats; a sequence ("seq") has LoD, one of sequences ("deep") two levels."""
        values = []
        for run in range(self.runs):
            rows, lod = self._rows(kind, run)
            array = np.round(self.numpy.uniform(low, high, (rows, *shape)), 3).astype("float32")
            values.append(literal(array, lod))
        return self._input(kind, shape, "float32", values)

    def feed_ids(self, kind: str, high: int, width: int = 1) -> Value:
        """Make an input of integers below `high`, one in each row."""
        values = []
        for run in range(self.runs):
            rows, lod = self._rows(kind, run)
            array = self.numpy.randint(0, high, (rows, width)).astype("int64")
            values.append(literal(array, lod))
        return self._input(kind, (width,), "int64", values)

    def _rows(self, kind: str, run: int) -> tuple[int, list[list[int]] | None]:
        """Return the number of rows and the LoD of an input."""
        if kind.startswith("deep"):
            return sum(self.inner[run]), [self.lengths[run], self.inner[run]]
        if kind.startswith("seq"):
            return sum(self.lengths[run]), [self.lengths[run]]
        return BATCH, None

    def _input(self, kind: str, shape: tuple[int, ...], dtype: str, values: list[Any]) -> Value:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = {
            "shape": [-1, *shape],
            "dtype": dtype,
            "lod_level": 2 if kind.startswith("deep") else 1 if kind.startswith("seq") else 0,
            "values": values,
            "how": self.how,
            "stop_gradient": dtype != "float32" or self.chance(0.7),
        }
        return Value(name, kind, shape)

    # -- steps

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def call(self, layer: str, *args: Any, **kw: Any) -> str:
        """Append a call of a layer and return the handle of its result."""
        name = layer if "." in layer or layer == "gradients" else f"layers.{layer}"
        written = [var(arg) if isinstance(arg, Value) else arg for arg in args]
        out = kw.pop("out", None) or self.fresh()
        self.steps.append({"do": "call", "name": name, "args": written, "kw": kw, "out": out})
        return out if isinstance(out, str) else str(out[0])

    def operate(self, sign: str, left: Any, right: Any) -> str:
        out = self.fresh()
        self.steps.append({"do": "operator", "sign": sign, "left": left, "right": right, "out": out})
        return out

    def add(self, handle: str, kind: str, shape: Sequence[int]) -> Value:
        value = Value(handle, kind, tuple(shape))
        self.values.append(value)
        return value

    def latest(self, *kinds: str) -> Value | None:
        """Return a value of one of these kinds, a late one more often."""
        found = [value for value in self.values if value.kind in kinds]
        if not found:
            return None
        return found[-1] if self.chance(0.7) else self.rng.choice(found)


Move = Callable[[ProgramDraw, Value], None]
MOVES: dict[str, list[tuple[str, Move]]] = {}


def move(*kinds: str) -> Callable[[Move], Move]:
    """Register a function that builds on a value of one of these kinds."""

    def register(function: Move) -> Move:
        for kind in kinds:
            MOVES.setdefault(kind, []).append((function.__name__, function))
        return function

    return register

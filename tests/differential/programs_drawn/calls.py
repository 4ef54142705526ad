"""Programs of one call: a layer with drawn arguments, its results and its gradients."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.differential.tensors import literal

__all__ = ["CALLS", "CallDraw", "call", "draw_call"]

Lod = list[list[int]]


class CallDraw:
    """Draw the inputs and arguments of one call. `f`, `i`, `b` make inputs, `out` appends the call."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self.name = name
        self.rng = rng
        self.numpy = np.random.RandomState(rng.randrange(2**31))
        self.inputs: dict[str, Any] = {}
        self.steps: list[dict[str, Any]] = []
        self.open = self.chance(0.6)  # first dims are declared as -1
        self.differentiated = True
        self.values_only = False  # the ops may be others than 1.8.5's
        self.fetched: list[str] = []

    def chance(self, probability: float = 0.5) -> bool:
        return self.rng.random() < probability

    def pick(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def size(self, low: int = 1, high: int = 4) -> int:
        return self.rng.randint(low, high)

    def shape(self, low: int = 1, high: int = 4) -> list[int]:
        return [self.size() for _ in range(self.size(low, high))]

    def some(self, **choices: Any) -> dict[str, Any]:
        """Return keyword arguments, each left out half of the time."""
        return {name: self.pick(*values) for name, values in choices.items() if self.chance()}

    def lengths(self, count: int | None = None, least: int = 1, most: int = 4) -> list[int]:
        return [self.size(least, most) for _ in range(count or self.size(1, 3))]

    # -- inputs

    def f(self, *shape: int, low: float = -2.0, high: float = 2.0, lod: Lod | None = None, fixed: bool = False) -> Any:
        """Make an input of floats."""
        return self.put(np.round(self.numpy.uniform(low, high, shape), 3).astype("float32"), lod, fixed)

    def apart(self, *shape: int, low: float = -2.0, high: float = 2.0) -> Any:
        """Make an input of floats that all differ."""
        values = np.round(np.linspace(low, high, int(np.prod(shape))), 4)
        return self.put(self.numpy.permutation(values).reshape(shape).astype("float32"))

    def i(
        self, high: int, *shape: int, low: int = 0, dtype: str = "int64", lod: Lod | None = None, fixed: bool = False
    ) -> Any:
        """Make an input of integers below `high`."""
        return self.put(self.numpy.randint(low, high, shape).astype(dtype), lod, fixed)

    def b(self, *shape: int) -> Any:
        """Make an input of booleans."""
        return self.put(self.numpy.rand(*shape) < 0.5)

    def put(self, array: Any, lod: Lod | None = None, fixed: bool = False) -> Any:
        name = f"x{len(self.inputs)}"
        array = np.asarray(array)
        declared = list(array.shape)
        if declared and not fixed and self.open:
            declared[0] = -1
        floats = array.dtype.kind == "f"
        self.inputs[name] = {
            "shape": declared,
            "dtype": str(array.dtype),
            "lod_level": len(lod or []),
            "values": [literal(array, lod)],
            "how": "data" if self.chance() else "layers",
            "stop_gradient": not floats,
        }
        return {"var": name}

    # -- the call

    def before(self, name: str, *args: Any, **kw: Any) -> Any:
        """Append another layer whose result is an argument."""
        handle = f"v{len(self.steps)}"
        step = {"do": "call", "name": name if "." in name else f"layers.{name}", "args": list(args), "kw": kw}
        self.steps.append({**step, "out": handle})
        return {"var": handle}

    def number(self, value: float, dtype: str = "int32") -> Any:
        """Return a number, or a Variable of it."""
        return self.before("fill_constant", [1], dtype, value) if self.chance(0.3) else value

    def out(self, *args: Any, **kw: Any) -> None:
        """Append the call itself."""
        name = self.name if "." in self.name else f"layers.{self.name}"
        self.steps.append({"do": "call", "name": name, "args": list(args), "kw": kw, "out": "out"})
        self.fetched.append("out")

    def no_grad(self) -> None:
        self.differentiated = False

    def case(self) -> dict[str, Any]:
        steps, fetch = list(self.steps), list(self.fetched)
        wrt = [name for name, given in self.inputs.items() if not given["stop_gradient"]]
        if self.differentiated and wrt:
            steps.append({"do": "gradients", "of": list(fetch), "wrt": wrt})
            fetch += [name + "@GRAD" for name in wrt]
        case = {"inputs": self.inputs, "steps": steps, "fetch": fetch, "seed": self.size(1, 99), "persistables": True}
        return {**case, "values_only": True} if self.values_only else case


Drawing = Callable[[CallDraw], None]
CALLS: dict[str, tuple[Drawing, bool]] = {}


def call(*names: str, grad: bool = True) -> Callable[[Drawing], Drawing]:
    """Register the function that draws calls of these layers."""

    def register(function: Drawing) -> Drawing:
        for name in names:
            assert name not in CALLS, name
            CALLS[name] = (function, grad)
        return function

    return register


def draw_call(name: str, rng: random.Random) -> dict[str, Any]:
    """Return a program of one call."""
    function, grad = CALLS[name]
    draw = CallDraw(name, rng)
    if not grad:
        draw.no_grad()
    function(draw)
    return draw.case()

"""A small linear regression, trained a few steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio.program import Program
from fluidio.testing import fresh

FEATURES = 4


def batch(step: int, rows: int = 5) -> dict[str, Any]:
    """Return the batch of a step; the target is a fixed linear map of x."""
    rng = np.random.default_rng(step)
    x = rng.normal(size=(rows, FEATURES)).astype("float32")
    return {"x": x, "y": (x @ np.arange(1, FEATURES + 1, dtype="float32"))[:, None]}


def build(**layer: Any) -> Any:
    """Declare the network and return its loss."""
    x = fluid.layers.data("x", [FEATURES])
    y = fluid.layers.data("y", [1])
    return fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1, **layer), y))


def train(finish: Callable[[Any], Any], steps: int = 20, **layer: Any) -> tuple[list[float], Any]:
    """Train with what `finish(loss)` appends and return the losses and the final weight."""
    with fresh() as (main, startup):
        main.random_seed = startup.random_seed = 7
        loss = build(**layer)
        finish(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        losses = [float(exe.run(main, feed=batch(step), fetch_list=[loss])[0]) for step in range(steps)]
        return losses, weight()


def weight(name: str = "fc_0.w_0") -> Any:
    variable = fluid.global_scope().find_var(name)
    assert variable is not None
    return np.array(variable.get_tensor())


def op_types(program: Program) -> list[str]:
    return [op.type for op in program.global_block().ops]

"""A small classifier for the tests of saving and loading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import fluidio as fluid

MODELS = Path(__file__).parent.parent / "data" / "models"


def classifier(train: bool = True) -> tuple[Any, Any]:
    """Declare x [n, 6] -> 3 classes; return (prediction, loss)."""
    x = fluid.layers.data("x", [6])
    y = fluid.layers.data("y", [1], dtype="int64")
    hidden = fluid.layers.fc(x, 5, act="relu")
    prediction = fluid.layers.fc(hidden, 3, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(prediction, y))
    if train:
        fluid.optimizer.Adam(0.01).minimize(loss)
    return prediction, loss


def trained() -> tuple[Any, Any, Any]:
    """Declare the classifier and run it a few steps; return (executor, prediction, loss)."""
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    main.random_seed = startup.random_seed = 5
    prediction, loss = classifier()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    for _ in range(3):
        exe.run(main, feed=batch(), fetch_list=[])
    return exe, prediction, loss


def batch() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {"x": rng.normal(size=(4, 6)).astype("float32"), "y": rng.integers(0, 3, (4, 1))}


def value(name: str) -> Any:
    """Return a copy of a variable of the global scope."""
    held = fluid.global_scope().find_var(name)
    assert held is not None
    return np.array(held.get_tensor())


def persistables() -> dict[str, Any]:
    """Return the values of all persistable variables of the main program."""
    program = fluid.default_main_program()
    return {v.name: value(v.name) for v in program.list_vars() if fluid.io.is_persistable(v)}


def forget() -> None:
    """Fill every persistable variable with 77."""
    for name in persistables():
        held = fluid.global_scope().find_var(name)
        assert held is not None
        held.get_tensor().array[...] = 77

"""`fluid.install_check.run_check()`: train one step of a tiny network."""

from __future__ import annotations

import numpy as np

from fluidio import layers
from fluidio.executor import Executor
from fluidio.optimizer import SGD
from fluidio.places import CPUPlace
from fluidio.program import Program, program_guard, unique_name
from fluidio.tensor import Scope, scope_guard

__all__ = ["run_check"]


def run_check() -> None:
    """Build, train and run a one-layer network, and print that it works."""
    main, startup = Program(), Program()
    with program_guard(main, startup), scope_guard(Scope()), unique_name.guard():
        x = layers.data("x", [2])
        loss = layers.mean(layers.fc(x, size=1))
        SGD(0.1).minimize(loss)
        exe = Executor(CPUPlace())
        exe.run(startup)
        feed = {"x": np.ones((3, 2), "float32")}
        first, second = (float(exe.run(main, feed=feed, fetch_list=[loss])[0]) for _ in range(2))
    if not second < first:
        raise RuntimeError(f"the installation does not train: a step of SGD changed the loss from {first} to {second}")
    print("fluidio is installed and trains on the CPU.")

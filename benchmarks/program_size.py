"""Print the cost of one layer in programs of growing length: to build, train, compile and run.

Run: python benchmarks/program_size.py

Every column should stay the same from line to line.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fluidio as fluid

SIZES = (250, 500, 1000, 2000)
PLAN_OPS = (2500, 5000, 10000, 20000)


def seconds(call: Callable[[], object]) -> float:
    """Return the processor time of one call, without garbage collection of earlier programs."""
    gc.collect()
    start = time.process_time()
    call()
    return time.process_time() - start


def network(size: int) -> Any:
    """Build `size` fully connected layers and return their mean."""
    h = fluid.layers.data("x", shape=[8])
    for _ in range(size):
        h = fluid.layers.fc(h, 8, act="tanh")
    return fluid.layers.mean(h)


def layer_costs(size: int) -> list[float]:
    """Return milliseconds for each layer: build, minimize, startup, first run, next run."""
    main, startup = fluid.Program(), fluid.Program()
    made: list[Any] = []
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        exe = fluid.Executor(fluid.CPUPlace())
        feed = {"x": np.ones((4, 8), np.float32)}
        steps = [
            lambda: made.append(network(size)),
            lambda: fluid.optimizer.SGD(0.01).minimize(made[0]),
            lambda: exe.run(startup),
            lambda: exe.run(main, feed=feed, fetch_list=[made[0]]),
            lambda: exe.run(main, feed=feed, fetch_list=[made[0]]),
        ]
        return [seconds(step) / size * 1000 for step in steps]


def plan_costs(ops: int) -> list[float]:
    """Return microseconds for each op of a chain: compile and run the plan, run it again."""
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
        h = fluid.layers.data("x", shape=[8])
        for _ in range(ops):
            h = fluid.layers.scale(h, scale=1.0)
    exe = fluid.Executor(fluid.CPUPlace())
    feed = {"x": np.ones((4, 8), np.float32)}
    return [seconds(lambda: exe.run(main, feed=feed, fetch_list=[h])) / ops * 1e6 for _ in range(2)]


def main() -> None:
    """Measure and print."""
    layer_costs(10)
    plan_costs(10)
    print("fc layers   build  minimize  startup  first run  next run   (ms for each layer)")
    for size in SIZES:
        print(f"{size:9}  {'  '.join(f'{cost:7.3f}' for cost in layer_costs(size))}")
    print("ops         compile and run  run   (us for each op)")
    for ops in PLAN_OPS:
        print(f"{ops:9}  {'  '.join(f'{cost:7.1f}' for cost in plan_costs(ops))}")


if __name__ == "__main__":
    main()

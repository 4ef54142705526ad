"""Print the overhead of one `exe.run` beyond the arithmetic: a program of one op, and one with a feed and a fetch.

Run: python benchmarks/executor_overhead.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import fluidio as fluid


def microseconds(call: Callable[[], object], repeats: int = 2000, rounds: int = 9) -> float:
    """Return the time of one call in the best of several rounds."""
    call()
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        best = min(best, time.perf_counter() - start)
    return best / repeats * 1e6


def trivial() -> Callable[[], object]:
    """Return a run of one `fill_constant` without fetch."""
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        fluid.layers.fill_constant([1], "float32", 1.0)
    exe = fluid.Executor(fluid.CPUPlace())
    return lambda: exe.run(main)


def three_ops() -> Callable[[], object]:
    """Return a run of abs, exp and mean with one feed and one fetch."""
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        x = fluid.layers.data("x", shape=[4])
        y = fluid.layers.mean(fluid.layers.exp(fluid.layers.abs(x)))
    exe = fluid.Executor(fluid.CPUPlace())
    feed = {"x": np.ones((2, 4), np.float32)}
    return lambda: exe.run(main, feed=feed, fetch_list=[y])


def main() -> None:
    """Measure and print."""
    print(f"fill_constant, no fetch       {microseconds(trivial()):6.1f} us per run (at most 15; Fluid 1.8.5: 361)")
    print(f"3 ops with feed and fetch     {microseconds(three_ops()):6.1f} us per run (at most 30; Fluid 1.8.5: 1,000)")


if __name__ == "__main__":
    main()

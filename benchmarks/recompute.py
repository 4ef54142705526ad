"""What RecomputeOptimizer saves: peak memory and time of a step of a deep network, with and without it."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

import fluidio as fluid

LAYERS, SIZE, BATCH, EVERY = 32, 256, 8192, 6


def run(recomputes: bool) -> None:
    """Train a few steps and print peak memory beyond the imports, the time of a step, and the loss."""
    fluid.default_startup_program().random_seed = 1
    x = fluid.layers.data("x", [SIZE])
    held = []
    for number in range(LAYERS):
        x = fluid.layers.fc(x, SIZE, act="tanh")
        if number % EVERY == EVERY - 1:
            held.append(x)
    loss = fluid.layers.mean(fluid.layers.square(x))
    optimizer = fluid.optimizer.SGD(0.1)
    if recomputes:
        optimizer = fluid.optimizer.RecomputeOptimizer(optimizer)
        optimizer._set_checkpoints(held)
    optimizer.minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    feed = {"x": np.random.default_rng(0).standard_normal((BATCH, SIZE), dtype=np.float32)}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    exe.run(fluid.default_startup_program())
    took = []
    for _ in range(5):
        began = time.perf_counter()
        (found,) = exe.run(feed=feed, fetch_list=[loss])
        took.append(time.perf_counter() - began)
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(peak, 1000 * float(np.median(took)), float(found[0]))


def main() -> None:
    """Measure each in a process of its own and print."""
    rows = []
    for recomputes in ("", "recompute"):
        done = subprocess.run([sys.executable, __file__, recomputes or "plain"], capture_output=True, text=True)
        rows.append([float(number) for number in done.stdout.split()])
    (plain, plain_ms, loss), (less, less_ms, same) = rows
    assert loss == same, (loss, same)
    print(f"plain: {plain:.0f} MB, {plain_ms:.0f} ms a step")
    print(f"RecomputeOptimizer: {less:.0f} MB ({less / plain - 1:+.0%}), {less_ms:.0f} ms a step, the same losses")


if __name__ == "__main__":
    main() if len(sys.argv) < 2 else run(sys.argv[1] == "recompute")

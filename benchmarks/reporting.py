"""Print the cost of observing a run: single steps of several sizes with and without a recorder, alternating.

Run: OMP_NUM_THREADS=1 python benchmarks/reporting.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import fluidio as fluid
from fluidio.pages.recorder import Recorder


def training_step(width: int, batch: int) -> Callable[[], object]:
    """Return one training step of a small network of fully connected layers."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        x, y = fluid.layers.data("x", [width]), fluid.layers.data("y", [1], dtype="int64")
        hidden = fluid.layers.fc(fluid.layers.fc(x, size=width, act="relu"), size=width, act="relu")
        loss = fluid.layers.mean(fluid.layers.cross_entropy(fluid.layers.fc(hidden, size=10, act="softmax"), y))
        fluid.optimizer.SGD(0.01).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    feed = {"x": np.ones((batch, width), np.float32), "y": np.zeros((batch, 1), np.int64)}
    return lambda: exe.run(main, feed=feed, fetch_list=[loss])


def seconds_of(step: Callable[[], object], steps: int, rounds: int) -> tuple[float, float]:
    """Return the average time of a step, alone and observed: medians of alternating rounds."""
    recorder = Recorder()
    alone: list[float] = []
    watched: list[float] = []
    for _ in range(rounds):
        alone.append(_mean(step, steps))
        recorder.start()
        watched.append(_mean(step, steps))
        recorder.stop()
    return float(np.median(alone)), float(np.median(watched))


def _mean(step: Callable[[], object], steps: int) -> float:
    began = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - began) / steps


def main() -> None:
    """Measure and print."""
    for width, batch, steps in ((4, 2, 20000), (16, 8, 2000), (64, 32, 1500), (128, 64, 1000), (256, 256, 200)):
        alone, watched = seconds_of(training_step(width, batch), steps, 9)
        share = 100 * (watched / alone - 1)
        print(
            f"a step of {1000 * alone:5.2f} ms: {1e6 * (watched - alone):+5.0f} us while it is watched ({share:+.1f} %)"
        )


if __name__ == "__main__":
    main()

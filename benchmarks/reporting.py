"""Print what it costs to observe a run, for steps of several lengths.

Short blocks of steps alternate: alone, observed, alone. Each triple gives one ratio of processor times, so that slow
changes of the machine cancel out; the median of many triples and its 95 % interval are printed. The two blocks alone
are compared with each other in the same way: their difference is what the method cannot tell from nothing.

Run: OMP_NUM_THREADS=1 python benchmarks/reporting.py [SECONDS_FOR_EACH_LENGTH]
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import fluidio as fluid
from fluidio import recordio
from fluidio.flow.observer import OBSERVERS
from fluidio.pages.recorder import Recorder

_BLOCK = 0.1
"""Seconds of a block; at least 20 steps. With fewer than two observed steps in a block, the first weighs too much."""


class Share(NamedTuple):
    """The median of paired differences, in percent, and the ends of its 95 % interval."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:+.2f} % ({self.low:+.2f} to {self.high:+.2f})"


def training_step(width: int, batch: int, path: str = "") -> Callable[[], object]:
    """Return one training step of a small network of fully connected layers, which is fed or reads a file."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        if path:
            x, y = _read(path, width, batch)
        else:
            x, y = fluid.layers.data("x", [width]), fluid.layers.data("y", [1], dtype="int64")
        hidden = fluid.layers.fc(fluid.layers.fc(x, size=width, act="relu"), size=width, act="relu")
        loss = fluid.layers.mean(fluid.layers.cross_entropy(fluid.layers.fc(hidden, size=10, act="softmax"), y))
        fluid.optimizer.SGD(0.01).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    feed = {} if path else {"x": np.ones((batch, width), np.float32), "y": np.zeros((batch, 1), np.int64)}
    return lambda: exe.run(main, feed=feed, fetch_list=[loss])


def _read(path: str, width: int, batch: int) -> list[fluid.Variable]:
    """Write a file of records and return the variables of a pipeline that reads it a million times."""
    with recordio.Writer(path) as writer:
        writer.write_block([np.ones((5000, width), np.float32), np.zeros((5000, 1), np.int64)])
    reader = fluid.layers.open_files(
        [path], shapes=[(-1, width), (-1, 1)], lod_levels=[0, 0], dtypes=["float32", "int64"], pass_num=1_000_000
    )
    return fluid.layers.read_file(fluid.layers.double_buffer(fluid.layers.batch(reader, batch_size=batch)))


def measure(step: Callable[[], object], seconds: float) -> tuple[float, Share, Share, int]:
    """Return the seconds of a step, the cost of observing it, the same between unobserved blocks, and the triples."""
    recorder = Recorder()
    recorder.start()
    _cpu(step, 300)  # past the first steps, which are all observed
    recorder.stop()
    length = _cpu(step, 50)
    steps = max(20, round(_BLOCK / length))
    triples = max(15, round(seconds / (3 * steps * length)))
    times = np.empty((triples, 3))
    for row in times:
        row[0] = _cpu(step, steps)
        recorder.start()
        row[1] = _cpu(step, steps)
        recorder.stop()
        row[2] = _cpu(step, steps)
    alone = (times[:, 0] + times[:, 2]) / 2
    return float(np.median(alone)), _share(times[:, 1] / alone), _share(times[:, 2] / times[:, 0]), triples


def _cpu(step: Callable[[], object], steps: int) -> float:
    """Return the average processor time of a step, in all threads."""
    began = time.process_time()
    for _ in range(steps):
        step()
    return (time.process_time() - began) / steps


def _share(ratios: np.ndarray) -> Share:
    ordered = 100 * (np.sort(ratios) - 1)
    reach = 0.98 * math.sqrt(len(ordered))  # of the order statistics that enclose the median
    middle = (len(ordered) - 1) / 2
    low, high = max(0, math.floor(middle - reach)), min(len(ordered) - 1, math.ceil(middle + reach))
    return Share(float(np.median(ordered)), float(ordered[low]), float(ordered[high]))


def main() -> None:
    """Measure and print."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    with tempfile.TemporaryDirectory() as folder:
        for reads in (False, True):
            path = os.path.join(folder, "data.recordio") if reads else ""
            for width, batch in ((4, 2), (128, 64), (256, 128), (512, 320)):
                length, observed, nothing, triples = measure(training_step(width, batch, path), seconds)
                kind = "that read files" if reads else "that are fed"
                print(
                    f"steps of {1000 * length:.2f} ms {kind}: observed {observed}, not observed {nothing}, "
                    f"{triples} triples",
                    flush=True,
                )
    checks = 1_000_000
    check = timeit.timeit("observers.all", globals={"observers": OBSERVERS}, number=checks) / checks
    print(f"off: one look at a tuple for each step, read and wait, {1e9 * check:.0f} ns each")


if __name__ == "__main__":
    main()

"""Compare the graph path with `recordio.iter_batches`: records a second and a CPU second, best of some rounds.

    python benchmarks/graph.py [--rounds 5] [--only plain]

Graph path: open_files (8 files, 2 threads) -> shuffle -> batch 128 -> double_buffer -> read_file, in a program that
does nothing else. W1: 60,000 records of 784 float32 and a label.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import fluidio as fluid
from fluidio import recordio

FILES, BATCH = 8, 128


class Case(NamedTuple):
    """A kind of files, and whether they are shuffled."""

    compressor: str = "none"
    width: int = 784
    chunk: int = 1000
    shuffle: int = 0


CASES = {
    "plain": Case(),
    "shuffle": Case(shuffle=10_000),
    "snappy": Case("snappy"),
    "snappy-shuffle": Case("snappy", shuffle=10_000),
    "1KB-small-chunks": Case(width=256),
    "1KB-large-chunks": Case(width=256, chunk=7500),
}


def write(folder: str, case: Case) -> list[str]:
    """Write the files of a case, once."""
    rng, per_file = np.random.default_rng(0), 60_000 // FILES
    paths = [os.path.join(folder, f"{case.compressor}-{case.width}-{case.chunk}-{i}.recordio") for i in range(FILES)]
    for path in paths:
        if not os.path.exists(path):
            images = np.round(rng.random((per_file, case.width), np.float32) * 20).astype("float32")
            with recordio.Writer(path, case.compressor, max_num_records=case.chunk) as writer:
                writer.write_block([images, np.arange(per_file, dtype="int64").reshape(-1, 1)])
    return paths


def direct(paths: list[str], case: Case) -> int:
    """Read through iter_batches."""
    return sum(len(y) for _, y in recordio.iter_batches(paths, BATCH, shuffle=case.shuffle or False))


def graph(paths: list[str], case: Case) -> Callable[[], int]:
    """Return a function that reads an epoch through a program."""
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    slots: Any = {"shapes": [(-1, case.width), (-1, 1)], "lod_levels": [0, 0], "dtypes": ["float32", "int64"]}
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        source = fluid.layers.open_files(paths, thread_num=2, **slots)
        reader = fluid.layers.shuffle(source, case.shuffle) if case.shuffle else source
        _, label = fluid.layers.read_file(
            fluid.layers.double_buffer(fluid.layers.batch(reader, BATCH, drop_last=False))
        )
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup, scope=scope)

    def epoch() -> int:
        with fluid.scope_guard(scope):
            source.reset()
            return sum(len(labels) for (labels,) in exe.epoch(main, fetch_list=[label], reader=source))

    return epoch


def best(rounds: int, ways: dict[str, Callable[[], int]]) -> dict[str, tuple[float, float]]:
    """Return the best records a second and a CPU second of each way, in interleaved rounds."""
    found: dict[str, tuple[float, float]] = dict.fromkeys(ways, (0.0, 0.0))
    for round_ in range(rounds + 1):  # the first one warms up
        for name, way in ways.items():
            began, used = time.perf_counter(), time.process_time()
            count = way()
            rates = count / (time.perf_counter() - began), count / (time.process_time() - used)
            if round_:
                found[name] = max(found[name][0], rates[0]), max(found[name][1], rates[1])
    return found


def measure(rounds: int, only: str | None = None) -> None:
    """Measure all cases, or one."""
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CASES.items():
            if only in (None, name):
                paths = write(folder, case)
                ways = {"iter_batches": partial(direct, paths, case), "graph": graph(paths, case)}
                if case.shuffle:
                    ways["iter_batches, not shuffled"] = partial(direct, paths, case._replace(shuffle=0))
                found = best(rounds, ways)
                for way, (rate, per_cpu) in found.items():
                    ratios = f"{rate / found['iter_batches'][0]:5.2f} x {per_cpu / found['iter_batches'][1]:5.2f} x CPU"
                    print(f"{name:18} {way:28} {rate:12,.0f} records/s {per_cpu:12,.0f} /CPU s  {ratios}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=list(CASES))
    options = parser.parse_args()
    measure(options.rounds, options.only)


if __name__ == "__main__":
    main()

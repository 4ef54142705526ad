"""Measure readers: cost of a step compared with the real Fluid 1.8.5, overlap, threads, and the whole chain from files.

    python benchmarks/readers.py overhead --fluid185 "/path/to/fluid185" [--rounds 5]
    python benchmarks/readers.py overlap
    python benchmarks/readers.py threads
    python benchmarks/readers.py chain
    python benchmarks/readers.py graph

`overhead` starts a process for each framework in every round, one after the other, and compares medians and the best
rounds (on a busy machine only those mean much), and the medians of CPU time.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio.recordio import BlockReader, Writer

ROOT = Path(__file__).resolve().parents[1]
SLOTS: dict[str, Any] = {"shapes": [(-1, 784), (-1, 1)], "lod_levels": [0, 0], "dtypes": ["float32", "int64"]}


def overhead(options: argparse.Namespace) -> None:
    """Compare microseconds per step with the real framework, in interleaved rounds."""
    rows = str(ROOT / "benchmarks" / "reader_rows.py")
    commands = {"fluidio": [sys.executable, rows, str(options.batches)]}
    if options.fluid185:
        commands["1.8.5"] = [*shlex.split(options.fluid185), rows, str(options.batches)]
    found: dict[str, dict[str, list[tuple[float, float]]]] = {name: {} for name in commands}
    for _ in range(options.rounds):
        for name, command in commands.items():
            env = {**os.environ, **({"PYTHONPATH": str(ROOT)} if name == "fluidio" else {})}
            out = subprocess.run(
                command, env=env, capture_output=True, text=True, check=True, cwd=tempfile.gettempdir()
            )
            for row, times in json.loads(out.stdout.splitlines()[-1]).items():
                found[name].setdefault(row, []).append(times)
    picks: dict[str, tuple[Callable[[list[float]], float], int]] = {
        "median": (statistics.median, 0),
        "best": (min, 0),
        "CPU": (statistics.median, 1),
    }
    gap = " " * 9  # above the ratio
    titles = [f"{name + ' ' + what:>15}{gap * (name != 'fluidio')}" for what in picks for name in commands]
    print(f"{'us per step':44}", *titles)
    for row in found["fluidio"]:
        cells = []
        for pick, index in picks.values():
            values = [pick([times[index] for times in found[name][row]]) for name in commands]
            cells += [f"{value:15.1f}" for value in values]
            cells += [f"{values[0] / values[1]:6.2f} x"] if len(values) > 1 else []
        print(f"{row:44}", *cells)


def overlap(options: argparse.Namespace) -> None:
    """Run a source of 5 ms and a step of 5 ms, both of which release the interpreter lock."""
    x = fluid.layers.data("x", [4])
    loader = fluid.io.DataLoader.from_generator([x], capacity=4, iterable=True)
    count = 200

    def source() -> Iterator[Any]:
        for _ in range(count):
            time.sleep(0.005)
            yield [np.zeros((2, 4), "float32")]

    def measured(work: Callable[[], Any]) -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    loader.set_batch_generator(source, places=fluid.CPUPlace())
    alone = measured(lambda: [None for _ in source()])
    step = measured(lambda: [time.sleep(0.005) for _ in range(count)])
    both = measured(lambda: [time.sleep(0.005) for _ in loader()])
    print(
        f"source alone {alone:.3f} s, steps alone {step:.3f} s, together {both:.3f} s = {both / max(alone, step):.2f} x"
    )


def _write(folder: str, files: int, records: int, compressor: str) -> list[str]:
    rng = np.random.default_rng(0)
    paths = []
    for index in range(files):
        paths.append(os.path.join(folder, f"{compressor}-{index}.recordio"))
        with Writer(paths[-1], compressor, max_num_records=1000) as writer:
            images = np.round(rng.random((records, 784), np.float32) * 20).astype("float32")
            writer.write_block([images, np.arange(records, dtype="int64").reshape(-1, 1)])
    return paths


def _read_all(paths: list[str], threads: int, batch: int, double: bool) -> tuple[float, float]:
    """Return records per second, and per CPU second, of an epoch through a program that does nothing else."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        source = fluid.layers.open_files(paths, thread_num=threads, **SLOTS)
        reader = fluid.layers.batch(source, batch, drop_last=False)
        _, label = fluid.layers.read_file(fluid.layers.double_buffer(reader) if double else reader)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        for _ in range(2):  # the first epoch warms up
            source.reset()
            began, used, count = time.perf_counter(), time.process_time(), 0
            for (labels,) in exe.epoch(main, fetch_list=[label], reader=source):
                count += len(labels)
            rates = count / (time.perf_counter() - began), count / (time.process_time() - used)
    return rates


def _decode_all(paths: list[str]) -> tuple[float, float]:
    began, used, count = time.perf_counter(), time.process_time(), 0
    for path in paths:
        with BlockReader(path) as blocks:
            for block in blocks:
                count += len(block)
    return count / (time.perf_counter() - began), count / (time.process_time() - used)


def threads(options: argparse.Namespace) -> None:
    """Compare one and two reading threads."""
    with tempfile.TemporaryDirectory() as folder:
        for compressor in ("snappy", "none"):
            paths = _write(folder, 4, 20_000, compressor)
            rates: dict[int, list[float]] = {1: [], 2: []}
            for _ in range(options.rounds):
                for count, found in rates.items():
                    found.append(_read_all(paths, count, 128, False)[0])
            one, two = (statistics.median(rates[count]) for count in (1, 2))
            print(f"open_files, {compressor}: 1 thread {one:,.0f} records/s, 2 threads {two:,.0f} = {two / one:.2f} x")


def chain(options: argparse.Namespace) -> None:
    """Compare open_files (8 files) -> batch 128 -> double_buffer -> program with plain block decoding."""
    with tempfile.TemporaryDirectory() as folder:
        for compressor in ("snappy", "none"):
            paths = _write(folder, 8, 10_000, compressor)
            raw: list[tuple[float, float]] = []
            whole: list[tuple[float, float]] = []
            for _ in range(options.rounds):
                raw.append(_decode_all(paths))
                whole.append(_read_all(paths, 2, 128, True))
            for what, index in (("s", 0), ("CPU second", 1)):
                decoded, read = (statistics.median(rates[index] for rates in found) for found in (raw, whole))
                ratio = read / decoded
                print(f"{compressor}: blocks {decoded:,.0f} records/{what}, the chain {read:,.0f} = {ratio:.2f} x")


def graph(options: argparse.Namespace) -> None:
    """Compare the graph path with iter_batches, with and without shuffling, on several kinds of files."""
    from graph import measure

    measure(options.rounds)


def main() -> None:
    """Run one of the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["overhead", "overlap", "threads", "chain", "graph"])
    parser.add_argument("--fluid185", default="", help="command that runs a script with the real Fluid 1.8.5")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=1000)
    options = parser.parse_args()
    ways = {"overhead": overhead, "overlap": overlap, "threads": threads, "chain": chain, "graph": graph}
    ways[options.what](options)


if __name__ == "__main__":
    main()

"""Measure conversion: two workers against one, writing against the writers of other formats, memory of tiny records.

    python benchmarks/convert.py [--only workers,write,tiny] [--rows 20000] [--tiny 10000000] [--peer NAME=PYTHON]...

A peer runs in its own Python, on the same rows, in the same run: `--peer tfrecord=PYTHON` (with tensorflow),
`webdataset`, `array_record`, `mindrecord` (with mindspore). Absolute figures depend on the machine's load; compare the
ratios.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import fluidio
from fluidio.conversion import generate

ROWS = """
import numpy as np

def rows(count):
    random = np.random.default_rng(0)
    pool = random.integers(0, 255, size=(64, 3072), dtype=np.uint8)
    for row in range(count):
        yield pool[row % 64], row % 10
"""

BUSY = """
import os, sys, time, zlib

def task_number():
    return 16

def dict_data(task):
    data = bytes(range(256)) * 64
    for row in range(int(sys.argv[1])):
        for level in range(20):
            data = zlib.compress(data, 6)[:64] * 256
        yield {"data": data[:1024], "label": row}
    if len(sys.argv) > 2:
        open(sys.argv[2], "a").write(f"{os.getpid()} {time.process_time()}\\n")
"""

PEERS = {
    "tfrecord": """
import tensorflow as tf
def write(path, count):
    with tf.io.TFRecordWriter(path) as out:
        for image, label in rows(count):
            feature = {
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
            }
            out.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
""",
    "webdataset": """
import webdataset
def write(path, count):
    with webdataset.TarWriter(path + ".tar") as out:
        for number, (image, label) in enumerate(rows(count)):
            out.write({"__key__": f"{number:09d}", "image.bin": image.tobytes(), "cls": label})
""",
    "array_record": """
from array_record.python.array_record_module import ArrayRecordWriter
import struct
def write(path, count):
    out = ArrayRecordWriter(path, "group_size:1")
    for image, label in rows(count):
        out.write(image.tobytes() + struct.pack("<q", label))
    out.close()
""",
    "mindrecord": """
from mindspore.mindrecord import FileWriter
def write(path, count):
    out = FileWriter(path, 1)
    out.add_schema({"image": {"type": "bytes"}, "label": {"type": "int64"}}, "rows")
    held = []
    for image, label in rows(count):
        held.append({"image": image.tobytes(), "label": label})
        if len(held) == 1000:
            out.write_raw_data(held)
            held = []
    if held:
        out.write_raw_data(held)
    out.commit()
""",
}

RUN = """
import os, sys, time
count = int(sys.argv[2])
write(sys.argv[1] + ".warm", 100)
best = 1e9
for turn in range(3):
    start = time.perf_counter()
    write(sys.argv[1] + f".{turn}", count)
    best = min(best, time.perf_counter() - start)
print("seconds", best)
"""


OURS = """
from fluidio.conversion.rows import RowBuffer, slots_of
from fluidio.recordio import Writer
def write(path, count, compressor="none"):
    with Writer(path, compressor) as out:
        buffer = None
        for image, label in rows(count):
            row = {"image": image, "label": label}
            if buffer is None:
                buffer = RowBuffer(slots_of(row), 1000, 8 << 20)
            if buffer.add(row):
                out.write_block(buffer.take())
        if buffer is not None and buffer.rows:
            out.write_block(buffer.take())
"""


def say(name: str, value: str, target: str = "", met: bool | None = None) -> None:
    verdict = "" if met is None else ("  ok" if met else "  MISSED")
    print(f"{name:<34} {value:<44} {target:<24}{verdict}", flush=True)


def workers(folder: str, rows: int) -> None:
    script = os.path.join(folder, "busy.py")
    with open(script, "w") as file:
        file.write(BUSY)
    times: dict[tuple[str, int], float] = {}
    for turn in range(6):
        count = 1 + turn % 2
        note = os.path.join(folder, f"cpu{turn}")
        start, own = time.perf_counter(), time.process_time()
        generate(script, os.path.join(folder, f"busy{turn}", "x"), 4, workers=count, args=[str(rows), note])
        longest = max(cpu_of_workers(note)) + time.process_time() - own
        times["cpu", count] = min(longest, times.get(("cpu", count), longest))
        middle = time.perf_counter()
        bare(count, rows)
        end = time.perf_counter()
        for name, seconds in (("convert", middle - start), ("bare", end - middle)):
            times[name, count] = min(seconds, times.get((name, count), seconds))
    ratios = {name: times[name, 1] / times[name, 2] for name in ("convert", "bare")}
    one, two = times["convert", 1], times["convert", 2]
    say(
        "2 workers against 1",
        f"{one:.2f} s, {two:.2f} s: {ratios['convert']:.2f} x",
        ">= 1.8 x",
        ratios["convert"] >= 1.8,
    )
    by_cpu = times["cpu", 1] / times["cpu", 2]
    say(
        "  by CPU time of the longest worker", f"{by_cpu:.2f} x: estimate for two free cores", ">= 1.8 x", by_cpu >= 1.8
    )
    say("  the rows alone, nothing written", f"{ratios['bare']:.2f} x: what the machine gives")


def cpu_of_workers(note: str) -> list[float]:
    """Return the CPU seconds of each worker, as recorded by the template."""
    with open(note) as file:
        return list({pid: float(seconds) for pid, seconds in map(str.split, file)}.values())


def bare(workers: int, rows: int) -> None:
    """Make the same rows in bare processes and discard them: the best that two workers could do here."""
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        pool.map(functools.partial(make_rows, rows), range(16), 1)


def make_rows(rows: int, task: int) -> None:
    sys.argv = ["busy", str(rows)]  # the template reads its own arguments, not those of this benchmark
    names: dict[str, Any] = {}
    exec(BUSY, names)
    for _ in names["dict_data"](task):
        pass


def run_writer(python: str, source: str, path: str, rows: int) -> float | None:
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    command = [python, "-c", ROWS + source + RUN, path, str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1] if done.stderr else "failed", file=sys.stderr)
        return None
    return float(done.stdout.split("seconds")[-1])


def write(folder: str, rows: int, peers: dict[str, str]) -> None:
    size = rows * 3080
    found: dict[str, float] = {}
    for name, (python, source) in {
        "fluidio": (sys.executable, OURS),
        "fluidio, snappy": (sys.executable, OURS.replace('="none"', '="snappy"')),
        **{name: (python, PEERS[name]) for name, python in peers.items()},
    }.items():
        seconds = run_writer(python, source, os.path.join(folder, name.replace(", ", "-")), rows)
        if seconds is not None:
            found[name] = seconds
    others = [seconds for name, seconds in found.items() if not name.startswith("fluidio")]
    for name, seconds in found.items():
        fastest = found["fluidio"] <= min(others) if others and name == "fluidio" else None
        value = f"{rows / seconds:,.0f} rows/s, {size / seconds / 1e6:,.0f} MB/s"
        say(f"write, one process: {name}", value, ">= every peer" if fastest is not None else "", fastest)


def tiny(folder: str, count: int) -> None:
    def reader() -> Iterator[Any]:
        for number in range(count):
            if number == count // 10:
                peaks.append(_peak())
            yield number

    peaks: list[float] = []
    start = time.perf_counter()
    fluidio.convert(folder, reader, 4, "tiny")
    seconds = time.perf_counter() - start
    growth = _peak() - peaks[0]
    value = f"{count / seconds:,.0f} samples/s, memory +{growth:.1f} MB after 10 %"
    say(f"{count:,} tiny samples", value, "flat: <= 16 MB", growth <= 16)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="workers,write,tiny")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--busy-rows", type=int, default=300, help="rows of each of 16 tasks that cost CPU")
    parser.add_argument("--tiny", type=int, default=10_000_000)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    args = parser.parse_args()
    peers = dict(pair.split("=", 1) for pair in args.peer if "=" in pair)
    if len(peers) != len(args.peer) or not peers.keys() <= PEERS.keys():
        parser.error(f"--peer takes NAME=PYTHON, where NAME is one of {', '.join(PEERS)}")
    with tempfile.TemporaryDirectory() as folder:
        if "workers" in args.only:
            workers(folder, args.busy_rows)
        if "write" in args.only:
            write(folder, args.rows, peers)
        if "tiny" in args.only:
            tiny(folder, args.tiny)


if __name__ == "__main__":
    main()

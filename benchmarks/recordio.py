"""Measure RecordIO reading and writing against the floor of this machine, in one run.

    python benchmarks/recordio.py [--records 80000] [--only dense,ragged,write,index,get,memory] [--cpu]

The floor of a read is what no reader can avoid: a warm read into a reused buffer, the checksum, one strided copy out
of it (and the decompression). Absolute figures depend on the machine's load; compare the ratios.
"""

from __future__ import annotations

import argparse
import functools
import gc
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cramjam
import numpy as np

from fluidio import recordio
from fluidio.recordio.decode.buffers import Buffer
from fluidio.recordio.format.checksum import CRC32_IS_FAST, crc32
from fluidio.recordio_writer import convert_reader_to_recordio_file

CLOCK = time.perf_counter
STRIDE, IMAGE, LABEL = 3205, 35, 3197  # the layout of one record and its length word


def best(*jobs: Callable[[], Any], rounds: int = 7, threads: bool = False) -> list[float]:
    """Return the best time of each job; the jobs alternate, so that a busy moment affects them all.

    A job that uses `threads` is always measured in wall-clock time.
    """
    clock = time.perf_counter if threads else CLOCK
    times = [float("inf")] * len(jobs)
    gc.collect()
    for _ in range(rounds):
        for index, job in enumerate(jobs):
            start = clock()
            job()
            times[index] = min(times[index], clock() - start)
    return times


def say(name: str, value: str, target: str = "", met: bool | None = None) -> None:
    verdict = "" if met is None else ("  ok" if met else "  MISSED")
    print(f"{name:<46} {value:<36} {target:<18}{verdict}", flush=True)


# -- dense ------------------------------------------------------------------------------------------------------------


def dense_arrays(count: int) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (count, 784), np.uint8)
    pixels[:, random.random(784) < 0.6] = 0  # as in handwritten digits, most of the picture is empty
    return pixels.astype(np.float32) / np.float32(255), random.integers(0, 10, (count, 1))


def floor(path: str, compressed: bool) -> int:
    """Read, check, (decompress,) copy: nothing else."""
    stored, plain = Buffer(), Buffer()
    images, labels = np.empty((1000, 3136), np.uint8), np.empty((1000,), "<i8")
    total = 0
    with open(path, "rb", buffering=0) as file:
        while head := file.read(20):
            _, count, checksum, _, size = struct.unpack("<5I", head)
            data = stored.view(size)
            file.readinto(data)
            if crc32(data) != checksum:
                raise ValueError("checksum")
            if compressed:
                data = inflate(data, plain)
            images[:count] = np.ndarray((count, 3136), np.uint8, data, IMAGE, (STRIDE, 1))
            labels[:count] = np.ndarray((count,), "<i8", data, LABEL, (STRIDE,))
            total += count
    return total


def inflate(data: memoryview, plain: Buffer) -> memoryview:
    unpack, decompress = struct.Struct(">BH").unpack_from, cramjam.snappy.decompress_raw_into
    target, position, end = plain.view(4_000_000), 7, 0
    while position < len(data):
        flag, length = unpack(data, position)
        position += 7
        if flag:
            end += decompress(data[position : position + length], target[end : end + 32768])
        else:
            target[end : end + length] = data[position : position + length]
            end += length
        position += length
    return target[:end]


def batches(path: str, **options: Any) -> int:
    total = 0
    for batch in recordio.iter_batches(path, 128, **options):
        total += len(batch[-1])
    return total


def dense(folder: Path, count: int) -> None:
    images, labels = dense_arrays(count)
    for compressor in ("none", "snappy"):
        path = str(folder / f"dense-{compressor}.recordio")
        with recordio.Writer(path, compressor) as writer:
            writer.write_block([images, labels])
        least, ours = best(
            functools.partial(floor, path, compressor == "snappy"),
            functools.partial(batches, path, threads=0),
            rounds=9,
        )
        rates = f"{count / ours / 1e3:.0f} k rec/s, floor {count / least / 1e3:.0f} k"
        met = ours / least <= 1.35
        say(f"dense {compressor}, batches of 128: time / floor", f"{ours / least:.2f}  ({rates})", "<= 1.35", met)
        (ours,) = best(functools.partial(batches, path, threads=2), rounds=3, threads=True)
        say(f"dense {compressor}, two helpers", f"{count / ours / 1e3:.0f} k rec/s")
        (ours,) = best(functools.partial(batches, path, shuffle=True), rounds=3)
        say(f"dense {compressor}, shuffled", f"{count / ours / 1e3:.0f} k rec/s")


# -- ragged -----------------------------------------------------------------------------------------------------------


def ragged_columns(count: int) -> list[recordio.Column]:
    random = np.random.default_rng(1)
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(random.integers(1, 120, count), out=offsets[1:])
    ids = random.integers(0, 50000, (int(offsets[-1]), 1))
    return [recordio.Column(ids, offsets, (offsets,)), recordio.Column(random.integers(0, 2, (count, 1)))]


def ragged(folder: Path, count: int) -> None:
    path = str(folder / "ragged.recordio")
    columns = ragged_columns(count)

    def write() -> None:
        with recordio.Writer(path, "none") as writer:
            writer.write_block(columns)

    def blocks() -> int:
        with recordio.BlockReader(path) as reader:
            return sum(len(block) for block in reader)

    (writing,) = best(write, rounds=3)
    for name, ours in zip(("blocks", "batches of 128"), best(blocks, lambda: batches(path, threads=0))):
        rate = count / ours
        say(f"ragged, mean 60 + label, {name}", f"{rate / 1e3:.0f} k rec/s", ">= 800 (aim 1300)", rate >= 8e5)
    say("ragged, write from columns", f"{count / writing / 1e3:.0f} k rec/s")


# -- write ------------------------------------------------------------------------------------------------------------


def write(folder: Path, count: int) -> None:
    images, labels = dense_arrays(count)
    numbers = labels[:, 0].tolist()
    path = folder / "out.recordio"

    def samples() -> Iterator[tuple[Any, int]]:
        return zip(images, numbers)

    def from_arrays(compressor: str, threads: int = 0) -> None:
        with recordio.Writer(path, compressor, threads=threads) as writer:
            writer.write_block([images, labels])

    def from_samples(compressor: str) -> None:
        with recordio.Writer(path, compressor) as writer:
            writer.write_samples(samples())

    megabytes = count * STRIDE / 1e6
    (ours,) = best(lambda: from_arrays("none"), rounds=3)
    say("write dense from arrays, none", f"{megabytes / ours:.0f} MB/s", ">= 500", megabytes / ours >= 500)
    one, two = best(lambda: from_arrays("snappy"), lambda: from_arrays("snappy", 2), rounds=3, threads=True)
    say("write dense from arrays, snappy", f"{megabytes / one:.0f} MB/s, two threads {megabytes / two:.0f}")
    for compressor in ("none", "snappy"):
        (ours,) = best(functools.partial(from_samples, compressor), rounds=3)
        rate = count / ours
        target = (">= 150", rate >= 1.5e5) if compressor == "none" else ("", None)
        say(f"write from a generator of samples, {compressor}", f"{rate / 1e3:.0f} k rec/s", *target)
    guide(folder, images[:20000], numbers[:20000])


def guide(folder: Path, images: Any, labels: list[int]) -> None:
    """Write as Fluid's guide does: batches of one, a DataFeeder, the converter."""
    from fluidio import layers
    from fluidio.places import CPUPlace
    from fluidio.program.data_feeder import DataFeeder
    from fluidio.reader import batch

    feed_list = [layers.data(name="image", shape=[784]), layers.data(name="label", shape=[1], dtype="int64")]
    feeder = DataFeeder(feed_list=feed_list, place=CPUPlace())
    reader = batch(lambda: zip(images, labels), batch_size=1)
    path = folder / "guide.recordio"
    for number, compressor in enumerate(("none", "snappy")):
        job = functools.partial(convert_reader_to_recordio_file, path, reader, feeder, number)
        (ours,) = best(job, rounds=3, threads=True)
        rate = len(labels) / ours
        say(f"write the guide's way, {compressor}", f"{rate / 1e3:.0f} k rec/s", ">= 50", rate >= 5e4)


# -- index and random access ------------------------------------------------------------------------------------------


def index(folder: Path, count: int) -> None:
    path = folder / "large.recordio"
    images, labels = dense_arrays(10000)
    with recordio.Writer(path, "none") as writer:
        while writer.num_records < 312_000:
            writer.write_block([images, labels])
    size = os.path.getsize(path) / 1e9

    def count_records() -> int:
        with recordio.File(path) as file:
            return file.count()

    (ours,) = best(count_records)
    say(f"open and count {size:.2f} GB", f"{ours * 1e3:.1f} ms", "<= 20 ms", ours <= 0.02)
    path.unlink()


def get(folder: Path, count: int) -> None:
    path = folder / "get.recordio"
    images, labels = dense_arrays(count)
    with recordio.Writer(path, "none") as writer:
        writer.write_block([images, labels])
    chosen = np.random.default_rng(0).integers(0, count, 200_000).tolist()
    with recordio.File(path) as file:

        def run() -> None:
            fetch = file.get
            for number in chosen:
                fetch(number)

        (ours,) = best(run, rounds=5)
    say("get(i) at random, uncompressed", f"{len(chosen) / ours / 1e3:.0f} k/s", ">= 150", len(chosen) / ours >= 1.5e5)


PEAK = """
import sys
from fluidio import recordio
for batch in recordio.iter_batches(sys.argv[1], 128):
    pass
print([line for line in open("/proc/self/status") if line.startswith("VmHWM")][0].split()[1])
"""


def memory(folder: Path, count: int) -> None:
    """Read a small and a ten times larger file, each in its own process: peak memory must not change."""
    images, labels = dense_arrays(10000)
    peaks = []
    for repeat in (2, 20):
        path = folder / f"memory{repeat}.recordio"
        with recordio.Writer(path, "snappy") as writer:
            for _ in range(repeat):
                writer.write_block([images, labels])
        done = subprocess.run([sys.executable, "-c", PEAK, path], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout) / 1024)
    say("peak memory, 10 x larger file", f"{peaks[0]:.0f} -> {peaks[1]:.0f} MB", "flat", peaks[1] < peaks[0] + 8)


PARTS: dict[str, Callable[[Path, int], None]] = {
    "memory": memory,
    "dense": dense,
    "ragged": ragged,
    "write": write,
    "index": index,
    "get": get,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure RecordIO against the floor of this machine.")
    parser.add_argument("--records", type=int, default=80_000)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--cpu", action="store_true", help="measure CPU time, for a machine that others use too")
    args = parser.parse_args()
    if args.cpu:
        globals()["CLOCK"] = time.process_time
    print(f"crc32: {'isal' if CRC32_IS_FAST else 'zlib'}, numpy {np.__version__}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.only.split(","):
            PARTS[name](Path(folder), args.records)


if __name__ == "__main__":
    main()

"""Shared by the cases of all peers: the data, its raw encodings, the check that the right data was read, timing.

Every peer runs in its own environment, so this file needs only NumPy and runs on Python 3.7. A peer is a file
`peer_NAME.py` that marks functions with `@case(workload, variant, ...)` and ends with `main("NAME")`; it is run as

    python peer_NAME.py WORKLOAD VARIANT FOLDER

and prints one line of JSON. Only the code inside `with run.timed():` counts, never imports.
"""

import contextlib
import itertools
import json
import os
import resource
import struct
import sys
import time

import numpy as np

W1_COUNT, W1_WIDTH, W1_BATCH = 60000, 784, 128
W2_COUNT, W2_BATCH = 20000, 128
W3_COUNT, W3_BATCH = 200000, 64
W1_RECORD = W1_WIDTH * 4 + 8
W5_STEPS, W5_BATCH = 2000, 32
W6_GETS = 10000
BATCH = {"w1": W1_BATCH, "w2": W2_BATCH, "w3": W3_BATCH}
COUNT = {"w1": W1_COUNT, "w2": W2_COUNT, "w3": W3_COUNT}


# -- the data -----------------------------------------------------------------------------------------------------


def w1_arrays(folder, mmap="r"):
    """Return images (60000, 784) float32 and labels (60000, 1) int64."""
    names = (os.path.join(folder, "w1_x.npy"), os.path.join(folder, "w1_y.npy"))
    return tuple(np.load(name, mmap_mode=mmap) for name in names)


def w2_arrays(folder):
    """Return all bytes, offsets and labels of the 10 KB blobs."""
    blob = np.memmap(os.path.join(folder, "w2_bytes.bin"), np.uint8, "r")
    return blob, np.load(os.path.join(folder, "w2_offsets.npy")), np.load(os.path.join(folder, "w2_y.npy"))


def w3_arrays(folder):
    """Return all tokens, offsets and labels of the ragged sequences."""
    tokens = np.memmap(os.path.join(folder, "w3_tokens.bin"), np.int64, "r")
    return tokens, np.load(os.path.join(folder, "w3_offsets.npy")), np.load(os.path.join(folder, "w3_y.npy"))


def w1_samples(folder):
    """Yield one (784 float32, 1 int64) at a time, as a Python source does."""
    x, y = w1_arrays(folder)
    for start in range(0, W1_COUNT, 4096):
        xs, ys = np.array(x[start : start + 4096]), np.array(y[start : start + 4096])
        yield from zip(xs, ys)


def raw_records(folder, workload):
    """Yield each sample as one opaque record."""
    if workload == "w1":
        for x, y in w1_samples(folder):
            yield x.tobytes() + y.tobytes()
        return
    data, offsets, labels = w2_arrays(folder) if workload == "w2" else w3_arrays(folder)
    for index, label in enumerate(labels):
        yield struct.pack("<q", int(label)) + data[offsets[index] : offsets[index + 1]].tobytes()


def w1_decode(records):
    rows = np.frombuffer(b"".join(records), np.uint8).reshape(len(records), W1_RECORD)
    image = np.ascontiguousarray(rows[:, : W1_WIDTH * 4]).view(np.float32)
    return image, np.ascontiguousarray(rows[:, W1_WIDTH * 4 :]).view(np.int64)


def w2_decode(records):
    labels = np.array([struct.unpack_from("<q", record)[0] for record in records], np.int64)
    return [record[8:] for record in records], labels


def w3_decode(records):
    """Return tokens, offsets and labels of a batch of raw records."""
    flat = np.frombuffer(b"".join(records), np.int64)
    starts = np.zeros(len(records) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, records), np.int64, len(records)) >> 3, out=starts[1:])
    keep = np.ones(len(flat), bool)
    keep[starts[:-1]] = False
    return flat[keep], starts - np.arange(len(starts)), flat[starts[:-1]]


DECODE = {"w1": w1_decode, "w2": w2_decode, "w3": w3_decode}


def batches(items, size):
    """Group an iterator into lists."""
    items = iter(items)
    while True:
        batch = list(itertools.islice(items, size))
        if batch:
            yield batch
        if len(batch) < size:
            return


# -- consuming and checking -----------------------------------------------------------------------------------------


class Sink:
    """Reads each batch, and checks at the end that all the data was right."""

    def __init__(self, run):
        self.run, self.total, self.count, self.size = run, 0.0, 0, 0

    def w1(self, x, y):
        self.total += float(x[0, 0])
        self.count += len(x)

    def w2(self, blobs, y):
        self.total += int(blobs[0][2])
        self.count += len(blobs)

    def w2_columns(self, data, offsets, y):
        """The same batch as one array and offsets."""
        self.total += int(data[offsets[0] + 2])
        self.count += len(offsets) - 1

    def w3(self, tokens, offsets, y):
        self.total += int(tokens[0])
        self.count += len(offsets) - 1
        self.size += len(tokens)

    def done(self):
        with open(os.path.join(self.run.folder, "expect.json")) as file:
            want = json.load(file)[self.run.workload]
        assert self.count == want["count"], (self.count, want)
        assert abs(self.total - want["total"]) <= 1e-3 * max(1, abs(want["total"])), (self.total, want)
        return {"records": want["count"], "bytes": want["bytes"]}


# -- running a case -------------------------------------------------------------------------------------------------

CASES = {}


def case(workload, *variants):
    """Mark a function as the case of a workload, in one or more variants."""

    def mark(function):
        for variant in variants:
            CASES[workload, variant] = function
        return function

    return mark


class Run:
    """One run of one case."""

    def __init__(self, folder, workload, variant):
        self.folder, self.workload, self.variant = folder, workload, variant
        self.seconds = self.cpu = 0.0

    def path(self, *parts):
        path = os.path.join(self.folder, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    @contextlib.contextmanager
    def timed(self):
        cpu, start = _cpu(), time.perf_counter()
        yield
        self.seconds, self.cpu = time.perf_counter() - start, _cpu() - cpu


def _cpu():
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def warm(path):
    """Bring a file into the page cache."""
    with open(path, "rb", buffering=0) as file:
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass


def main(peer):
    """Run the case named on the command line, or list all."""
    if sys.argv[1:] == ["--list"]:
        print(json.dumps(sorted(CASES)))
        return
    workload, variant, folder = sys.argv[1:4]
    run = Run(folder, workload, variant)
    result = CASES[workload, variant](run) or {}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = {"peer": peer, "workload": workload, "variant": variant, "seconds": run.seconds, "cpu": run.cpu}
    print(json.dumps(dict(line, peak_mb=round(peak, 1), **result)))


# -- shared cases ---------------------------------------------------------------------------------------------------


def read_raw(run, path, open_records):
    """Time reading a container of raw records into batches."""
    sink = Sink(run)
    warm(path)
    use, decode = getattr(sink, run.workload), DECODE[run.workload]
    with run.timed():
        for batch in batches(open_records(path), BATCH[run.workload]):
            use(*decode(batch))
    return sink.done()


def write_raw(run, path, write):
    """Time writing W1 from the generator."""
    with run.timed():
        write(path, raw_records(run.folder, "w1"))
    size = os.path.getsize(path)
    os.remove(path)
    return {"records": W1_COUNT, "bytes": W1_COUNT * W1_RECORD, "file_mb": round(size / 1e6, 1)}


def get_raw(run, get):
    """Time random reads of W1's raw records and check their labels."""
    indices = np.random.default_rng(6).integers(0, W1_COUNT, W6_GETS)
    if run.variant.endswith("_tenth"):
        indices = indices[: W6_GETS // 10]
    get(int(indices[0]))
    with run.timed():
        labels = [get(int(index))[-8:] for index in indices]
    want = int(w1_arrays(run.folder)[1][indices, 0].sum())
    assert sum(int.from_bytes(label, "little") for label in labels) == want
    return {"records": len(indices), "bytes": len(indices) * W1_RECORD}


def w5_batches():
    """Return ready batches: a ring of 64 arrays, repeated."""
    random = np.random.default_rng(5)
    ring = [random.random((W5_BATCH, W1_WIDTH), dtype=np.float32) for _ in range(64)]
    return [ring[index % 64] for index in range(W5_STEPS)]


def steps(count):
    return {"records": count, "bytes": 0}

"""fluidio itself."""

import os
import shutil
import sys
import time

from shared import (
    W1_BATCH,
    W1_COUNT,
    W1_RECORD,
    W2_BATCH,
    W3_BATCH,
    W5_BATCH,
    W5_STEPS,
    Sink,
    case,
    get_raw,
    main,
    raw_records,
    steps,
    w1_arrays,
    w1_samples,
    w2_arrays,
    w3_arrays,
    w5_batches,
    warm,
)

VARIANT = (sys.argv[2:3] or [""])[0]
if "zlib" in VARIANT:
    sys.modules["isal"] = None  # as on a machine without its wheel
    sys.modules["fluidio.recordio._fetch"] = None  # which has a fast CRC of its own
if "python" in VARIANT:  # as on a machine without a C compiler
    for name in ("_fetch", "_loops", "_records", "_snappy"):
        sys.modules["fluidio.recordio." + name] = None

import numpy as np

import fluidio as fluid
from fluidio import recordio


def _path(run, name):
    return run.path("fluidio", name)


@case("prep", "all")
def prep(run):
    x, y = w1_arrays(run.folder)
    for name, compressor in (("w1.none", "none"), ("w1.snappy", "snappy")):
        with recordio.Writer(_path(run, name + ".recordio"), compressor=compressor) as writer:
            for start in range(0, W1_COUNT, 10000):
                writer.write_block([np.array(x[start : start + 10000]), np.array(y[start : start + 10000])])
    for name, (data, offsets, labels) in (("w2", w2_arrays(run.folder)), ("w3", w3_arrays(run.folder))):
        with recordio.Writer(_path(run, name + ".recordio"), "none", 2000, max_chunk_bytes=3 << 20) as writer:
            _write_ragged(writer, data, offsets, labels)
    with recordio.File(_path(run, "w1.raw"), "w", compressor="none") as file:
        for record in raw_records(run.folder, "w1"):
            file.write(record)


def _write_ragged(writer, data, offsets, labels):
    for start in range(0, len(labels), 5000):
        stop = min(start + 5000, len(labels))
        low = offsets[start]
        rows = np.array(data[low : offsets[stop]]).reshape(-1, 1)
        bounds = offsets[start : stop + 1] - low
        column = recordio.Column(rows, bounds, lod=(bounds,))
        writer.write_block([column, labels[start:stop].reshape(-1, 1)])


@case("w1", "none", "none_zlib", "snappy", "snappy_python")
def w1(run):
    path = _path(run, f"w1.{run.variant.split('_')[0]}.recordio")
    warm(path)
    sink = Sink(run)
    with run.timed():
        for x, y in recordio.iter_batches(path, W1_BATCH):
            sink.w1(x, y)
    return sink.done()


@case("w1", "program")
def w1_program(run):
    """open_files -> batch -> double_buffer -> a program that only reads."""
    path = _path(run, "w1.none.recordio")
    warm(path)
    reader = fluid.layers.open_files([path], [(-1, 784), (-1, 1)], [0, 0], ["float32", "int64"], is_test=True)
    reader = fluid.layers.double_buffer(fluid.layers.batch(reader, W1_BATCH, drop_last=False))
    x, _ = fluid.layers.read_file(reader)
    exe = fluid.Executor(fluid.CPUPlace())
    first = fluid.layers.slice(x, axes=[0, 1], starts=[0, 0], ends=[1, 1])
    exe.run(fluid.default_startup_program())
    total, count = 0.0, 0
    with run.timed():
        try:
            while True:
                total += float(exe.run(fetch_list=[first])[0])
                count += 1
        except fluid.core.EOFException:
            pass
    assert count == -(-W1_COUNT // W1_BATCH), count
    return {"records": W1_COUNT, "bytes": W1_COUNT * W1_RECORD}


@case("w2", "none", "none_python")
def w2(run):
    path = _path(run, "w2.recordio")
    warm(path)
    sink = Sink(run)
    with run.timed():
        for (data, lod), y in recordio.iter_batches(path, W2_BATCH):
            sink.w2_columns(data[:, 0], lod[-1], y)
    return sink.done()


@case("w3", "none", "none_python")
def w3(run):
    path = _path(run, "w3.recordio")
    warm(path)
    sink = Sink(run)
    with run.timed():
        for (tokens, lod), y in recordio.iter_batches(path, W3_BATCH):
            sink.w3(tokens[:, 0], lod[-1], y)
    return sink.done()


@case("w4", "generator", "generator_python", "arrays")
def w4(run):
    path = _path(run, "w4.recordio")
    arrays = list(w1_arrays(run.folder, None)) if run.variant == "arrays" else None
    with run.timed(), recordio.Writer(path, compressor="none") as writer:
        if arrays is not None:
            writer.write_block(arrays)
        else:
            writer.write_samples(w1_samples(run.folder))
    size = os.path.getsize(path)
    os.remove(path)
    return {"records": W1_COUNT, "bytes": W1_COUNT * W1_RECORD, "file_mb": round(size / 1e6, 1)}


@case("w5", "feed", "start_eof")
def w5(run):
    batches = w5_batches()
    x = fluid.layers.data("x", [784])
    if run.variant == "start_eof":
        loader = fluid.io.DataLoader.from_generator(feed_list=[x], capacity=8, iterable=False)
        loader.set_batch_generator(lambda: ((batch,) for batch in batches))
    mean = fluid.layers.mean(x)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    if run.variant == "feed":
        exe.run(feed={"x": batches[0]}, fetch_list=[mean])
        with run.timed():
            for batch in batches:
                exe.run(feed={"x": batch}, fetch_list=[mean])
        return steps(W5_STEPS)
    loader.start()
    count = 0
    with run.timed():
        try:
            while True:
                exe.run(fetch_list=[mean])
                count += 1
        except fluid.core.EOFException:
            loader.reset()
    assert count == W5_STEPS and W5_BATCH
    return steps(W5_STEPS)


@case("w6", "get")
def w6(run):
    path = _path(run, "w1.raw")
    warm(path)
    with recordio.File(path, "r") as file:
        for index in range(0, W1_COUNT, 50):
            file.get(index)  # first access: every chunk is checked once
        return get_raw(run, file.get)


@case("w7", "mlp")
def w7(run):
    x, y = w1_arrays(run.folder, None)
    image, label = fluid.layers.data("image", [784]), fluid.layers.data("label", [1], dtype="int64")
    hidden = fluid.layers.fc(image, 100, act="relu")
    logits = fluid.layers.fc(hidden, 10)
    loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label))
    fluid.optimizer.Adam(1e-3).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    losses = []
    with run.timed():
        for start in range(0, W1_COUNT, W1_BATCH):
            feed = {"image": x[start : start + W1_BATCH], "label": y[start : start + W1_BATCH]}
            losses.append(exe.run(feed=feed, fetch_list=[loss])[0])
    assert float(losses[-1]) < float(losses[0])
    return {"records": W1_COUNT, "bytes": W1_COUNT * W1_RECORD}


@case("w8", "0.1GB", "1GB", "4GB")
def w8(run):
    """Growth: W1's records repeated; time per byte and peak memory must stay constant."""
    copies = {"0.1GB": 1, "1GB": 5, "4GB": 21}[run.variant]
    source, path = _path(run, "w1.none.recordio"), _path(run, f"w8.{run.variant}.recordio")
    if not os.path.exists(path):
        with open(source, "rb") as whole, open(path, "wb") as out:
            for _ in range(copies):
                whole.seek(0)
                shutil.copyfileobj(whole, out, 1 << 20)  # peak memory must be the reader's
    warm(path)
    count = 0
    with run.timed():
        for x, _ in recordio.iter_batches(path, W1_BATCH):
            count += len(x)
    assert count == copies * W1_COUNT, count
    if run.variant == "4GB":
        os.remove(path)
    return {"records": count, "bytes": count * W1_RECORD}


@case("floor", "w1_none", "w2_none", "w1_snappy")
def floor(run):
    """The work no reader can avoid: a warm read into one buffer, the checksum, one copy (and decompression)."""
    import zlib

    import cramjam

    try:
        from isal.isal_zlib import crc32
    except ImportError:
        crc32 = zlib.crc32
    name = {"w1_none": "w1.none", "w2_none": "w2", "w1_snappy": "w1.snappy"}[run.variant]
    path = _path(run, name + ".recordio")
    warm(path)
    chunk = 1 << 20
    buffer = np.empty(chunk + 4096, np.uint8)
    start = -buffer.ctypes.data % 4096
    view, target = buffer[start : start + chunk], np.empty(chunk, np.uint8)
    packed = bytes(cramjam.snappy.compress_raw(w1_arrays(run.folder)[0][:300].tobytes()))
    snappy = run.variant.endswith("snappy")
    data, _ = w1_arrays(run.folder)
    with run.timed(), open(path, "rb", buffering=0) as file:
        while size := file.readinto(view):
            crc32(view[:size])
            if not snappy:
                target[:size] = view[:size]
    if snappy:
        rounds = data.nbytes // (300 * 3136)
        out = bytearray(300 * 3136)
        begin = time.perf_counter()
        for _ in range(rounds):
            cramjam.snappy.decompress_raw_into(packed, out)
            target[: min(chunk, len(out))] = np.frombuffer(out, np.uint8)[:chunk]
        run.seconds += time.perf_counter() - begin
    records = 20000 if name == "w2" else W1_COUNT
    return {"records": records, "bytes": os.path.getsize(path)}


if __name__ == "__main__":
    main("fluidio")

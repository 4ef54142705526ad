"""Microseconds per reading step, for the installed `paddle.fluid`: the real one (Python 2.7 or 3) or fluidio.

    PYTHON benchmarks/reader_rows.py [batches=1000]          prints one JSON object: row name -> [wall, cpu] in us/step

A trivial program reads batches of 32 x 784 float32 and 32 x 1 int64 that exist already as arrays. Started by
benchmarks/readers.py, which interleaves rounds of several frameworks.
"""

import json
import sys
import time

import numpy as np

try:
    import paddle.fluid as fluid
except ImportError:
    import fluidio as fluid

N = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
POOL = [
    (
        np.sin(np.arange(32 * 784, dtype="float64") * 0.1 + i).astype("float32").reshape(32, 784),
        (np.arange(32, dtype="int64") % 10).reshape(32, 1),
    )
    for i in range(64)
]
exe = fluid.Executor(fluid.CPUPlace())
rows = {}


def source():
    for i in range(N):
        yield POOL[i % len(POOL)]


def body(x, y):
    return [fluid.layers.mean(x), fluid.layers.mean(fluid.layers.cast(y, "float32"))]


def note(name, began):
    rows[name] = [1e6 * (time.time() - began[0]) / N, 1e6 * (time.process_time() - began[1]) / N]


def now():
    return time.time(), time.process_time()


def epoch(reader, main, fetch, cache):
    reader.start()
    steps = 0
    try:
        while True:
            exe.run(main, fetch_list=fetch, use_program_cache=cache)
            steps += 1
    except fluid.core.EOFException:
        reader.reset()
    assert steps == N, steps


def loader_row(double, cache, fetching):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = fluid.data(name="x", shape=[None, 784], dtype="float32")
        y = fluid.data(name="y", shape=[None, 1], dtype="int64")
        reader = fluid.io.DataLoader.from_generator(
            feed_list=[x, y], capacity=16, use_double_buffer=double, iterable=False
        )
        fetch = body(x, y)
    reader.set_batch_generator(source)
    for _ in range(2):  # the first epoch warms up
        began = now()
        epoch(reader, main, fetch if fetching else [], cache)
        note("DataLoader buffer=%d cache=%d fetch=%d" % (double, cache, fetching), began)


def py_reader_row(double):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        reader = fluid.layers.py_reader(
            capacity=16,
            shapes=[(-1, 784), (-1, 1)],
            dtypes=["float32", "int64"],
            name="bench%d" % double,
            use_double_buffer=double,
        )
        x, y = fluid.layers.read_file(reader)
        fetch = body(x, y)
    exe.run(startup)
    reader.decorate_batch_generator(source)
    for _ in range(2):
        began = now()
        epoch(reader, main, fetch, True)
        note("py_reader buffer=%d cache=1 fetch=1" % double, began)


def iterable_row():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = fluid.data(name="x", shape=[None, 784], dtype="float32")
        y = fluid.data(name="y", shape=[None, 1], dtype="int64")
        loader = fluid.io.DataLoader.from_generator(feed_list=[x, y], capacity=16, iterable=True)
        fetch = body(x, y)
    loader.set_batch_generator(source, places=fluid.cpu_places(1))
    for _ in range(2):
        began = now()
        for data in loader():
            exe.run(main, feed=data, fetch_list=fetch, use_program_cache=True)
        note("iterable DataLoader cache=1 fetch=1", began)


for double in (True, False):
    for cache, fetching in ((True, True), (True, False), (False, True)):
        loader_row(double, cache, fetching)
for double in (True, False):
    py_reader_row(double)
iterable_row()
print(json.dumps(rows))

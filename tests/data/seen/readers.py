"""Readers and loaders."""

from __future__ import annotations

from tests.data.seen.seen import (
    CPU,
    batch,
    fluid,
    layers,
    lt,
    names,
    numbers,
    ops,
    started,
    tryit,
)


def _net():
    x = fluid.data("x", [-1, 3])
    y = fluid.data("y", [-1, 1])
    p = layers.fc(x, 1, param_attr=fluid.initializer.Constant(0.3))
    return x, y, p, layers.mean(layers.square_error_cost(p, y))


def _batches(n=3, b=2):
    def g():
        for i in range(n):
            yield numbers(b, 3) * (i + 1), numbers(b, 1)

    return g


def _samples(n=5):
    def g():
        for i in range(n):
            yield numbers(3) * (i + 1), numbers(1)

    return g


def pyreader_iterable():
    x, y, p, c = _net()
    r = []
    pr = fluid.io.PyReader(feed_list=[x, y], capacity=4, iterable=True)
    pr.decorate_batch_generator(_batches(), CPU)
    exe = started()
    for e in range(2):
        for d in pr():
            r.append(
                [
                    type(d).__name__,
                    type(d[0]).__name__ if isinstance(d, list) else sorted(d),
                    exe.run(feed=d, fetch_list=[p]),
                ]
            )
    r += [tryit(pr.start), tryit(pr.reset)]
    return r


def reader_errors():
    x, y, p, c = _net()
    P = fluid.io.PyReader
    F = fluid.io.DataLoader.from_generator
    r = [
        tryit(P),
        tryit(P, feed_list=[x], capacity=0),
        tryit(P, [x]),
        tryit(F),
        tryit(F, [x]),
        tryit(F, feed_list=[x, y]),
        tryit(F, feed_list=[x, y], capacity=-1),
        tryit(F, feed_list=x, capacity=2),
        tryit(F, feed_list=[3], capacity=2),
        tryit(F, feed_list=["x"], capacity=2),
        tryit(F, feed_list=[x], capacity="a"),
        tryit(F, feed_list=[x], capacity=2, iterable=False),
        tryit(F, feed_list=[x], capacity=2, use_multiprocess=True) and 1,
    ]
    d = F(feed_list=[x, y], capacity=4)
    r += [
        tryit(d.set_batch_generator, 3),
        tryit(d.set_batch_generator, _batches()),
        tryit(lambda: iter(d)),
        tryit(d.set_batch_generator, _batches(), places=3),
        tryit(d.set_sample_generator, _samples(), 0),
        tryit(d.set_sample_generator, _samples(), -1, places=CPU),
        tryit(d.set_sample_generator, _samples(), "a", places=CPU),
        tryit(d.set_sample_list_generator, 3, places=CPU),
        tryit(lambda: d.start()),
        tryit(lambda: d.reset()),
        tryit(lambda: list(F(feed_list=[x, y], capacity=4)())),
    ]
    e = F(feed_list=[x, y], capacity=4, iterable=False)
    r += [
        tryit(lambda: iter(e)),
        tryit(e.start),
        tryit(e.reset),
        tryit(e.set_batch_generator, _batches()) is None or 1,
        tryit(lambda: list(e())),
    ]
    return r


def reader_wrong_data():
    x, y, p, c = _net()
    exe = started()
    r = []
    F = fluid.io.DataLoader.from_generator

    def g1():
        yield numbers(2, 3)

    def g2():
        yield numbers(2, 3), numbers(2, 1), numbers(2, 1)

    def g3():
        yield numbers(2, 4), numbers(2, 1)

    def g4():
        yield numbers(2, 3).astype("float64"), numbers(2, 1)

    def g5():
        yield [[1.0, 2.0, 3.0]], [[1.0]]

    def g6():
        yield {"x": numbers(2, 3), "y": numbers(2, 1)}

    def g7():
        yield "a", "b"

    def g8():
        yield lt(numbers(2, 3), [[1, 1]]), lt(numbers(2, 1), [])

    def g9():
        yield numbers(2, 3), numbers(2, 1)
        raise IOError("x")

    for g in (g1, g2, g3, g4, g5, g6, g7, g8, g9):
        d = F(feed_list=[x, y], capacity=4)
        d.set_batch_generator(g, places=CPU)
        try:
            r.append([g.__name__, [exe.run(feed=b, fetch_list=[p]) for b in d]])
        except BaseException as q:
            r.append([g.__name__, q])
    return r


def sample_wrong():
    x, y, p, c = _net()
    exe = started()
    r = []
    F = fluid.io.DataLoader.from_generator
    gs = [
        lambda: iter([(numbers(3), numbers(1))] * 3),
        lambda: iter([(numbers(3),)] * 3),
        lambda: iter([(numbers(3), 1.0), (numbers(3), 2.0)]),
        lambda: iter([(numbers(4), numbers(1))] * 2),
        lambda: iter([([1, 2, 3], [1])] * 2),
        lambda: iter([(numbers(1, 3), numbers(1))] * 2),
        lambda: iter([(numbers(3), numbers(1)), (numbers(4), numbers(1))]),
        lambda: iter([]),
        lambda: iter([numbers(3)] * 2),
        lambda: iter([((1.0, 2, 3), 1)] * 3),
    ]
    for g in gs:
        for k in (0, 1):
            d = F(feed_list=[x, y], capacity=4)
            (d.set_sample_generator(g, 2, places=CPU) if k else d.set_sample_list_generator(batch(g, 2), places=CPU))
            try:
                r.append([exe.run(feed=b, fetch_list=[p]) for b in d])
            except BaseException as q:
                r.append(q)
    return r


def py_reader():
    rd = layers.py_reader(capacity=4, shapes=[(-1, 3), (-1, 1)], dtypes=["float32", "int64"], name="rd")
    x, y = layers.read_file(rd)
    layers.fc(x, 2)
    rd.decorate_paddle_reader(batch(lambda: iter([(numbers(3), [1])] * 5), 2))
    exe = started()
    r = [
        ops(),
        ops(fluid.default_startup_program()),
        x,
        y,
        rd.name if hasattr(rd, "name") else 0,
        type(rd).__name__,
        rd.stop_gradient,
        [v for v in names() if "rd" in v],
    ]
    for e in range(2):
        rd.start()
        n = 0
        try:
            while True:
                n += exe.run(fetch_list=[y])[0].shape[0]
        except fluid.core.EOFException:
            rd.reset()
        r.append(n)
    r += [
        tryit(rd.start),
        tryit(rd.start),
        tryit(rd.reset),
        tryit(layers.py_reader, 4, [(-1, 3)], ["float32", "int64"]),
        tryit(layers.py_reader, 4, [(-1, 3)], ["zz"]),
        tryit(layers.py_reader, 4, [(-1, 3)], ["float32"], lod_levels=[0, 1]),
        tryit(layers.py_reader, 0, [(-1, 3)], ["float32"]) and 1,
        tryit(layers.read_file, 3),
        tryit(layers.create_py_reader_by_data, 4, [x, y], name="nm") and 1,
        tryit(layers.double_buffer, rd) and 1,
        tryit(layers.double_buffer, 3),
    ]
    return r


def create_py_reader_by_data():
    x = fluid.data("x", [-1, 3])
    y = fluid.data("y", [-1, 1], "int64")
    rd = layers.create_py_reader_by_data(capacity=4, feed_list=[x, y])
    a, b = layers.read_file(rd)
    r = [a, b, a is x, ops(), ops(fluid.default_startup_program())]
    return r

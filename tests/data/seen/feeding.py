"""What is fed, and its checks."""

from __future__ import annotations

import numpy as np

from tests.data.seen.seen import CPU, fluid, layers, lt, numbers, tryit


def feeder():
    x = fluid.data("x", [-1, 3])
    y = fluid.data("y", [-1, 1], "int64")
    s = fluid.data("s", [-1, 1], "int64", lod_level=1)
    t = fluid.data("t", [-1, 1], "int64", lod_level=2)
    D = fluid.DataFeeder
    r = [
        tryit(D(v, CPU).feed, d)
        for v, d in (
            ([x, y], [([1, 2, 3], [4]), (numbers(3), [5])]),
            ([s], [([1, 2],), ([3],)]),
            ([t], [([[1, 2], [3]],), ([[4]],)]),
        )
    ]
    for a in (
        ([x, y], [([1, 2], [3])]),
        ([x], [(numbers(4),)]),
        ([x, y], [(numbers(3),)]),
        ([x], [(numbers(3), 1)]),
        ([x], []),
        ([x], [numbers(3)]),
        ([s], [([],), ([1],)]),
        ([x], [("a",)]),
        ([y], [(1.5,)]),
        ([y], [([1.5],)]),
        ([x], [(numbers(1, 3),), (numbers(1, 3),)]),
        ([y], [(np.int64(3),)]),
    ):
        r.append(tryit(lambda: D(a[0], CPU).feed(a[1])))
    r += [tryit(D, ["zz"], CPU), tryit(D, ["x"], CPU) and 1, tryit(D, [3], CPU), tryit(D, [x], 3) and 1]
    return r


def data_layers():
    L = layers.data
    D = fluid.data
    r = [
        tryit(L, *a[0], **a[1])
        for a in (
            (("a", [3]), {}),
            (("b", [3], False), {}),
            (("c", [-1, 3]), {}),
            (("d", []), {}),
            (("e", [3, -1]), {}),
            (("f", 3), {}),
            (("g", [None, 3]), {}),
            (("h", [3], True, "int64", 2), {}),
            ((3, [3]), {}),
            (("i", ["3"]), {}),
            (("j", [3], True, "zz"), {}),
            (("k", (3, 4)), {}),
            (("m", [3], True, "float32", -1), {}),
            (("n", [0]), {}),
            (("o", [np.int64(3)]), {}),
            (("p", [3]), dict(stop_gradient=False)),
            (("q", np.array([3, 4])), {}),
        )
    ]
    r += [
        tryit(D, *a)
        for a in (
            ("A", [3]),
            ("B", [None, 3]),
            ("C", [-1, 3]),
            ("D", []),
            ("E", 3),
            (3, [3]),
            ("F", ["3"]),
            ("G", [3], "zz"),
            ("H", (3, None)),
            ("J", [3], "float32", 2),
            ("K", [3], "float32", "a"),
            ("A", [3]),
            ("A", [4]),
            ("L", [-2, 3]),
            ("M", [0]),
            ("N", None),
            (None, [3]),
        )
    ]
    r += [[v.desc.need_check_feed(), v.stop_gradient, v.persistable, v.is_data] for v in r if hasattr(v, "desc")]
    return r


def feed_check():
    fluid.data("x", [None, 3])
    layers.data("z", [3])
    layers.data("w", [2, 3], append_batch_size=False)
    exe = fluid.Executor(CPU)
    r = [
        tryit(exe.run, feed={n: v}, fetch_list=[n])
        for n in "xzw"
        for v in (
            numbers(2, 3),
            numbers(2, 4),
            numbers(3),
            numbers(2, 3, 1),
            numbers(2, 3).astype("float64"),
            numbers(2, 3).astype("int32"),
            numbers(1, 3),
            numbers(0, 3),
            lt(numbers(2, 3), [[1, 1]]),
        )
    ]
    return r

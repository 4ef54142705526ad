"""Training inside branches, empty slices, arrays as attributes."""

from __future__ import annotations

import numpy as np

from tests.data.seen.seen import (
    fluid,
    layers,
    lt,
    names,
    numbers,
    ops,
    run,
    started,
    tryit,
)


def min_cond_1():
    x = fluid.data("x", [2, 3])
    loss = layers.mean(layers.fc(x, 1, param_attr=fluid.ParamAttr("w", initializer=fluid.initializer.Constant(0.5))))
    i = fluid.data("i", [1], "int32")
    o1 = fluid.optimizer.SGD(0.1)
    o2 = fluid.optimizer.SGD(0.2)

    def f1():
        o1.minimize(loss)

    def f2():
        o2.minimize(loss)

    layers.cond(layers.equal(i, layers.fill_constant([1], "int32", 0)), f1, f2)
    exe = started()
    r = [
        ops(),
        [
            exe.run(feed={"x": numbers(2, 3), "i": np.array([k], "int32")}, fetch_list=[loss, "w"])
            for k in (0, 1, 1, 0, 0, 1)
        ],
    ]
    return r


def min_case_fn_opt():
    x = fluid.data("x", [2, 3])
    h = layers.fc(x, 4, act="relu", param_attr=fluid.ParamAttr("w", initializer=fluid.initializer.Constant(0.5)))
    i = fluid.data("i", [1], "int32")
    o1 = fluid.optimizer.SGD(0.1)
    o2 = fluid.optimizer.Adam(0.1)

    def f1():
        l = layers.mean(h)
        o1.minimize(l)
        return l

    def f2():
        l = layers.mean(layers.square(h))
        o2.minimize(l)
        return l

    l = layers.case([(layers.equal(i, layers.fill_constant([1], "int32", 0)), f1)], f2)
    exe = started()
    r = [
        exe.run(feed={"x": numbers(2, 3), "i": np.array([k], "int32")}, fetch_list=[l, "w"])
        for k in (0, 1, 1, 0, 0, 1)
    ]
    return r


def switch_case():
    x = fluid.data("x", [2, 3])
    h = layers.fc(x, 4, act="relu", param_attr=fluid.ParamAttr("w", initializer=fluid.initializer.Constant(0.5)))
    i = fluid.data("i", [1], "int32")
    o1 = fluid.optimizer.SGD(0.1)
    o2 = fluid.optimizer.Momentum(0.1, 0.9)

    def f1():
        l = layers.mean(h)
        o1.minimize(l)
        return l

    def f2():
        l = layers.mean(layers.square(h))
        o2.minimize(l)
        return l

    l = layers.switch_case(i, {0: f1, 1: f2})
    exe = started()
    r = [
        exe.run(feed={"x": numbers(2, 3), "i": np.array([k], "int32")}, fetch_list=[l, "w"])
        for k in (0, 1, 1, 0, 0, 1)
    ]
    return r


def box_coder():
    pb = fluid.data("pb", [3, 4])
    tb = fluid.data("tb", [3, 4])
    pv = fluid.data("pv", [3, 4])
    q = [
        tryit(layers.box_coder, pb, v, tb, "encode_center_size")
        for v in (np.array([0.1, 0.1, 0.2, 0.2]), [0.1, 0.1, 0.2, 0.2], pv, None, (0.1, 0.1, 0.2, 0.2), [0.1, 0.1])
    ]
    r = [v.shape if hasattr(v, "shape") else v for v in q]
    return r


def seqslice3():
    x = fluid.data("x", [-1, 1], lod_level=1)
    o = fluid.data("o", [-1, 1], "int64")
    l = fluid.data("l", [-1, 1], "int64")
    y = layers.sequence_slice(x, o, l)
    r = [
        tryit(
            run,
            [y],
            {"x": lt(numbers(5, 1), [[3, 2]]), "o": np.array([[a], [0]]), "l": np.array([[b], [0]])},
            numpy=False,
        )
        for a, b in ((0, 3), (3, 0), (2, 0), (2, 1), (2, 2), (0, 4), (4, 0), (0, 0), (-1, 1), (1, -1))
    ]
    return r


def data_norm():
    x = fluid.data("x", [4, 3])
    x.stop_gradient = False
    o = tryit(
        layers.data_norm,
        x,
        enable_scale_and_shift=True,
        name="dn",
        param_attr={"batch_size": 1e3, "batch_sum": 1.0, "batch_square": 1e4, "scale_w": 2.0, "bias": 0.5},
    )
    g = fluid.gradients([layers.reduce_sum(layers.square(o))], [x])
    r = [o, names(), run([o] + g, {"x": numbers(4, 3)})]
    return r


def arrays_in_shapes():
    x = fluid.data("x", [2, 4, 9, 9])
    z = fluid.data("z", [2, 4, 6, 6, 6])
    one = np.array([3])
    L = layers
    fs = [
        lambda: L.uniform_random([2, one]),
        lambda: L.gaussian_random([2, one]),
        lambda: L.fill_constant([2, one], "float32", 1.0),
        lambda: L.zeros([2, one], "float32"),
        lambda: L.ones([2, one], "float32"),
        lambda: L.randn([2, one]),
        lambda: L.full([2, one], 1.0),
        lambda: L.randint(0, 9, [2, one]),
        lambda: L.reshape(fluid.data("y", [6]), [2, one]),
        lambda: L.conv2d(x, 3, [one, 3]),
        lambda: L.pool3d(z, [one, 2, 2]),
        lambda: L.expand(fluid.data("w", [6, 1]), [2, one]),
    ]
    r = [tryit(f) for f in fs]
    return r


def swish_by_a_variable():
    x = fluid.data("x", [2, 4])
    b = layers.fill_constant([1], "float32", 0.5)
    y = layers.swish(x, beta=b)
    r = [ops(), run([y], {"x": numbers(2, 4)})]
    return r


def seeds_of_shuffle_batch():
    x = fluid.data("x", [6, 1])
    s = fluid.data("s", [1], "int64")
    b = fluid.default_main_program().global_block()
    o = [b.create_var(name=n, dtype=d) for n, d in (("o", "float32"), ("i", "int64"), ("so", "int64"))]
    b.append_op(
        type="shuffle_batch",
        inputs={"X": [x], "Seed": [s]},
        outputs={"Out": [o[0]], "ShuffleIdx": [o[1]], "SeedOut": [o[2]]},
        attrs={"startup_seed": 0},
    )
    r = [
        run(o, {"x": np.arange(6.0).reshape(6, 1).astype("float32"), "s": np.array([v])})
        for v in (-1, 3, 2**40 + 3, 2**32 + 5, -(2**33), 2**31 - 1, 0)
    ]
    return r

"""Operators, names, counters and what a program says, as 1.8.5 does."""

from __future__ import annotations

import numpy as np

from tests.data.seen.seen import (
    fluid,
    fresh,
    layers,
    names,
    numbers,
    ops,
    run,
    started,
    tryit,
)


def _fwd(f, shapes, arrays):
    values = []
    for i, shape in enumerate(shapes):
        value = fluid.data("v%d" % i, shape, "float32")
        value.stop_gradient = False
        values.append(value)
    out = f(*values)
    found = fluid.gradients([layers.reduce_sum(layers.square(out))], values)
    feed = {v.name: a.astype("float32") for v, a in zip(values, arrays)}
    return [out, out.op.type, ops(), run([out] + [g for g in found if g is not None], feed)]


def value_1a_mul():
    r = _fwd(lambda a, b: a * b, [[-1, 1], [-1]], [numbers(4, 1), numbers(4)])
    return r


def value_1b_add():
    r = tryit(_fwd, lambda a, b: a + b, [[3], [2, 3]], [numbers(3), numbers(2, 3)])
    return r


def value_1c_sub():
    r = tryit(_fwd, lambda a, b: a - b, [[-1], [-1, 3]], [numbers(4), numbers(4, 3)])
    return r


def value_1d_div():
    r = tryit(_fwd, lambda a, b: a / b, [[-1], [-1, 3]], [numbers(4), numbers(4, 3)])
    return r


def value_1e_pow():
    r = tryit(_fwd, lambda a, b: a**b, [[-1], [-1, 3]], [numbers(4), numbers(4, 3)])
    return r


def value_1f_add_1():
    r = tryit(_fwd, lambda a, b: a + b, [[-1], [-1, 3]], [numbers(4), numbers(4, 3)])
    return r


def value_1g_mul_1():
    r = tryit(_fwd, lambda a, b: a * b, [[-1], [-1, 3]], [numbers(4), numbers(4, 3)])
    return r


def value_1h_sub_3_op_2_3():
    r = tryit(_fwd, lambda a, b: a - b, [[3], [2, 3]], [numbers(3), numbers(2, 3)])
    return r


def value_1i_cmp():
    a = fluid.data("a", [-1, 3])
    b = fluid.data("b", [-1])
    r = [
        tryit(lambda f=f: [f(), f().op.attr("axis")])
        for f in (lambda: a < b, lambda: a >= b, lambda: a == b, lambda: a % b, lambda: a // b)
    ]
    return r


def value_2_scalars():
    x = fluid.data("x", [2, 3])
    k = fluid.data("k", [2, 3], "int64")
    o = [x + 2, x - 2, 2 - x, x * 3, x / 3, x**2, 2 / x, x < 1, 3 * x, -x, 2 + x, k + 1, k * 2, k / 2, 7 - k, x % 2]
    r = [
        o,
        ops(),
        [
            dict((n, p.attr(n)) for n in p.attr_names if n not in ("op_callstack",))
            for p in fluid.default_main_program().global_block().ops
        ],
        run(o, {"x": numbers(2, 3).astype("float32"), "k": np.arange(6).reshape(2, 3)}),
    ]
    return r


def value_2b_pow_int_rops():
    k = fluid.data("k", [2, 3], "int32")
    fs = [
        lambda: k**2,
        lambda: 2**k,
        lambda: 3 / k,
        lambda: k // 2,
        lambda: k % 3,
        lambda: 7 % k,
        lambda: 7 // k,
        lambda: k + 1.5,
        lambda: k * 2.5,
        lambda: -k,
        lambda: k - 1.5,
        lambda: k / 2.5,
    ]
    r = []
    for f in fs:
        o = tryit(f)
        r.append(o)
    r = [
        r,
        ops(),
        [
            v if isinstance(v, Exception) else tryit(run, [v], {"k": np.arange(1, 7).reshape(2, 3).astype("int32")})
            for v in r
        ],
    ]
    return r


def value_3_lr_names():
    fs = dict(
        pw=lambda: layers.piecewise_decay([3, 6], [0.1, 0.2, 0.3]),
        warm=lambda: layers.linear_lr_warmup(0.1, 5, 0.0, 0.1),
        warm2=lambda: layers.linear_lr_warmup(layers.piecewise_decay([3, 6], [0.1, 0.2, 0.3]), 5, 0.0, 0.1),
        noam=lambda: layers.noam_decay(8, 3),
        exp=lambda: layers.exponential_decay(0.1, 3, 0.5),
        exps=lambda: layers.exponential_decay(0.1, 3, 0.5, staircase=True),
        nat=lambda: layers.natural_exp_decay(0.1, 3, 0.5),
        nats=lambda: layers.natural_exp_decay(0.1, 3, 0.5, True),
        inv=lambda: layers.inverse_time_decay(0.1, 3, 0.5),
        invs=lambda: layers.inverse_time_decay(0.1, 3, 0.5, True),
        poly=lambda: layers.polynomial_decay(0.1, 5, 0.01, 2.0),
        polyc=lambda: layers.polynomial_decay(0.1, 5, 0.01, 2.0, True),
        cos=lambda: layers.cosine_decay(0.1, 3, 5),
    )
    r = {}
    for n, f in fs.items():
        with fresh():
            lr = f()
            x = fluid.data("x", [2, 3])
            loss = layers.mean(layers.fc(x, 1))
            opt = fluid.optimizer.SGD(lr)
            before = tryit(opt._global_learning_rate)
            opt.minimize(loss)
            exe = started()
            vals = [exe.run(feed={"x": np.ones((2, 3), "float32")}, fetch_list=[lr])[0] for _ in range(8)]
            r[n] = [
                lr,
                before,
                vals,
                names(),
                names(fluid.default_startup_program()),
                ops(),
                ops(fluid.default_startup_program()),
                [v.name for v in fluid.default_main_program().list_vars() if v.persistable],
                fluid.global_scope().find_var("learning_rate") is not None,
            ]
    return r


def value_4_counter():
    r = {}
    for n, f in dict(noam=lambda: layers.noam_decay(8, 3), exp=lambda: layers.exponential_decay(0.1, 3, 0.5)).items():
        for mode in ("plain", "compiled", "dp"):
            with fresh():
                lr = f()
                x = fluid.data("x", [-1, 3])
                reader = fluid.io.PyReader([x], capacity=4, iterable=False)

                def gen():
                    for i in range(3):
                        yield [np.ones((2, 3), "float32")]

                reader.decorate_batch_generator(gen)
                loss = layers.mean(layers.fc(x, 1))
                fluid.optimizer.SGD(lr).minimize(loss)
                exe = started()
                p = fluid.default_main_program()
                if mode != "plain":
                    p = fluid.CompiledProgram(p)
                    if mode == "dp":
                        p = p.with_data_parallel(loss_name=loss.name, places=[fluid.CPUPlace()])
                seen = []
                for e in range(3):
                    reader.start()
                    try:
                        while True:
                            exe.run(p, fetch_list=[loss])
                    except fluid.core.EOFException:
                        reader.reset()
                    seen.append(np.array(fluid.global_scope().find_var("@LR_DECAY_COUNTER@").get_tensor()).tolist())
                r[n + mode] = seen
    return r


def value_6_conv_name():
    x = fluid.data("x", [2, 1, 5, 5])
    r = [
        layers.conv2d(x, 4, 3, use_cudnn=False),
        layers.conv2d(x, 4, 3, groups=1, use_cudnn=False),
        layers.conv2d(fluid.data("y", [2, 3, 5, 5]), 6, 3, groups=3, use_cudnn=False),
        ops(),
        names(),
    ]
    return r


def value_7_bilinear():
    r = []
    for k in (4, 3, 5):
        with fresh():
            w = layers.create_parameter([2, 2, k, k], "float32", default_initializer=fluid.initializer.Bilinear())
            r.append(run([w]))
    return r


def value_8_slices():
    x = fluid.data("x", [4, 6])

    def v(n):
        return layers.fill_constant([1], "int32", n)

    fs = [
        lambda: x[0 : v(2)],
        lambda: x[v(1) : 3],
        lambda: x[0 : 4 : v(2)],
        lambda: x[v(1)],
        lambda: x[v(1), 2],
        lambda: x[v(1), 1 : v(3)],
        lambda: x[::-1],
        lambda: x[-1],
        lambda: x[-2:, 0],
        lambda: x[v(0) : v(4) : v(3)],
    ]
    r = []
    for f in fs:
        y = tryit(f)
        r.append(
            [
                y,
                None
                if isinstance(y, Exception)
                else tryit(run, [y], {"x": np.arange(24).reshape(4, 6).astype("float32")}),
            ]
        )
    r = [r, ops()]
    return r


def value_14_sizes():
    r = []
    for n, k, s in ((6, 7, 7), (6, 7, 1), (9, 5, 2), (9, 11, 2), (9, 10, 3), (9, 13, 7), (7, 9, 2)):
        x = fluid.data("x%d" % len(r), [1, 1, n, n])
        for f in (
            lambda: layers.pool2d(x, k, "max", s),
            lambda: layers.conv2d(x, 1, k, s),
            lambda: layers.pool2d(x, k, "avg", s, ceil_mode=True),
        ):
            o = tryit(f)
            r.append(o)
    return r


def value_15_minimize_returns():
    r = {}
    for n, mk in dict(
        sgd=lambda: fluid.optimizer.SGD(0.1),
        mom=lambda: fluid.optimizer.Momentum(0.1, 0.9),
        adam=lambda: fluid.optimizer.Adam(0.1),
        lamb=lambda: fluid.optimizer.Lamb(0.1),
        reg=lambda: fluid.optimizer.SGD(0.1, regularization=fluid.regularizer.L2Decay(0.1)),
        clip=lambda: fluid.optimizer.SGD(0.1, grad_clip=fluid.clip.GradientClipByGlobalNorm(1.0)),
        rms=lambda: fluid.optimizer.RMSProp(0.1),
        dgc=lambda: fluid.optimizer.Ftrl(0.1),
        adagrad=lambda: fluid.optimizer.Adagrad(0.1),
        adamax=lambda: fluid.optimizer.Adamax(0.1),
        ada=lambda: fluid.optimizer.Adadelta(0.1),
        lars=lambda: fluid.optimizer.LarsMomentum(0.1, 0.9),
        dec=lambda: fluid.optimizer.DecayedAdagrad(0.1),
    ).items():
        for lrp in (1.0, 2.0):
            with fresh():
                x = fluid.data("x", [2, 3])
                loss = layers.mean(layers.fc(x, 1, param_attr=fluid.ParamAttr(learning_rate=lrp)))
                a, b = mk().minimize(loss)
                r[n + str(lrp)] = [[o.type for o in a], [[p.name, g.name] for p, g in b], ops()]
    return r


def value_15b_apply_gradients_fp16():
    x = fluid.data("x", [2, 3])
    loss = layers.mean(layers.fc(x, 1))
    o = fluid.optimizer.SGD(0.1)
    pg = o.backward(loss)
    r = [[[p.name, g.name] for p, g in pg], [q.type for q in o.apply_gradients(pg)]]
    for init in (
        fluid.initializer.Constant(0.5),
        fluid.initializer.Uniform(-1, 1, 3),
        fluid.initializer.Normal(0, 1, 3),
        fluid.initializer.TruncatedNormal(0, 1, 3),
        fluid.initializer.Xavier(seed=3),
        fluid.initializer.MSRA(seed=3),
        fluid.initializer.Bilinear(),
        fluid.initializer.NumpyArrayInitializer(np.ones((2, 2, 3, 3), "float16")),
    ):
        with fresh():
            blk = fluid.default_startup_program().global_block()
            v = tryit(lambda: blk.create_parameter(shape=[2, 2, 3, 3], dtype="float16", name="p", initializer=init))
            r.append(
                [
                    v,
                    ops(fluid.default_startup_program()),
                    names(fluid.default_startup_program()),
                    tryit(
                        lambda: np.array(
                            fluid.Executor(fluid.CPUPlace()).run(
                                fluid.default_startup_program(), fetch_list=[blk.var("p")]
                            )[0]
                        ).astype("float32")
                    ),
                ]
            )
    return r


def value_16_recompute():
    x = fluid.data("x", [2, 3])
    h = layers.fc(x, 4, act="relu")
    h2 = layers.fc(h, 4, act="relu")
    h3 = layers.fc(h2, 4, act="relu")
    loss = layers.mean(layers.fc(h3, 1))
    o = fluid.optimizer.RecomputeOptimizer(fluid.optimizer.SGD(0.1))
    o._set_checkpoints([h, h3])
    a, b = o.minimize(loss)
    r = [sorted(n for n in names() if "subprog" in n), [q.type for q in a], [[p.name, g.name] for p, g in b]]
    return r


def value_17_unknown_attrs():
    blk = fluid.default_main_program().global_block()
    x = fluid.data("x", [2, 3])
    o = blk.create_var(name="o", dtype="float32")
    op = blk.append_op(type="relu", inputs={"X": [x]}, outputs={"Out": [o]}, attrs={"foo": 3, "use_mkldnn": False})
    r = [sorted(op.attr_names), run([o], {"x": numbers(2, 3).astype("float32")})]
    return r

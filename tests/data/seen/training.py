"""Optimizers, initializers, regularizers and clips."""

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

C = fluid.initializer.Constant


def _net():
    x = fluid.data("x", [-1, 3])
    y = fluid.data("y", [-1, 1])
    h = layers.fc(x, 4, act="relu", param_attr=fluid.initializer.Constant(0.3))
    p = layers.fc(h, 1, param_attr=fluid.initializer.Constant(0.2))
    return x, y, p, layers.mean(layers.square_error_cost(p, y))


def _fed():
    return {"x": numbers(4, 3), "y": numbers(4, 1)}


def _attrs(op, *skip):
    left = ("op_callstack", "op_namescope", "op_device", "op_role", *skip)
    return {n: op.attr(n) for n in sorted(op.attr_names) if n not in left}


def optimizers_startup():
    r = {}
    for n, mk in dict(
        sgd=lambda: fluid.optimizer.SGD(0.1),
        mom=lambda: fluid.optimizer.Momentum(0.1, 0.9, use_nesterov=True),
        adam=lambda: fluid.optimizer.Adam(0.1),
        lamb=lambda: fluid.optimizer.Lamb(0.1),
        rms=lambda: fluid.optimizer.RMSProp(0.1, centered=True),
        ftrl=lambda: fluid.optimizer.Ftrl(0.1),
        adagrad=lambda: fluid.optimizer.Adagrad(0.1, initial_accumulator_value=0.2),
        adamax=lambda: fluid.optimizer.Adamax(0.1),
        ada=lambda: fluid.optimizer.Adadelta(0.1),
        lars=lambda: fluid.optimizer.LarsMomentum(0.1, 0.9),
        dec=lambda: fluid.optimizer.DecayedAdagrad(0.1),
        dps=lambda: fluid.optimizer.Dpsgd(0.1),
    ).items():
        with fresh():
            x, y, p, c = _net()
            o = mk()
            a, b = o.minimize(c)
            s = fluid.default_startup_program().global_block()
            exe = started()
            r[n] = [
                [
                    (q.type, q.output_arg_names)
                    for q in s.ops
                    if "fc_" not in q.output_arg_names[0] or "_0" == q.output_arg_names[0][-2:]
                ],
                [q.type for q in a],
                _attrs(a[0], "op_role_var"),
                a[0].attr("op_role_var"),
                sorted((k, sorted(v)) for k, v in getattr(o, "_accumulators", {}).items()),
                o.type,
                tryit(o._global_learning_rate),
                tryit(o.get_opti_var_name_list),
                sorted(v.name for v in fluid.default_main_program().list_vars() if v.persistable),
                [exe.run(feed=_fed(), fetch_list=[c]) for _ in range(3)] if n != "dps" else 0,
                tryit(lambda: sorted(o.state_dict())),
            ]
    return r


def optimizer_errors():
    O = fluid.optimizer
    x, y, p, c = _net()
    r = [
        tryit(O.SGD),
        tryit(O.SGD, "a"),
        tryit(O.SGD, None),
        tryit(O.SGD, 1),
        tryit(O.Momentum, 0.1),
        tryit(O.Momentum, 0.1, None),
        tryit(O.Adam, None),
        tryit(O.Adam, 0.1, 2),
        tryit(O.SGD(0.1).minimize, 3),
        tryit(O.SGD(0.1).minimize, [c]),
        tryit(O.SGD(0.1).minimize, p),
        tryit(O.SGD(0.1).minimize, c, 3),
        tryit(O.SGD(0.1).minimize, c, parameter_list=3),
        tryit(O.SGD(0.1).minimize, c, no_grad_set=3),
        tryit(O.SGD(0.1).minimize, c, parameter_list=["zz"]),
        tryit(O.SGD(0.1).apply_gradients, []),
        tryit(O.SGD(0.1).apply_gradients, 3),
        tryit(O.Ftrl, None),
        tryit(O.RMSProp, None),
        tryit(O.RMSProp, 0.1, None),
        tryit(O.LarsMomentum, 0.1, None),
        tryit(O.Adadelta, None),
        tryit(O.Adadelta, 0.1, None),
        tryit(O.Lamb, None),
        tryit(O.DecayedAdagrad, None),
        tryit(O.Adagrad, None),
        tryit(O.Adamax, None),
        tryit(O.LookaheadOptimizer, None),
        tryit(O.LookaheadOptimizer, O.SGD(0.1), 2.0),
        tryit(O.LookaheadOptimizer, O.SGD(0.1), 0.5, 2.5),
        tryit(O.RecomputeOptimizer, 3) and 1,
        tryit(lambda: O.RecomputeOptimizer(O.SGD(0.1)).minimize(c)),
        tryit(O.ModelAverage, 0.1) and 1,
        tryit(lambda: O.Adam(0.1, lazy_mode="a")) and 1,
    ]
    return r


def regularizer():
    x = fluid.data("x", [2, 3])
    b = fluid.default_main_program().global_block()
    w = layers.fc(
        x,
        2,
        bias_attr=False,
        param_attr=fluid.ParamAttr("w", regularizer=fluid.regularizer.L1Decay(0.5), initializer=C(0.1)),
    )
    l = layers.mean(w)
    pg = fluid.backward.append_backward(l)
    n = len(b.ops)
    q = fluid.regularizer.append_regularization_ops(pg)
    q2 = fluid.regularizer.append_regularization_ops([(pg[0][0], None)])
    r = [
        [o.type for o in b.ops[n:]],
        [(i.name, j.name) for i, j in q],
        str(fluid.regularizer.L1Decay(0.5)),
        str(fluid.regularizer.L2Decay(0.5)),
        tryit(fluid.regularizer.L2Decay, "a") and 1,
        [(i.name, j) for i, j in q2],
        _attrs(b.ops[n]),
        run([l, q[0][1]], {"x": numbers(2, 3)}),
    ]
    return r


def initializers():
    r = []
    I = fluid.initializer
    for i in (
        I.Constant(2.0),
        I.Uniform(),
        I.Uniform(-4.2, 3.1, 123),
        I.Normal(),
        I.Normal(2.3, 1.9, 123),
        I.TruncatedNormal(2.3, 1.9, 123),
        I.Xavier(),
        I.Xavier(uniform=False),
        I.Xavier(fan_in=12, fan_out=23, seed=134),
        I.MSRA(),
        I.MSRA(uniform=False),
        I.MSRA(fan_in=12, seed=134),
        I.Xavier(False, 3, 4, 5),
    ):
        for shape in ([5, 10], [5, 10, 15, 15]):
            for dt in ("float32", "float64"):
                with fresh():
                    b = fluid.Program().global_block()
                    v = tryit(b.create_parameter, dtype=dt, shape=shape, lod_level=0, name="param", initializer=i)
                    r.append(
                        [
                            type(i).__name__,
                            v,
                            [(o.type, _attrs(o)) for o in b.ops if o.type != "assign_value"],
                            [sorted(k) for k in [dict(_attrs(o)) for o in b.ops if o.type == "assign_value"]],
                        ]
                    )
    return r


def initializer_errors():
    I = fluid.initializer
    r = [
        tryit(lambda f=f: f()) if not isinstance(tryit(f), fluid.initializer.Initializer) else "ok"
        for f in (
            lambda: I.Constant(None),
            lambda: I.Constant("a"),
            lambda: I.Uniform(None),
            lambda: I.Uniform(1, "a"),
            lambda: I.Uniform(1.0, -1.0),
            lambda: I.Normal(None),
            lambda: I.Normal("a"),
            lambda: I.Xavier(None),
            lambda: I.Xavier(seed=None),
            lambda: I.MSRA(None),
            lambda: I.MSRA(True, "a"),
            lambda: I.NumpyArrayInitializer(3),
            lambda: I.NumpyArrayInitializer([1, 2]),
            lambda: I.TruncatedNormal(None),
            lambda: I.Uniform(diag_num=2),
            lambda: I.Uniform(-1, 1, 0, 2, 2, 0.5),
        )
    ]
    x = fluid.data("x", [2, 3])
    r += [
        tryit(layers.fc, x, 2, param_attr=v)
        for v in (
            3,
            "nm",
            True,
            None,
            False,
            fluid.initializer.Constant(1.0),
            fluid.regularizer.L2Decay(0.1),
            [fluid.ParamAttr("q")],
            [1],
            {},
            fluid.ParamAttr(initializer=3),
        )
    ]
    r += [
        tryit(fluid.ParamAttr, *a)
        for a in (
            (3,),
            (None, 3),
            (None, None, "a"),
            (None, None, 1.0, 3),
            (None, None, 1.0, None, "a"),
            (None, None, 1.0, None, True, 3),
        )
    ]
    return r


def init_ops_bilinear_errors():
    b = fluid.default_startup_program().global_block()
    r = [
        tryit(
            b.create_parameter, dtype=d, shape=s, name="p%d%s" % (len(s), d), initializer=fluid.initializer.Bilinear()
        )
        for s in ([2, 2], [2, 2, 3, 4], [2, 2, 4, 4])
        for d in ("float32", "float64", "float16")
    ]
    return r


def clip():
    r = {}
    K = fluid.clip
    for n, mk in dict(
        v=lambda: K.GradientClipByValue(0.1),
        v2=lambda: K.GradientClipByValue(0.2, -0.1),
        n=lambda: K.GradientClipByNorm(0.1),
        g=lambda: K.GradientClipByGlobalNorm(0.1),
        f=lambda: K.GradientClipByGlobalNorm(0.1, need_clip=lambda p: "w" in p.name),
    ).items():
        with fresh():
            x, y, p, c = _net()
            q = tryit(mk)
            if isinstance(q, Exception):
                r[n] = q
                continue
            pg = fluid.optimizer.SGD(0.1, grad_clip=q).backward(c)
            a = tryit(q, pg)
            r[n] = [str(q), [(i.name, j.name) for i, j in a] if isinstance(a, list) else a, ops()]
            if isinstance(a, list):
                r[n].append(run([j for i, j in a], _fed()))
    r["e"] = [
        tryit(K.GradientClipByValue, "a"),
        tryit(K.GradientClipByNorm, "a") and 1,
        tryit(K.set_gradient_clip, 3),
        tryit(K.set_gradient_clip, K.GradientClipByNorm(1.0), 3),
        tryit(K.set_gradient_clip, K.GradientClipByNorm(1.0), ["zz"]),
        tryit(K.ErrorClipByValue, 1.0) and 1,
        tryit(K.GradientClipByValue, -1.0) and 1,
        str(K.ErrorClipByValue(1.0, -2.0)),
    ]
    return r


def ema_lookahead_model_average():
    x, y, p, c = _net()
    fluid.optimizer.SGD(0.1).minimize(c)
    e = fluid.optimizer.ExponentialMovingAverage(0.9)
    e.update()
    exe = started()
    r = [exe.run(feed=_fed(), fetch_list=[c]) for _ in range(3)]
    w = lambda: np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor())
    r += [w()]
    with e.apply(exe):
        r += [w()]
    r += [
        w(),
        sorted(v.name for v in fluid.default_main_program().list_vars() if v.persistable),
        tryit(fluid.optimizer.ExponentialMovingAverage, "a") and 1,
    ]
    return r


def weight_norm():
    x = fluid.data("x", [2, 3])
    y = layers.fc(x, 4, param_attr=fluid.WeightNormParamAttr(dim=1, name="wn", initializer=C(0.3)), bias_attr=False)
    fluid.optimizer.SGD(0.1).minimize(layers.mean(y))
    exe = started()
    r = [
        names(),
        ops(),
        ops(fluid.default_startup_program()),
        [exe.run(feed={"x": numbers(2, 3)}, fetch_list=[y]) for _ in range(3)],
        [(v.name, v.shape) for v in fluid.default_main_program().all_parameters()],
    ]
    return r

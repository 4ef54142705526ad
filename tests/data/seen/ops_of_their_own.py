"""Numbers of single ops in which 1.8.5 goes its own way."""

from __future__ import annotations

import numpy as np

from tests.data.seen.seen import (
    fluid,
    fresh,
    layers,
    lt,
    numbers,
    run,
    started,
    tryit,
)


def value_5_lstm_cell_grad():
    r = []
    for D in (3, 5, 8, 16):
        with fresh():
            x = fluid.data("x", [-1, 4 * D], lod_level=1)
            x.stop_gradient = False
            h, c = layers.dynamic_lstm(
                x, 4 * D, param_attr=fluid.initializer.Constant(0.05), bias_attr=fluid.initializer.Constant(0.1)
            )
            g = fluid.gradients([layers.reduce_sum(layers.square(h)) + layers.reduce_sum(layers.square(c))], [x])
            r.append(
                run(
                    [h, c] + g,
                    {"x": lt((np.arange(5 * 4 * D).reshape(5, 4 * D) % 11 / 11.0).astype("float32"), [[2, 3]])},
                    numpy=False,
                )
            )
    return r


def value_5b_gru_h0():
    r = []
    for D in (3, 8):
        with fresh():
            x = fluid.data("x", [-1, 3 * D], lod_level=1)
            x.stop_gradient = False
            h0 = fluid.data("h0", [-1, D])
            h = layers.dynamic_gru(
                x, D, param_attr=fluid.ParamAttr("w", initializer=fluid.initializer.Constant(0.05)), h_0=h0
            )
            g = fluid.gradients(
                [layers.reduce_sum(layers.square(h))], [x, fluid.default_main_program().global_block().var("w")]
            )
            r.append(
                run(
                    [h] + g,
                    {
                        "x": lt((np.arange(5 * 3 * D).reshape(5, 3 * D) % 11 / 11.0).astype("float32"), [[2, 3]]),
                        "h0": numbers(2, D).astype("float32"),
                    },
                    numpy=False,
                )
            )
    return r


def value_9_lstmp():
    D, P = 15, 4
    x = fluid.data("x", [-1, 4 * D], lod_level=1)
    x.stop_gradient = False
    r = []
    for cc, pc in ((None, None), (0.1, 0.1), (0.1, None), (None, 0.05)):
        p, c = layers.dynamic_lstmp(
            x,
            4 * D,
            P,
            param_attr=fluid.ParamAttr(initializer=fluid.initializer.Uniform(-0.3, 0.3, seed=5)),
            cell_clip=cc,
            proj_clip=pc,
        )
        g = fluid.gradients(
            [layers.reduce_sum(layers.square(p))],
            [x]
            + [
                q
                for q in fluid.default_main_program().all_parameters()
                if p.op.input("Weight")[0] == q.name or p.op.input("ProjWeight")[0] == q.name
            ],
        )
        r.append(
            run(
                [p, c] + g,
                {"x": lt((np.arange(5 * 4 * D).reshape(5, 4 * D) % 11 / 5.0).astype("float32"), [[2, 3]])},
                numpy=False,
            )
        )
    return r


def value_10_scale_var_concat():
    x = fluid.data("x", [4])
    x.stop_gradient = False
    s = layers.fill_constant([1], "float32", 3.0)
    g = fluid.gradients([layers.mean(layers.scale(x, s))], [x])
    a = fluid.data("a", [-1, 1], lod_level=1)
    b = fluid.data("b", [-1, 1], lod_level=1)
    c = layers.concat([a, b], axis=0)
    r = run(
        g + [c],
        {
            "x": np.ones(4, "float32"),
            "a": lt(np.ones((3, 1), "float32"), [[1, 2]]),
            "b": lt(np.ones((4, 1), "float32"), [[3, 1]]),
        },
        numpy=False,
    )
    return r


def value_11_ftrl():
    p = layers.create_parameter(
        [3],
        "float32",
        name="p",
        default_initializer=fluid.initializer.NumpyArrayInitializer(np.array([0.5, 0.6, 0.9], "float32")),
    )
    loss = layers.reduce_sum(p * p)
    fluid.optimizer.Ftrl(0.1, l1=0.01, l2=0.05).minimize(loss)
    exe = started()
    for i in range(3):
        exe.run(fetch_list=[loss])
    r = [
        np.array(fluid.global_scope().find_var("p").get_tensor()),
        [
            dict((n, o.attr(n)) for n in ("l1", "l2", "lr_power"))
            for o in fluid.default_main_program().global_block().ops
            if o.type == "ftrl"
        ],
    ]
    return r


def value_12_resize():
    x = fluid.data("x", [2, 3, 5, 7])
    x.stop_gradient = False
    feed = {
        "x": np.arange(210).reshape(2, 3, 5, 7).astype("float32"),
        "y": np.arange(210).reshape(1, 2, 3, 5, 7).astype("float32"),
    }
    y = fluid.data("y", [1, 2, 3, 5, 7])
    y.stop_gradient = False
    r = []
    for m in (0, 1):
        for ac in (False, True):
            for s in ([1, 1], [1, 3], [3, 1]):
                o = layers.resize_bilinear(x, s, align_corners=ac, align_mode=m)
                r.append(run([o] + fluid.gradients([layers.reduce_sum(layers.square(o))], [x]), feed))
            for s in ([1, 1, 1], [1, 3, 1], [3, 1, 2]):
                o = layers.resize_trilinear(y, s, align_corners=ac, align_mode=m)
                r.append(run([o] + fluid.gradients([layers.reduce_sum(layers.square(o))], [y]), feed))
    return r


def value_13_rank_loss():
    l = fluid.data("l", [3, 1])
    a = fluid.data("a", [3])
    b = fluid.data("b", [3, 1])
    o = layers.rank_loss(l, a, b)
    r = [
        o,
        run(
            [o],
            {
                "l": numbers(3, 1).astype("float32"),
                "a": numbers(3).astype("float32"),
                "b": numbers(3, 1).astype("float32"),
            },
        ),
    ]
    return r


def value_13_nms():
    bx = fluid.data("bx", [2, 5, 4])
    sc = fluid.data("sc", [2, 3, 5])
    feed = {"bx": np.ones((2, 5, 4), "float32"), "sc": np.zeros((2, 3, 5), "float32")}
    o = layers.multiclass_nms(bx, sc, 0.99, 10, 5)
    o2, i2 = fluid.contrib.layers.multiclass_nms2(bx, sc, 0.99, 10, 5, return_index=True)
    r = run([o, o2, i2], feed, numpy=False)
    return r


def value_13_mish():
    x = fluid.data("x", [5])
    x.stop_gradient = False
    r = []
    for t in (5, 20, 0.5):
        o = layers.mish(x, t)
        r.append(run([o] + fluid.gradients([o], [x]), {"x": np.array([-6, -1, 0, 6, 25], "float32")}))
    return r


def value_13_gru14():
    x = fluid.data("x", [-1, 6], lod_level=1)
    o = layers.dynamic_gru(x, 2, param_attr=fluid.initializer.Constant(0.1), bias_attr=False)
    r = (
        [
            ("%.9g" % f)
            for f in run([o], {"x": lt(np.full((1, 6), 14, "float32"), [[1]])}, numpy=False)[0]
            .__array__()
            .reshape(-1)
        ]
        if False
        else run([o], {"x": lt(np.full((1, 6), 14, "float32"), [[1]])}, numpy=False)
    )
    r = ["%.8g" % f for f in np.array(r[0]).reshape(-1)]
    return r


def value_13_argmax_cast_ctc():
    x = fluid.data("x", [5])
    o = layers.argmax(x)
    c = layers.cast(layers.cast(fluid.data("h", [3]), "float16"), "float32")
    i = fluid.data("i", [2, 6], "int64")
    il = fluid.data("il", [2, 1], "int64")
    blk = fluid.default_main_program().global_block()
    out = blk.create_var(name="out", dtype="int64")
    ol = blk.create_var(name="ol", dtype="int64")
    blk.append_op(
        type="ctc_align",
        inputs={"Input": [i], "InputLength": [il]},
        outputs={"Output": [out], "OutputLength": [ol]},
        attrs={"blank": 0, "merge_repeated": True, "padding_value": 0},
    )
    r = [
        o,
        run(
            [o, c, out, ol],
            {
                "x": numbers(5).astype("float32"),
                "h": np.array([0.3, 1 / 3.0, 65519], "float32"),
                "i": np.array([[0, 1, 1, 2, 0, 3], [1, 1, 0, 0, 2, 2]]),
                "il": np.array([[6], [4]]),
            },
        ),
    ]
    return r


def value_13_maxpool():
    x = fluid.data("x", [2, 3, 7, 7])
    blk = fluid.default_main_program().global_block()
    out = blk.create_var(name="out", dtype="float32")
    ol = blk.create_var(name="mask", dtype="int32")
    blk.append_op(
        type="max_pool2d_with_index",
        inputs={"X": [x]},
        outputs={"Out": [out], "Mask": [ol]},
        attrs={"global_pooling": True, "adaptive": True, "ksize": [3, 3]},
    )
    r = [out, run([out, ol], {"x": np.arange(294).reshape(2, 3, 7, 7).astype("float32")})]
    return r


def value_13_heads():
    x = fluid.data("x", [3, 16])
    y = fluid.data("y", [16, 4])
    blk = fluid.default_main_program().global_block()
    out = blk.create_var(name="out", dtype="float32")
    blk.append_op(type="matmul", inputs={"X": [x], "Y": [y]}, outputs={"Out": [out]}, attrs={"head_number": 4})
    r = [
        run(
            [out],
            {
                "x": np.arange(48).reshape(3, 16).astype("float32"),
                "y": np.arange(64).reshape(16, 4).astype("float32"),
            },
        )
    ]
    return r


def value_13_fill():
    x = fluid.data("x", [3], "int32")
    blk = fluid.default_main_program().global_block()
    out = blk.create_var(name="out", dtype="int32")
    blk.append_op(type="fill_any_like", inputs={"X": [x]}, outputs={"Out": [out]}, attrs={"value": 1e100})
    r = tryit(run, [out], {"x": np.zeros(3, "int32")})
    return r


def value_13_adadelta():
    blk = fluid.default_main_program().global_block()

    def par(n, v):
        return layers.create_parameter(
            list(np.shape(v)),
            "float32",
            name=n,
            default_initializer=fluid.initializer.NumpyArrayInitializer(np.array(v, "float32")),
        )

    p, g, s, u = (
        par("p", [1, 2, 3.0]),
        par("g", [0.1, 0.2, 0.3]),
        par("s", [0.5, 0.4, 0.3]),
        par("u", [0.1, 0.1, 0.2]),
    )
    o = [blk.create_var(name=n, dtype="float32") for n in ("po", "so", "uo")]
    blk.append_op(
        type="adadelta",
        inputs={"Param": [p], "Grad": [g], "AvgSquaredGrad": [s], "AvgSquaredUpdate": [u]},
        outputs={"ParamOut": [o[0]], "AvgSquaredGradOut": [o[1]], "AvgSquaredUpdateOut": [o[2]]},
        attrs={},
    )
    r = run(o + [p, s, u])
    return r


def value_13_sparse_adam_others():
    blk = fluid.default_main_program().global_block()

    def par(n, v):
        return layers.create_parameter(
            list(np.shape(v)),
            "float32",
            name=n,
            default_initializer=fluid.initializer.NumpyArrayInitializer(np.array(v, "float32")),
        )

    p = par("p", numbers(5, 2))
    m1 = par("m1", numbers(5, 2))
    m2 = par("m2", numbers(5, 2))
    b1 = par("b1", [0.9])
    b2 = par("b2", [0.99])
    lr = par("lr", [0.1])
    ids = fluid.data("ids", [3, 1], "int64")
    emb = layers.embedding(ids, [5, 2], is_sparse=True, param_attr="emb")
    loss = layers.reduce_sum(layers.square(emb))
    pg = fluid.backward.append_backward(loss)
    o = [blk.create_var(name=n, dtype="float32") for n in ("po", "m1o", "m2o")]
    r = []
    blk.append_op(
        type="adam",
        inputs={
            "Param": [p],
            "Grad": [pg[0][1]],
            "Moment1": [m1],
            "Moment2": [m2],
            "Beta1Pow": [b1],
            "Beta2Pow": [b2],
            "LearningRate": [lr],
        },
        outputs={
            "ParamOut": [o[0]],
            "Moment1Out": [o[1]],
            "Moment2Out": [o[2]],
            "Beta1PowOut": [b1],
            "Beta2PowOut": [b2],
        },
        attrs={"lazy_mode": False},
    )
    exe = started()
    fluid.global_scope().find_var("emb").get_tensor().set(numbers(5, 2).astype("float32"), fluid.CPUPlace())
    r = exe.run(feed={"ids": np.array([[1], [3], [1]])}, fetch_list=o)
    return r

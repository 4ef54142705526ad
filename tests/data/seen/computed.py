"""What looks unusual and is computed by 1.8.5."""

from __future__ import annotations

import numpy as np

from tests.data.seen.seen import fluid, layers, lt, numbers, ops, run, tryit


def rdiv():
    x = fluid.data("x", [-1, 3, -1, -1])
    y = 1.0 / x
    r = [y, ops(), run([y], {"x": numbers(2, 3, 2, 2)})]
    return r


def same_dil():
    x = fluid.data("x", [1, 2, 5, 5])
    z = fluid.data("z", [1, 2, 4, 4, 4])
    I = fluid.initializer.Constant(0.1)
    r = run(
        [
            layers.conv2d_transpose(x, 2, filter_size=3, padding="SAME", dilation=2, stride=2, param_attr=I),
            layers.conv3d_transpose(z, 2, filter_size=3, padding="SAME", dilation=2, param_attr=I),
        ],
        {"x": numbers(1, 2, 5, 5), "z": numbers(1, 2, 4, 4, 4)},
    )
    return r


def seqslice():
    x = fluid.data("x", [-1, 1], lod_level=1)
    o = fluid.data("o", [-1, 1], "int64")
    l = fluid.data("l", [-1, 1], "int64")
    x.stop_gradient = False
    y = layers.sequence_slice(x, o, l)
    r = run(
        [y] + fluid.gradients([layers.reduce_sum(layers.square(y))], [x]),
        {"x": lt(numbers(5, 1), [[3, 0, 2]]), "o": np.array([[1], [0], [0]]), "l": np.array([[2], [0], [1]])},
        numpy=False,
    )
    return r


def array_concat():
    a = layers.create_array("float32")
    x = fluid.data("x", [2, 3])
    for i in range(3):
        layers.array_write(x * float(i + 1), layers.fill_constant([1], "int64", i), a)
    c = layers.concat(a, 1)
    s, si = layers.tensor_array_to_tensor(a, 1, use_stack=True)
    s2, s2i = layers.tensor_array_to_tensor(a, 1)
    r = [c, s, s2, tryit(lambda: layers.stack(a)), ops()]
    r += [run([c, s, si, s2, s2i] + ([r[3]] if not isinstance(r[3], Exception) else []), {"x": numbers(2, 3)})]
    return r


def uint8_resize():
    x = fluid.data("x", [1, 1, 3, 3], "uint8")
    y = fluid.data("y", [1, 1, 3, 3, 3], "uint8")
    r = [
        tryit(run, [layers.resize_bilinear(x, [5, 5])], {"x": np.arange(9).reshape(1, 1, 3, 3).astype("uint8")}),
        tryit(
            run,
            [tryit(layers.resize_trilinear, y, [4, 4, 4])],
            {"y": np.arange(27).reshape(1, 1, 3, 3, 3).astype("uint8")},
        ),
    ]
    return r


def gauss_shape_var():
    s = layers.fill_constant([2], "int32", 3)
    s64 = layers.fill_constant([2], "int64", 2)
    g = layers.gaussian_random(s, seed=3)
    u = layers.uniform_random(s64, seed=3)
    g2 = layers.gaussian_random([2, layers.fill_constant([1], "int32", 3)], seed=5)
    r = [g, u, g2, run([g, u, g2])]
    return r


def seqconv_pad():
    x = fluid.data("x", [-1, 2], lod_level=1)
    w = fluid.data("w", [6, 3])
    pd = fluid.data("pd", [2, 2])
    x.stop_gradient = w.stop_gradient = pd.stop_gradient = False
    blk = fluid.default_main_program().global_block()
    o = blk.create_var(name="o", dtype="float32")
    blk.append_op(
        type="sequence_conv",
        inputs={"X": [x], "Filter": [w], "PaddingData": [pd]},
        outputs={"Out": [o]},
        attrs={"contextLength": 3, "contextStart": -1, "contextStride": 1, "paddingTrainable": True},
    )
    o.stop_gradient = False
    g = fluid.gradients([layers.reduce_sum(layers.square(o))], [x, w, pd])
    r = run([o] + g, {"x": lt(numbers(5, 2), [[2, 3]]), "w": numbers(6, 3), "pd": numbers(2, 2)}, numpy=False)
    return r


def im2seq():
    x = fluid.data("x", [2, 1, 6, 6])
    s = fluid.data("s", [2, 2])
    o = layers.im2sequence(x, [2, 2], [1, 1], 0, input_image_size=s, out_stride=1)
    o2 = layers.im2sequence(x, [2, 2], [2, 1], [0, 1, 1, 0], input_image_size=s, out_stride=2)
    r = tryit(run, [o, o2], {"x": numbers(2, 1, 6, 6), "s": np.array([[6, 6], [4, 5]], "float32")}, numpy=False)
    return r


def nms_lod():
    b = fluid.data("b", [-1, 3, 4], lod_level=1)
    s = fluid.data("s", [-1, 3], lod_level=1)
    o = layers.multiclass_nms(b, s, 0.1, 10, 5, background_label=-1)
    o2, i2 = fluid.contrib.layers.multiclass_nms2(b, s, 0.1, 10, 5, background_label=-1, return_index=True)
    r = run(
        [o, o2, i2],
        {
            "b": lt(
                np.random.RandomState(3).rand(5, 3, 4).astype("float32") + np.array([0, 0, 1, 1], "float32"), [[2, 3]]
            ),
            "s": lt(numbers(5, 3) / 3, [[2, 3]]),
        },
        numpy=False,
    )
    return r


def nested_drnn():
    x = fluid.data("x", [-1, 2], lod_level=2)
    d = layers.DynamicRNN()
    with d.block():
        w = d.step_input(x)
        e = layers.DynamicRNN()
        with e.block():
            q = e.step_input(w)
            m = e.memory(shape=[2], value=0.0)
            n = m + q * 2.0
            e.update_memory(m, n)
            e.output(n)
        h = layers.sequence_last_step(e())
        m2 = d.memory(shape=[2], value=1.0)
        n2 = m2 * h
        d.update_memory(m2, n2)
        d.output(n2)
    o = d()
    r = tryit(run, [o], {"x": lt(numbers(6, 2), [[2, 1], [1, 2, 3]])}, numpy=False)
    return r


def basic_gru_names():
    x = fluid.data("x", [-1, 4, 3])
    basic_gru, basic_lstm = fluid.contrib.layers.basic_gru, fluid.contrib.layers.basic_lstm
    o, h = basic_gru(x, None, 4, 2, param_attr=fluid.ParamAttr("nm"), bias_attr=fluid.ParamAttr("nm"))
    p = sorted([v.name, list(v.shape)] for v in fluid.default_main_program().all_parameters())
    o2, h2, c2 = basic_lstm(
        x, None, None, 4, 2, param_attr=fluid.ParamAttr("nl"), bias_attr=fluid.ParamAttr("nl"), bidirectional=True
    )
    r = [
        p,
        sorted([v.name, list(v.shape)] for v in fluid.default_main_program().all_parameters()),
        [o, h, o2, h2, c2],
    ]
    return r


def hsig():
    x = fluid.data("x", [3, 2])
    x.stop_gradient = False
    y = fluid.data("y", [3, 1], "int64")
    o = layers.hsigmoid(
        x, y, 6, param_attr=fluid.initializer.Constant(0.3), bias_attr=fluid.initializer.Constant(0.1)
    )
    g = fluid.gradients([layers.reduce_sum(o)], [x])
    op = [q for q in fluid.default_main_program().global_block().ops if q.type == "hierarchical_sigmoid"][0]
    r = [
        o,
        op.output_names and sorted(op.output_names),
        run([o] + g, {"x": numbers(3, 2), "y": np.array([[0], [3], [5]])}),
    ]
    return r


def hsig_wout():
    blk = fluid.default_main_program().global_block()
    x = fluid.data("x", [3, 2])
    y = fluid.data("y", [3, 1], "int64")
    w = fluid.data("w", [5, 2])
    b = fluid.data("b", [5, 1])
    o = [blk.create_var(name=n, dtype="float32") for n in "opq"]
    blk.append_op(
        type="hierarchical_sigmoid",
        inputs={"X": [x], "W": [w], "Label": [y], "Bias": [b]},
        outputs={"Out": [o[0]], "PreOut": [o[1]], "W_Out": [o[2]]},
        attrs={"num_classes": 6},
    )
    r = run(
        [o[0], o[1]], {"x": numbers(3, 2), "y": np.array([[0], [3], [5]]), "w": numbers(5, 2), "b": numbers(5, 1)}
    )
    return r


def ln_0_rows():
    x = fluid.data("x", [-1, 3])
    r = tryit(run, [layers.layer_norm(x)], {"x": np.zeros((0, 3), "float32")})
    return r

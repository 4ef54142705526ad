"""fc (4 * hidden) -> dynamic_lstm, with and without peepholes, forward and reversed, given initial state, other activations;
sequence_pool last, fc softmax, cross_entropy; SGD; four steps. hidden and cell per step with their LoD."""

import numpy as np
import paddle.fluid as fluid
from goldenlib import Log, finish, ints, wave

L = fluid.layers
H = 3


def par(name, shape, phase):
    return fluid.ParamAttr(
        name=name, initializer=fluid.initializer.NumpyArrayInitializer(wave(shape, 0.71, phase, 0.4))
    )


log = Log()
programs = {}
place = fluid.CPUPlace()
exe = fluid.Executor(place)
for tag, kw, init in (
    ("peephole", {}, False),
    ("plain", {"use_peepholes": False}, False),
    ("reverse", {"is_reverse": True}, False),
    ("init", {"use_peepholes": False}, True),
    (
        "acts",
        {
            "gate_activation": "sigmoid",
            "cell_activation": "relu",
            "candidate_activation": "tanh",
            "use_peepholes": False,
        },
        False,
    ),
):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        x = L.data(name="x", shape=[2], dtype="float32", lod_level=1)
        y = L.data(name="y", shape=[1], dtype="int64")
        proj = L.fc(x, size=4 * H, param_attr=par("wx", [2, 4 * H], 0.1), bias_attr=False)
        feed_extra = {}
        if init:
            kw = dict(
                kw, h_0=L.data(name="h0", shape=[H], dtype="float32"), c_0=L.data(name="c0", shape=[H], dtype="float32")
            )
            feed_extra = {"h0": wave([3, H], 0.6, 0.1), "c0": wave([3, H], 0.6, 0.9)}
        bias = 7 * H if kw.get("use_peepholes", True) else 4 * H
        hidden, cell = L.dynamic_lstm(
            proj, size=4 * H, param_attr=par("wh", [H, 4 * H], 0.2), bias_attr=par("bh", [1, bias], 0.3), **kw
        )
        prob = L.fc(
            L.sequence_pool(hidden, "last"),
            size=3,
            act="softmax",
            param_attr=par("w", [H, 3], 0.4),
            bias_attr=par("b", [3], 0.5),
        )
        loss = L.mean(L.cross_entropy(prob, y))
        fluid.optimizer.SGD(0.5).minimize(loss)
        exe.run(startup)
        for step in range(4):
            feed = dict(
                feed_extra,
                x=fluid.create_lod_tensor(wave([9, 2], 0.77, step * 0.3), [[[2, 4, 3], [1, 5, 3]][step % 2]], place),
                y=ints([3, 1], 3, 2, step),
            )
            got = exe.run(
                main,
                feed=feed,
                fetch_list=[loss, hidden, cell, prob, "wx@GRAD", "wh@GRAD", "bh@GRAD"],
                return_numpy=False,
            )
            for key, value in zip(["loss", "hidden", "cell", "prob", "wx_grad", "wh_grad", "bh_grad"], got):
                log.add(tag + "/" + key, np.array(value))
            log.add(tag + "/hidden_lengths", np.array(got[1].recursive_sequence_lengths(), "int64"))
        for p in main.global_block().all_parameters():
            log.put(tag + "/final_" + p.name, np.array(fluid.global_scope().find_var(p.name).get_tensor()))
    programs[tag] = main
finish(__file__, __doc__, log, programs, rtol=2e-5, atol=2e-6)

"""dynamic_gru (both modes, reversed, initial state, other activations), gru_unit, lstm_unit, dynamic_lstmp: values and gradients; three SGD steps."""

import numpy as np
import paddle.fluid as fluid
from goldenlib import Log, finish, wave

L = fluid.layers
H = 3
log = Log()
place = fluid.CPUPlace()
exe = fluid.Executor(place)


def par(name, shape, phase):
    return fluid.ParamAttr(
        name=name, initializer=fluid.initializer.NumpyArrayInitializer(wave(shape, 0.71, phase, 0.4))
    )


def gru(**options):
    def build():
        x = L.fc(L.data("x", [2], lod_level=1), 3 * H, param_attr=par("p", [2, 3 * H], 0.1), bias_attr=False)
        state = (
            {"h_0": L.fc(L.data("h", [4]), H, param_attr=par("q", [4, H], 0.3))} if options.pop("start", False) else {}
        )
        return L.dynamic_gru(
            x, H, param_attr=par("w", [H, 3 * H], 0.2), bias_attr=par("b", [1, 3 * H], 0.5), **dict(options, **state)
        )

    return build


def lstmp(**options):
    def build():
        x = L.fc(L.data("x", [2], lod_level=1), 4 * H, param_attr=par("p", [2, 4 * H], 0.1), bias_attr=False)
        bias = par("b", [1, (7 if options.get("use_peepholes", True) else 4) * H], 0.5)
        return L.dynamic_lstmp(x, 4 * H, 2, bias_attr=bias, **options)[0]  # Fluid gives its cell no gradient

    return build


def unit(origin):
    def build():
        x, h = L.data("d", [6]), L.data("h", [4])
        hidden, _reset, _gate = L.gru_unit(
            L.fc(x, 3 * H, param_attr=par("p", [6, 3 * H], 0.1)),
            L.fc(h, H, param_attr=par("q", [4, H], 0.3)),
            3 * H,
            param_attr=par("w", [H, 3 * H], 0.2),
            bias_attr=par("b", [1, 3 * H], 0.5),
            origin_mode=origin,
        )
        return hidden

    return build


def lstm_unit():
    x, h = L.data("d", [6]), L.fc(L.data("h", [4]), H, param_attr=par("q", [4, H], 0.3))
    hidden, cell = L.lstm_unit(
        x, h, h, forget_bias=0.5, param_attr=par("w", [6 + H, 4 * H], 0.2), bias_attr=par("b", [4 * H], 0.1)
    )
    return L.elementwise_add(hidden, cell)


feed = {
    "x": fluid.create_lod_tensor(wave([9, 2], 0.77), [[2, 4, 3]], place),
    "d": wave([3, 6], 0.4),
    "h": wave([3, 4], 0.6),
}
for tag, build in (
    ("plain", gru()),
    ("origin", gru(origin_mode=True)),
    ("reverse", gru(is_reverse=True, start=True)),
    ("acts", gru(gate_activation="tanh", candidate_activation="relu")),
    ("lstmp", lstmp()),
    ("lstmp_plain", lstmp(use_peepholes=False, is_reverse=True)),
    ("unit", unit(False)),
    ("unit_origin", unit(True)),
    ("lstm_unit", lstm_unit),
):
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 3
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        out = build()
        loss = L.mean(L.square(out))
        grads = fluid.optimizer.SGD(0.5).minimize(loss)[1]
        exe.run(startup)
        given = {name: value for name, value in feed.items() if main.global_block().has_var(name)}
        for _step in range(3):
            got = exe.run(
                main,
                feed=given,
                fetch_list=[loss, out] + [g for _, g in sorted(grads, key=lambda pair: pair[0].name)],
                return_numpy=False,
            )
            for i, value in enumerate(got):
                log.add("%s/%d" % (tag, i), np.array(value))
finish(__file__, __doc__, log, rtol=2e-5, atol=2e-6)

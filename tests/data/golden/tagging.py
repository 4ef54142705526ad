"""linear_chain_crf (LoD and padded), crf_decoding with and without labels, chunk_eval in four schemes, warpctc (LoD, padded, norm_by_times),
ctc_greedy_decoder, edit_distance: values, LoD and gradients."""

import numpy as np
import paddle.fluid as fluid
from goldenlib import Log, finish, ints, wave

L = fluid.layers
log = Log()
place = fluid.CPUPlace()
exe = fluid.Executor(place)


def lod(array, lengths):
    return fluid.create_lod_tensor(array, [lengths], place)


def par(name, array):
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.NumpyArrayInitializer(array))


def case(tag, build, feed):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        fetch = build()
        exe.run(startup)
        got = exe.run(main, feed=feed, fetch_list=list(fetch), return_numpy=False)
    for i, tensor in enumerate(got):
        log.put("%s/%d" % (tag, i), np.array(tensor))
        for level, lens in enumerate(tensor.recursive_sequence_lengths()):
            log.put("%s/%d/lengths%d" % (tag, i, level), np.array(lens, "int64"))


def grads(cost, *variables):
    block = fluid.default_main_program().global_block()
    return fluid.gradients([L.mean(L.square(cost))], [block.var(v) if isinstance(v, str) else v for v in variables])


weights = wave([7, 5], 0.9, 0.4, 0.7)


def crf():
    e = L.data("e", [5], lod_level=1, stop_gradient=False)
    t = L.data("t", [1], dtype="int64", lod_level=1)
    cost = L.linear_chain_crf(e, t, param_attr=par("w", weights))
    best = L.crf_decoding(e, param_attr=fluid.ParamAttr(name="w"))
    right = L.crf_decoding(e, param_attr=fluid.ParamAttr(name="w"), label=t)
    return [cost, best, right] + grads(cost, e, "w")


for lengths in ([3, 1, 7], [11]):
    case(
        "crf%d" % len(lengths),
        crf,
        {"e": lod(wave([11, 5], 1.7, 0.2), lengths), "t": lod(ints([11, 1], 5, 3, 1), lengths)},
    )


def crf_padded():
    e, t, n = L.data("e", [6, 5], stop_gradient=False), L.data("t", [6], dtype="int64"), L.data("n", [1], dtype="int64")
    cost = L.linear_chain_crf(e, t, param_attr=par("w", weights), length=n)
    return [cost, L.crf_decoding(e, param_attr=fluid.ParamAttr(name="w"), length=n)] + grads(cost, e, "w")


case(
    "crf_padded",
    crf_padded,
    {"e": wave([3, 6, 5], 1.3), "t": ints([3, 6], 5, 3, 1), "n": np.array([[4], [6], [2]], "int64")},
)

for scheme, tags in (("IOB", 2), ("IOE", 2), ("IOBES", 4), ("plain", 1)):
    for excluded in ([], [1]):

        def chunks():
            i, t = L.data("i", [1], dtype="int64", lod_level=1), L.data("t", [1], dtype="int64", lod_level=1)
            return L.chunk_eval(i, t, scheme, 3, excluded_chunk_types=excluded)

        truth = ints([60, 1], 3 * tags + 1, 5, 2) * ints([60, 1], 3, 1, 0) % (3 * tags + 1)
        guess = np.where(ints([60, 1], 4, 1, 0) == 0, ints([60, 1], 3 * tags + 1, 3, 1), truth)
        case(
            "chunks_%s%d" % (scheme, len(excluded)),
            chunks,
            {"i": lod(guess, [20, 1, 39]), "t": lod(truth, [20, 1, 39])},
        )

for norm in (False, True):

    def ctc():
        x, y = L.data("x", [5], lod_level=1, stop_gradient=False), L.data("y", [1], dtype="int32", lod_level=1)
        cost = L.warpctc(x, y, blank=0, norm_by_times=norm)
        return [cost, L.ctc_greedy_decoder(x, blank=0)] + grads(cost, x)

    case(
        "ctc_%s" % norm,
        ctc,
        {
            "x": lod(wave([15, 5], 1.9, 0.3, 2.0), [5, 7, 3]),
            "y": lod(np.array([1, 2, 2, 3, 1, 1, 4], "int32").reshape(-1, 1), [2, 3, 2]),
        },
    )


def ctc_padded():
    x = L.data("x", [6, 3, 5], append_batch_size=False, stop_gradient=False)
    y = L.data("y", [3, 4], dtype="int32", append_batch_size=False)
    xn, yn = [L.data(n, [3], dtype="int64", append_batch_size=False) for n in ("xn", "yn")]
    cost = L.warpctc(x, y, blank=4, input_length=xn, label_length=yn)
    return [cost] + grads(cost, x)


case(
    "ctc_padded",
    ctc_padded,
    {
        "x": wave([6, 3, 5], 1.1),
        "y": ints([3, 4], 4).astype("int32"),
        "xn": np.array([6, 4, 5], "int64"),
        "yn": np.array([2, 1, 3], "int64"),
    },
)


def greedy_padded():
    x, n = L.data("x", [6, 5]), L.data("n", [1], dtype="int64")
    return L.ctc_greedy_decoder(x, blank=0, input_length=n, padding_value=-1)


case("greedy_padded", greedy_padded, {"x": wave([3, 6, 5], 2.3), "n": np.array([[6], [4], [1]], "int64")})

for normalized in (True, False):
    for ignored in (None, [2]):

        def distance():
            a, b = L.data("a", [1], dtype="int64", lod_level=1), L.data("b", [1], dtype="int64", lod_level=1)
            return L.edit_distance(a, b, normalized=normalized, ignored_tokens=ignored)

        case(
            "distance_%s_%s" % (normalized, ignored),
            distance,
            {"a": lod(ints([12, 1], 4, 3), [5, 3, 4]), "b": lod(ints([14, 1], 4, 5), [6, 4, 4])},
        )
finish(__file__, __doc__, log, rtol=1e-4, atol=1e-5)

"""rnn with GRUCell and LSTMCell (lengths, reversed, time-major) trained by SGD; beam search: single steps, a While loop with
beam_search and beam_search_decode, BeamSearchDecoder with dynamic_decode; hsigmoid with gradients."""

import numpy as np
import paddle.fluid as fluid
from goldenlib import Log, finish, ints, wave

L = fluid.layers
log = Log()
place = fluid.CPUPlace()
exe = fluid.Executor(place)


def lod(array, lengths):
    return fluid.create_lod_tensor(array, lengths, place)


def par(name, array):
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.NumpyArrayInitializer(array))


def case(tag, build, feed, steps=0):
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 11
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        fetch = list(build())
        if steps:
            fluid.optimizer.SGD(0.2).minimize(fetch[0])
        exe.run(startup)
        for _step in range(steps):
            log.add(tag + "/loss", exe.run(main, feed=feed, fetch_list=fetch[:1])[0])
        got = exe.run(main, feed=feed, fetch_list=fetch, return_numpy=False)
    for i, tensor in enumerate(got):
        log.put("%s/%d" % (tag, i), np.array(tensor))
        for level, lens in enumerate(tensor.recursive_sequence_lengths()):
            log.put("%s/%d/lengths%d" % (tag, i, level), np.array(lens, "int64"))


for kind, cell in (("gru", lambda: L.GRUCell(5)), ("lstm", lambda: L.LSTMCell(5))):
    for reverse, lengths, time_major in (
        (False, False, False),
        (False, True, False),
        (True, True, False),
        (True, False, True),
    ):

        def net():
            x, n = L.data("x", [6, 4]), L.data("n", [-1], dtype="int64", append_batch_size=False)
            hidden = L.fc(x, 4, num_flatten_dims=2)
            hidden = L.transpose(hidden, [1, 0, 2]) if time_major else hidden
            out, state = L.rnn(
                cell(), hidden, sequence_length=n if lengths else None, is_reverse=reverse, time_major=time_major
            )
            state = state if isinstance(state, list) else [state]
            return [L.reduce_mean(L.square(out)) + L.reduce_mean(L.square(state[0])), out] + state

        case(
            "%s_%d%d%d" % (kind, reverse, lengths, time_major),
            net,
            {"x": wave([3, 6, 4], 1.1, 0.2), "n": np.array([4, 6, 2], "int64")},
            steps=4,
        )

for number, (beam, rows, ended, accumulated) in enumerate(
    ((2, [2, 1], [], True), (2, [2, 2, 1], [1], True), (3, [3], [0, 2], False), (1, [1, 1], [0], True))
):

    def step():
        pre_ids, pre_scores = L.data("pi", [1], dtype="int64", lod_level=2), L.data("ps", [1], lod_level=2)
        ids, scores = L.data("i", [3], dtype="int64", lod_level=2), L.data("s", [3], lod_level=2)
        return L.beam_search(
            pre_ids, pre_scores, ids, scores, beam, 1, return_parent_idx=True, is_accumulated=accumulated
        )

    count, levels = sum(rows), [rows, [1] * sum(rows)]
    before = np.full([count, 1], 3, "int64")
    before[ended] = 1
    case(
        "step%d" % number,
        step,
        {
            "pi": lod(before, levels),
            "ps": lod(wave([count, 1], 0.9, 0.1), levels),
            "i": lod(ints([count, 3], 7, 3, 2), levels),
            "s": lod(wave([count, 3], 1.3, number, 0.4, 0.5), levels),
        },
    )
V = 7


def loop():
    first, score = L.data("first", [1], dtype="int64", lod_level=2), L.data("score", [1], lod_level=2)
    limit, i = L.fill_constant([1], "int64", 6), L.zeros([1], "int64")
    ids, scores = L.create_array("int64"), L.create_array("float32")
    L.array_write(first, i=i, array=ids)
    L.array_write(score, i=i, array=scores)
    more = L.less_than(i, limit)
    block = L.While(more)
    with block.block():
        pre_ids, pre_scores = L.array_read(ids, i), L.array_read(scores, i)
        prob = L.softmax(
            L.fc(
                L.embedding(pre_ids, [V, 4], param_attr=par("e", wave([V, 4], 1.7))),
                V,
                param_attr=par("f", wave([4, V], 2.3, 0.5, 2.0)),
                bias_attr=False,
            )
        )
        best, index = L.topk(prob, k=3)
        total = L.elementwise_add(L.log(best), L.reshape(pre_scores, [-1]), axis=0)
        chosen, chosen_scores = L.beam_search(pre_ids, pre_scores, index, total, 2, 1, level=0)
        L.increment(i)
        L.array_write(chosen, i=i, array=ids)
        L.array_write(chosen_scores, i=i, array=scores)
        L.assign(L.logical_and(L.less_than(i, limit), L.logical_not(L.is_empty(chosen))), more)
    return L.beam_search_decode(ids, scores, 2, 1)


case(
    "loop",
    loop,
    {
        "first": lod(np.array([[0], [2]], "int64"), [[1, 1], [1, 1]]),
        "score": lod(np.zeros([2, 1], "float32"), [[1, 1], [1, 1]]),
    },
)

for is_test in (False, True):

    def decode():
        cell = L.GRUCell(5, param_attr=fluid.ParamAttr(initializer=fluid.initializer.Normal(0, 1.5, seed=4)))
        decoder = L.BeamSearchDecoder(
            cell,
            0,
            1,
            3,
            embedding_fn=lambda t: fluid.embedding(t, size=[10, 4], param_attr=par("emb", wave([10, 4], 1.9))),
            output_fn=lambda t: L.fc(
                t,
                10,
                num_flatten_dims=len(t.shape) - 1,
                param_attr=par("out", wave([5, 10], 2.1, 0, 2.0)),
                bias_attr=False,
            ),
        )
        found, state, lengths = L.dynamic_decode(
            decoder, inits=L.data("h", [5]), max_step_num=7, is_test=is_test, return_length=True
        )
        return [found, state.log_probs, state.lengths, lengths]

    case("decoder_%d" % is_test, decode, {"h": wave([4, 5], 0.8)})


def tree():
    x, y = L.data("x", [4], stop_gradient=False), L.data("y", [1], dtype="int64")
    cost = L.hsigmoid(x, y, 10, param_attr=par("w", wave([9, 4], 0.7)), bias_attr=par("b", wave([9, 1], 0.3)))
    block = fluid.default_main_program().global_block()
    return [cost] + fluid.gradients([L.mean(L.square(cost))], [x, block.var("w"), block.var("b")])


case("tree", tree, {"x": wave([5, 4], 1.1), "y": ints([5, 1], 10, 3)})
finish(__file__, __doc__, log, rtol=1e-4, atol=1e-5)

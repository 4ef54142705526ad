"""Blocks and their gradients: DynamicRNN (plain; static input, reordered initial memory, two outputs; two-level LoD), StaticRNN,
While over an array, cond, IfElse, Switch. Six SGD steps each: losses and the parameters at the end."""

import numpy as np
import paddle.fluid as fluid
from goldenlib import Log, finish, wave

L = fluid.layers
log = Log()
programs = {}
place = fluid.CPUPlace()
exe = fluid.Executor(place)


def lod(array, lengths):
    return fluid.create_lod_tensor(array, lengths, place)


def rnn():
    x = L.data("x", [3], lod_level=1)
    block = L.DynamicRNN()
    with block.block():
        word = block.step_input(x)
        memory = block.memory(shape=[5])
        hidden = L.fc([word, memory], 5, act="tanh")
        block.update_memory(memory, hidden)
        block.output(hidden)
    return L.mean(L.square(L.sequence_last_step(block()))), lambda t: {"x": lod(wave([9, 3], 0.7, t), [[2, 4, 3]])}


def rnn_full():
    x, s, i = L.data("x", [3], lod_level=1), L.data("s", [2], lod_level=1), L.data("i", [4])
    hx, hs, hi = L.fc(x, 4), L.fc(s, 3), L.fc(i, 5)
    block = L.DynamicRNN()
    with block.block():
        word, whole = block.step_input(hx), block.static_input(hs)
        memory, other = block.memory(init=hi, need_reorder=True), block.memory(shape=[5], value=0.5)
        hidden = L.fc([word, memory, L.sequence_pool(whole, "sum")], 5, act="tanh")
        summed = L.elementwise_add(hidden, other)
        block.update_memory(memory, hidden)
        block.update_memory(other, summed)
        block.output(summed, hidden)
    a, b = block()
    return L.mean(L.elementwise_add(L.square(a), b)), lambda t: {
        "x": lod(wave([9, 3], 0.7, t), [[2, 4, 3]]),
        "s": lod(wave([6, 2], 0.3, t), [[1, 3, 2]]),
        "i": wave([3, 4], 0.5, t),
    }


def rnn_two_levels():
    x = L.data("x", [3], lod_level=2)
    block = L.DynamicRNN()
    with block.block():
        sentence = block.step_input(x, level=0)
        memory = block.memory(shape=[5])
        hidden = L.fc([L.sequence_pool(sentence, "sum"), memory], 5, act="tanh")
        block.update_memory(memory, hidden)
        block.output(hidden)
    return L.mean(L.square(L.sequence_last_step(block()))), lambda t: {
        "x": lod(wave([9, 3], 0.7, t), [[2, 1], [2, 4, 3]])
    }


def static_rnn():
    x = L.data("x", [4, 2, 3], append_batch_size=False, stop_gradient=False)
    i = L.data("i", [2, 5], append_batch_size=False)
    hx, hi = L.fc(x, 3, num_flatten_dims=2), L.fc(i, 5)
    block = L.StaticRNN()
    with block.step():
        word = block.step_input(hx)
        memory, other = block.memory(init=hi), block.memory(shape=[-1, 5], batch_ref=word)
        hidden = L.fc([word, memory, other], 5, act="tanh")
        block.update_memory(memory, hidden)
        block.update_memory(other, L.square(hidden))
        block.step_output(hidden)
        block.output(word)
    a, b = block()
    return L.elementwise_add(L.mean(L.square(a)), L.mean(L.square(b))), lambda t: {
        "x": wave([4, 2, 3], 0.7, t),
        "i": wave([2, 5], 0.2, t),
    }


def while_array():
    x = L.data("x", [3])
    i, n = L.fill_constant([1], "int64", 0), L.fill_constant([1], "int64", 3)
    array = L.array_write(L.fc(x, 3, act="tanh"), i)
    more = L.less_than(i, n)
    loop = L.While(more)
    with loop.block():
        entry = L.array_read(array, i)
        L.increment(i)
        L.array_write(L.fc(entry, 3, act="tanh"), i, array)
        L.less_than(i, n, cond=more)
    return L.mean(L.square(L.array_read(array, n))), lambda t: {"x": wave([4, 3], 0.7, t)}


def cond():
    x, f = L.data("x", [3]), L.data("f", [1], append_batch_size=False)
    hidden = L.fc(x, 3, act="tanh")
    flag = L.less_than(f, L.fill_constant([1], "float32", 0.5))
    out = L.cond(flag, lambda: L.fc(hidden, 2, act="tanh"), lambda: L.fc(hidden, 2))
    return L.mean(L.square(out)), lambda t: {"x": wave([4, 3], 0.7, t), "f": np.array([t % 2], "float32")}


def if_else():
    x = L.data("x", [3])
    score = L.fc(x, 1)
    mask = L.less_than(score, L.fill_constant_batch_size_like(score, [-1, 1], "float32", 0.1))
    hidden = L.fc(x, 3)
    block = L.IfElse(mask)
    with block.true_block():
        block.output(L.fc(block.input(hidden), 2, act="tanh"))
    with block.false_block():
        block.output(L.fc(block.input(hidden), 2))
    return L.mean(L.square(block()[0])), lambda t: {"x": wave([5, 3], 0.7, t)}


def switch():
    x, f = L.data("x", [3]), L.data("f", [1], append_batch_size=False)
    factor = L.create_global_var([1], 0.0, "float32", persistable=True, name="factor")
    one, two = L.fill_constant([1], "float32", 1.0), L.fill_constant([1], "float32", 2.0)
    with L.Switch() as choice:
        with choice.case(L.less_than(f, one)):
            L.assign(L.fill_constant([1], "float32", 0.5), factor)
        with choice.case(L.less_than(f, two)):
            L.assign(one, factor)
        with choice.default():
            L.assign(two, factor)
    return L.mean(L.square(L.elementwise_mul(L.fc(x, 2), factor, axis=0))), lambda t: {
        "x": wave([4, 3], 0.7, t),
        "f": np.array([t % 3], "float32"),
    }


for build in (rnn, rnn_full, rnn_two_levels, static_rnn, while_array, cond, if_else, switch):
    tag = build.__name__
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 7
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        loss, feed = build()
        fluid.optimizer.SGD(0.3).minimize(loss)
        exe.run(startup)
        for step in range(6):
            log.add(tag + "/loss", exe.run(main, feed=feed(step), fetch_list=[loss])[0])
        for p in main.global_block().all_parameters():
            log.put(tag + "/final_" + p.name, np.array(fluid.global_scope().find_var(p.name).get_tensor()))
    programs[tag] = main
finish(__file__, __doc__, log, programs, rtol=2e-5, atol=5e-6)

"""Train through loops: a cell in while_loop, a decoder that fills an array, a state that adds up."""
from __future__ import print_function

import numpy as np
import paddle.fluid as fluid

layers = fluid.layers
STEPS, BATCH, HIDDEN = 4, 8, 8


def iterated(h, i, n):
    def cell(i, h):
        return [i + 1, layers.fc(h, HIDDEN, act="tanh", param_attr="cell_w", bias_attr="cell_b")]

    i, h = layers.while_loop(lambda i, h: layers.less_than(i, n), cell, [i, h])
    return h


def decoded(h, i, n):
    states, outputs = layers.array_write(h, i), layers.create_array("float32")
    cond = layers.less_than(i, n)
    with layers.While(cond).block():
        state = layers.fc(layers.array_read(states, i), HIDDEN, act="relu", param_attr="cell_w")
        layers.array_write(state, i, outputs)
        layers.increment(i, in_place=True)
        layers.array_write(state, i, states)
        layers.less_than(i, n, cond=cond)
    return layers.reshape(layers.tensor_array_to_tensor(outputs, axis=1)[0], [-1, STEPS * HIDDEN])


def added(h, i, n):
    total = layers.fill_constant_batch_size_like(h, [-1, HIDDEN], "float32", 0.0)
    total.stop_gradient = False
    cond = layers.less_than(i, n)
    with layers.While(cond).block():
        layers.assign(total + layers.fc(h, HIDDEN, act="sigmoid", param_attr="cell_w"), total)
        layers.increment(i, in_place=True)
        layers.less_than(i, n, cond=cond)
    return total


OPTIMIZERS = {
    "adam": lambda: fluid.optimizer.Adam(0.01),
    "momentum": lambda: fluid.optimizer.Momentum(0.05, 0.9, regularization=fluid.regularizer.L2Decay(1e-3)),
    "rmsprop": lambda: fluid.optimizer.RMSProp(0.01),
}


def train(net, optimizer):
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 7
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = layers.data("x", [6])
        y = layers.data("y", [1], dtype="int64")
        i, n = (layers.fill_constant([1], "int64", value) for value in (0, STEPS))
        scores = layers.fc(net(layers.fc(x, HIDDEN, act="tanh"), i, n), 3)
        loss = layers.mean(layers.softmax_with_cross_entropy(scores, y))
        OPTIMIZERS[optimizer]().minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    rng = np.random.RandomState(1)
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        for step in range(50):
            feed = {"x": rng.randn(BATCH, 6).astype("float32"), "y": rng.randint(0, 3, (BATCH, 1)).astype("int64")}
            (value,) = exe.run(main, feed=feed, fetch_list=[loss])
            if step % 5 == 4:
                print("%s %s step %d loss %.6f" % (net.__name__, optimizer, step, float(value)))


if __name__ == "__main__":
    for net in (iterated, decoded, added):
        for optimizer in sorted(OPTIMIZERS):
            train(net, optimizer)

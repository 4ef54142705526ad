"""Small training programs for Fluid 1.8.5 and fluidio alike.

    python programs.py build FOLDER     build each program, save it and its startup program, print the losses
    python programs.py run FOLDER       load what `build` has saved and print the losses

prints one line of JSON: {name: [losses]}. FLUID_UNDER_TEST=paddle takes the real one.
"""

import json
import os
import sys

if os.environ.get("FLUID_UNDER_TEST") == "paddle":
    import paddle.fluid as fluid
else:
    import fluidio as fluid

import numpy as np

L = fluid.layers


def mlp(optimizer):
    x, y = L.data("x", [16]), L.data("y", [1], dtype="int64")
    prob = L.fc(L.fc(x, 8, act="relu"), 4, act="softmax")
    loss = L.mean(L.cross_entropy(prob, y))
    optimizer.minimize(loss)
    return loss


def conv():
    x, y = L.data("x", [1, 12, 12]), L.data("y", [1], dtype="int64")
    hidden = fluid.nets.simple_img_conv_pool(x, 4, 3, 2, 2, act="relu")
    hidden = L.conv2d(L.batch_norm(hidden), 6, 3, act="leaky_relu")
    hidden = L.pool2d(hidden, 2, "avg", 2)
    loss = L.mean(L.softmax_with_cross_entropy(L.fc(hidden, 4), y))
    decay = fluid.regularizer.L2Decay(1e-4)
    fluid.optimizer.Momentum(0.01, 0.9, regularization=decay).minimize(loss)
    return loss


def text(sparse):
    word, y = L.data("word", [1], dtype="int64", lod_level=1), L.data("y", [1], dtype="int64")
    rows = L.embedding(word, [20, 8], is_sparse=sparse)
    hidden, _ = L.dynamic_lstm(L.fc(rows, 24), 24)
    gated = L.dynamic_gru(L.fc(rows, 18), 6)
    pooled = fluid.nets.sequence_conv_pool(rows, 5, 3, act="tanh", pool_type="sqrt")
    last = L.sequence_pool(L.sequence_reverse(gated), "last")
    prob = L.fc([L.sequence_pool(hidden, "max"), last, pooled], 3, act="softmax")
    loss = L.mean(L.cross_entropy(prob, y))
    optimizer = fluid.optimizer.Adagrad(0.1) if sparse else fluid.optimizer.Adam(L.exponential_decay(0.01, 10, 0.9))
    optimizer.minimize(loss)
    return loss


CASES = {
    "sgd": lambda: mlp(fluid.optimizer.SGD(0.1)),
    "adam": lambda: mlp(fluid.optimizer.Adam(0.01)),
    "conv": conv,
    "text": lambda: text(False),
    "sparse_text": lambda: text(True),
}


def feeds(name):
    """Return three batches."""
    rng = np.random.RandomState(0)
    found = []
    for _ in range(3):
        if "text" in name:
            ids = rng.randint(0, 20, (11, 1)).astype("int64")
            word = fluid.create_lod_tensor(ids, [[3, 1, 5, 2]], fluid.CPUPlace())
            found.append({"word": word, "y": rng.randint(0, 3, (4, 1)).astype("int64")})
        else:
            shape = (6, 1, 12, 12) if name == "conv" else (6, 16)
            found.append({"x": rng.rand(*shape).astype("float32"), "y": rng.randint(0, 4, (6, 1)).astype("int64")})
    return found


def losses(name, main, startup, loss):
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.Scope()):
        exe.run(startup)
        results = [exe.run(main, feed=feed, fetch_list=[loss]) for feed in feeds(name)]
    return [float(np.array(result[0]).reshape(-1)[0]) for result in results]


def build(name, folder):
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 7
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        loss = CASES[name]()
    for program, kind in ((main, "main"), (startup, "startup")):
        for op in program.global_block().ops:
            op._set_attr("op_callstack", [""])  # names of files of this machine
        with open(os.path.join(folder, "%s.%s" % (name, kind)), "wb") as file:
            file.write(program.desc.serialize_to_string())
    return losses(name, main, startup, loss.name)


def load(name, folder):
    programs = []
    for kind in ("main", "startup"):
        with open(os.path.join(folder, "%s.%s" % (name, kind)), "rb") as file:
            programs.append(fluid.Program.parse_from_string(file.read()))
    main = programs[0]
    loss = [op.output("Out")[0] for op in main.global_block().ops if op.type == "mean"][-1]
    return losses(name, main, programs[1], loss)


if __name__ == "__main__":
    work = {"build": build, "run": load}[sys.argv[1]]
    print(json.dumps({name: work(name, sys.argv[2]) for name in sorted(CASES)}))

"""Train small programs with every optimizer, decay and clipping: as one of N trainers, or alone on the joined batches.

cases.py OUT GLOBAL_BATCHES [SEED]: trainer and endpoints come from PADDLE_*; results go to OUT/trainer-ID.npz. With a
seed the rows of each batch are put in another order.
"""
import os
import sys

import numpy as np
import paddle.fluid as fluid

L = fluid.layers
out, parts = sys.argv[1], int(sys.argv[2])
order = np.random.RandomState(int(sys.argv[3])).permutation(8 * parts) if len(sys.argv) > 3 else None
trainer = int(os.environ.get("PADDLE_TRAINER_ID", "0"))
trainers = int(os.environ.get("PADDLE_TRAINERS_NUM", "1"))
endpoints = os.environ.get("PADDLE_TRAINER_ENDPOINTS", "")
clip = fluid.clip
CASES = {
    "sgd": (lambda: fluid.optimizer.SGD(0.1), None),
    "momentum": (lambda: fluid.optimizer.Momentum(0.1, 0.9), None),
    "adam": (lambda: fluid.optimizer.Adam(0.01), None),
    "adagrad": (lambda: fluid.optimizer.Adagrad(0.1), None),
    "decay": (lambda: fluid.optimizer.SGD(L.exponential_decay(0.1, 3, 0.5)), None),
    "l2": (lambda: fluid.optimizer.Momentum(0.1, 0.9, regularization=fluid.regularizer.L2Decay(0.01)), None),
    "value": (lambda: fluid.optimizer.SGD(0.1), lambda: clip.GradientClipByValue(0.02)),
    "norm": (lambda: fluid.optimizer.SGD(0.1), lambda: clip.GradientClipByNorm(0.05)),
    "twice": (lambda: fluid.optimizer.Momentum(0.1, 0.9), None),
    "changed": (lambda: fluid.optimizer.Momentum(0.1, 0.9), None),
    "global": (lambda: fluid.optimizer.Adam(0.01), lambda: clip.GradientClipByGlobalNorm(0.1)),
}


def train(name, sparse):
    make, clipping = CASES[name]
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 3
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x, y = L.data("x", [6]), L.data("y", [1])
        ids = L.data("ids", [1], dtype="int64")
        e = L.embedding(ids, [11, 4], is_sparse=sparse, param_attr=fluid.ParamAttr(name="emb"))
        h = L.fc(L.concat([x, e], 1), 8, act="tanh")
        loss = L.mean(L.square_error_cost(L.fc(h, 1), y))
        if clipping is not None:
            clip.set_gradient_clip(clipping())
        if name == "twice":  # one optimizer for some parameters, another one for the others
            make().minimize(loss, parameter_list=["emb", "fc_0.w_0"])
            fluid.optimizer.Adam(0.01).minimize(loss, parameter_list=["fc_0.b_0", "fc_1.w_0", "fc_1.b_0"])
        elif name == "changed":  # gradients of length 1
            optimizer = make()
            pairs = optimizer.backward(loss)
            dense = [(p, g) for p, g in pairs if p.name != "emb" or not sparse]
            norms = {p.name: L.sqrt(L.reduce_sum(L.square(g))) for p, g in dense}
            optimizer.apply_gradients([(p, L.elementwise_div(g, norms[p.name]) if p.name in norms else g) for p, g in pairs])
        else:
            make().minimize(loss)
        if trainers > 1:
            config = fluid.DistributeTranspilerConfig()
            config.mode = "nccl2"
            transpiler = fluid.DistributeTranspiler(config=config)
            transpiler.transpile(trainer, program=main, trainers=endpoints, startup_program=startup)
    scope = fluid.Scope()
    with fluid.scope_guard(scope):
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        rngs = [np.random.RandomState(100 + part) for part in range(parts)]
        for _ in range(4):
            each = [batch(rng) for rng in rngs]
            mine = each[trainer :: trainers] if trainers > 1 else each
            feed = {key: np.concatenate([part[key] for part in mine]) for key in each[0]}
            if order is not None:
                feed = {key: value[order] for key, value in feed.items()}
            exe.run(main, feed=feed, fetch_list=[loss])
        return {p.name: np.array(scope.find_var(p.name).get_tensor()) for p in main.all_parameters()}


def batch(rng, n=8):
    return {
        "x": rng.rand(n, 6).astype("float32"),
        "ids": rng.randint(0, 11, (n, 1)).astype("int64"),
        "y": rng.rand(n, 1).astype("float32"),
    }


found = {}
for name in CASES:
    for sparse in (False, True):
        if sparse and name in ("value", "norm"):
            continue
        for key, value in train(name, sparse).items():
            found["%s-%s-%s" % (name, "sparse" if sparse else "dense", key)] = value
np.savez(os.path.join(out, "trainer-%d.npz" % trainer), **found)

"""Programs drawn at random, trained by servers and trainers: optimizers, schedules, decay, clipping, sparse tables.

drawn.py ROLE RANK TRAINERS PSERVERS CURRENT_ENDPOINT OUT CASES: what a trainer fetches and its parameters at the end go
to OUT. drawn.json has what the real Fluid 1.8.5 gave, with two servers and one process for each case.

It has all cases below 80 that the real one can run (it refuses Lamb, and sparse gradients in some optimizers), but nine:
- 2, 58: Adadelta has no learning rate, so its op is left out of the real servers, and parameters stay as they were.
- 0, 39: the real servers' Adam, not lazy, moves the last row of a sparse table too far in steps without it.
- 8, 35: rounding decides. In 8 the clipped gradients of a bias, +0.1 and -0.1, cancel, and Adagrad divides the rest by
  itself; in 35 centered RMSProp takes the root of a difference, which there is below zero, and here above.
- 23, 25, 41: losses of 7 to 105, equal to a relative 4e-7.
"""
import json
import random
import sys

import numpy as np
import paddle.fluid as fluid

role, rank, trainers, pservers, cur, out = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5], sys.argv[6]
cases = [int(c) for c in sys.argv[7].split(",")]
L, O, C = fluid.layers, fluid.optimizer, fluid.clip


def decay(kind):
    return [None, None, fluid.regularizer.L2Decay(0.02), fluid.regularizer.L1Decay(0.01)][kind]


def optimizer(r, lr, regu):
    return r.choice([
        lambda: O.SGD(lr, regularization=regu),
        lambda: O.Momentum(lr, 0.9, regularization=regu),
        lambda: O.Momentum(lr, 0.9, use_nesterov=True, regularization=regu),
        lambda: O.Adam(lr, regularization=regu),
        lambda: O.Adam(lr, beta1=0.8, beta2=0.95, epsilon=1e-4, regularization=regu),
        lambda: O.Adam(lr, lazy_mode=True, regularization=regu),
        lambda: O.Adamax(lr, regularization=regu),
        lambda: O.Adagrad(lr, regularization=regu),
        lambda: O.DecayedAdagrad(lr, regularization=regu),
        lambda: O.RMSProp(lr, regularization=regu),
        lambda: O.RMSProp(lr, rho=0.9, momentum=0.3, centered=True, regularization=regu),
        lambda: O.Ftrl(lr, l1=0.01, l2=0.01, regularization=regu),
        lambda: O.Adadelta(lr, regularization=regu),
        lambda: O.LarsMomentum(lr, 0.9, regularization=regu),
        lambda: O.Lamb(lr),
    ])()


def schedule(r, base):
    kind = r.randrange(9)
    if kind == 0:
        return L.exponential_decay(base, 3, 0.5)
    if kind == 1:
        return L.noam_decay(16, 4)
    if kind == 2:
        return L.piecewise_decay([2, 4], [base, base / 2, base / 4])
    if kind == 3:
        return L.polynomial_decay(base, 5, base / 10)
    if kind == 4:
        return L.cosine_decay(base, 2, 3)
    if kind == 5:
        return L.linear_lr_warmup(base, 3, base / 10, base)
    return base


def build(case):
    r = random.Random(case)
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 3 + case
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x, ids, y = L.data("x", [6]), L.data("ids", [1], dtype="int64"), L.data("y", [1])
        sparse = r.choice([True, True, False])
        own_decay = decay(r.choice([0, 0, 0, 2]))
        tables = 1 + (r.random() < 0.3)
        parts = [L.embedding(ids, [13, 4], is_sparse=sparse, param_attr=fluid.ParamAttr(name="emb")) for _ in range(tables)]
        r.random()  # an option that is gone; the cases keep their numbers
        width = r.choice([8, 40])
        act = r.choice(["tanh", "relu", "sigmoid"])
        r.choice([1.0, 1.0, 0.5])  # another one
        h = L.fc(L.concat([x] + parts, 1), width, act=act, param_attr=fluid.ParamAttr(name="w1", regularizer=own_decay), bias_attr=fluid.ParamAttr(name="b1"))
        if r.random() < 0.3:
            h = L.fc(h, width, act="tanh", param_attr=fluid.ParamAttr(name="w3"), bias_attr=False)
        p = L.fc(h, 1, param_attr=fluid.ParamAttr(name="w2"), bias_attr=fluid.ParamAttr(name="b2"))
        loss = L.mean(L.square_error_cost(p, y))
        clip = r.choice([None, None, None, C.GradientClipByValue(0.05), C.GradientClipByNorm(0.1), C.GradientClipByGlobalNorm(0.1)])
        if clip is not None:
            C.set_gradient_clip(clip, program=main)
        lr = schedule(r, r.choice([0.1, 0.02]))
        optimizer(r, lr, decay(r.choice([0, 0, 2, 3]))).minimize(loss)
    return main, startup, loss


def feeds(case):
    rng = np.random.RandomState(1000 * case + rank)
    for _ in range(6):
        yield {"x": rng.rand(8, 6).astype("float32"), "ids": rng.randint(0, 13, (8, 1)).astype("int64"), "y": rng.rand(8, 1).astype("float32")}


found = {}
exe = fluid.Executor(fluid.CPUPlace())
for case in cases:
    main, startup, loss = build(case)
    scope = fluid.Scope()
    t = fluid.DistributeTranspiler()
    t.transpile(rank, program=main, pservers=pservers, trainers=trainers, startup_program=startup, current_endpoint=cur)
    if role == "pserver":
        program = t.get_pserver_program(cur)
        exe.run(t.get_startup_program(cur, program))
        exe.run(program)
        break
    with fluid.scope_guard(scope):
        exe.run(startup)
        trained = t.get_trainer_program()  # once: a second call crashes the real one
        losses = [float(exe.run(trained, feed=feed, fetch_list=[loss])[0][0]) for feed in feeds(case)]
        names = [p.name for p in main.all_parameters()]
        params = {name: np.array(scope.find_var(name).get_tensor()).tolist() for name in names}
    found[case] = {"losses": losses, "params": params}
if role == "trainer":
    json.dump(found, open(out, "w"))
    exe.close()

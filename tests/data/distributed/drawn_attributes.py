"""More programs drawn at random: learning rates of parameters, frozen ones, shared tables, padding, batch norm, clips.

drawn_attributes.py ROLE RANK TRAINERS PSERVERS CURRENT_ENDPOINT OUT CASES, as drawn.py; drawn_attributes.json has what the
real Fluid 1.8.5 gave. Its trainers do not get sparse tables back from the servers, so these are not in there. Nor are
cases with a layer of 200 x 100 weights: its servers divide it, and fill each piece with the same random numbers.
"""
import json
import random
import sys

import numpy as np
import paddle.fluid as fluid

role, rank, trainers, pservers, cur, out = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5], sys.argv[6]
cases = [int(c) for c in sys.argv[7].split(",")]
L, O, C = fluid.layers, fluid.optimizer, fluid.clip


def optimizer(r, lr, options, sparse):
    kinds = [
        lambda: O.SGD(lr, **options),
        lambda: O.Momentum(lr, 0.9, **options),
        lambda: O.Momentum(lr, 0.9, use_nesterov=True, **options),
        lambda: O.Adam(lr, **options),
        lambda: O.Adagrad(lr, **options),
        lambda: O.Adam(lr, lazy_mode=True, **options),
    ]
    if not sparse:
        kinds += [
            lambda: O.Adamax(lr, **options),
            lambda: O.RMSProp(lr, **options),
            lambda: O.Ftrl(lr, **options),
            lambda: O.LarsMomentum(lr, 0.9),
            lambda: O.DecayedAdagrad(lr, **options),
            lambda: O.Adadelta(lr, **options),
        ]
    return r.choice(kinds)()


def table(ids, sparse, divided, padding, rate):
    attr = fluid.ParamAttr(name="emb", learning_rate=rate)
    return L.embedding(ids, [13, 4], is_sparse=sparse, is_distributed=divided, padding_idx=padding, param_attr=attr)


def build(case):
    r = random.Random(7000 + case)
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 3 + case
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x, ids, y = L.data("x", [6]), L.data("ids", [1], dtype="int64"), L.data("y", [1])
        sparse = r.random() < 0.5
        divided = sparse and r.random() < 0.25
        rate, table_rate = r.choice([1.0, 1.0, 0.5, 2.0]), r.choice([1.0, 1.0, 0.5])
        frozen, shared, norm = (r.random() < share for share in (0.2, 0.25, 0.2))
        padding = r.choice([None, None, 0])
        big, two = (r.random() < 0.2 for _ in range(2))
        parts = [x] + [table(ids, sparse, divided, padding, table_rate) for _ in range(1 + shared)]
        width = 200 if big else 8
        attr = fluid.ParamAttr(name="w1", learning_rate=rate)
        h = L.fc(L.concat(parts, 1), width, act=None if norm else "tanh", param_attr=attr, bias_attr=fluid.ParamAttr(name="b1"))
        if norm:
            scale, bias = fluid.ParamAttr(name="bs"), fluid.ParamAttr(name="bb")
            h = L.batch_norm(h, act="tanh", param_attr=scale, bias_attr=bias, moving_mean_name="bm", moving_variance_name="bv")
        if big:
            h = L.fc(h, 100, act="tanh", param_attr=fluid.ParamAttr(name="w3"), bias_attr=False)
        p = L.fc(h, 1, param_attr=fluid.ParamAttr(name="w2", trainable=not frozen), bias_attr=fluid.ParamAttr(name="b2"))
        loss = L.mean(L.square_error_cost(p, y))
        if two:
            loss = loss + 0.1 * L.reduce_mean(L.abs(p))
        clip = r.choice([None] * 4 + [C.GradientClipByValue(0.05), C.GradientClipByNorm(0.1), C.GradientClipByGlobalNorm(0.1)])
        of_program = r.choice(["set", "arg"]) == "set"
        if clip is not None and of_program:
            C.set_gradient_clip(clip, program=main)
        rates = [
            lambda: 0.1,
            lambda: 0.02,
            lambda: L.piecewise_decay([2, 4], [0.1, 0.05, 0.02]),
            lambda: L.natural_exp_decay(0.1, 3, 0.5, staircase=True),
            lambda: L.inverse_time_decay(0.1, 3, 0.5),
            lambda: L.linear_lr_warmup(L.polynomial_decay(0.1, 5, 0.01), 3, 0.01, 0.1),
        ]
        lr = r.choice(rates)
        decay = r.choice([None, None, fluid.regularizer.L2Decay(0.02), fluid.regularizer.L1Decay(0.01)])
        options = {"regularization": decay}
        if clip is not None and not of_program:
            options["grad_clip"] = clip
        optimizer(r, lr(), options, sparse).minimize(loss)
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
        trained = t.get_trainer_program()
        losses = [float(exe.run(trained, feed=feed, fetch_list=[loss])[0][0]) for feed in feeds(case)]
        names = [p.name for p in main.all_parameters()]
        params = {name: np.array(scope.find_var(name).get_tensor()).tolist() for name in names}
    found[case] = {"losses": losses, "params": params}
if role == "trainer":
    json.dump(found, open(out, "w"))
    exe.close()

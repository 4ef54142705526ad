"""Train programs with a divided table, an ordinary one and a dense layer: tables.py OUT CASE,CASE,...

A case is an optimizer, or optimizer-what: "save" lets the first trainer save in between, "evaluate" lets it run a test
program between steps, "load" lets it load what "save" has saved, "begin" ends half way with a checkpoint, from which
"resume" goes on, "uneven" lets the last trainer leave half way, "whole" divides nothing. Trainers take their shares of batches of 12. What the scope holds at the end goes to OUT.
"""
import os
import sys

import numpy as np
import paddle.fluid as fluid

out, cases = sys.argv[1], sys.argv[2].split(",")
trainer, trainers = int(os.environ.get("PADDLE_TRAINER_ID", 0)), int(os.environ.get("PADDLE_TRAINERS_NUM", 1))
STEPS = 4
L, O = fluid.layers, fluid.optimizer
OPTIMIZERS = {
    "sgd": lambda: O.SGD(0.1),
    "momentum": lambda: O.Momentum(0.1, 0.9),
    "adagrad": lambda: O.Adagrad(0.1),
    "adam": lambda: O.Adam(0.05),
    "lazy": lambda: O.Adam(0.05, lazy_mode=True),
    "decay": lambda: O.SGD(L.exponential_decay(0.1, 2, 0.5)),
    "clipped": lambda: O.SGD(0.1, grad_clip=fluid.clip.GradientClipByGlobalNorm(0.01)),
}


def table(ids, name, width, divided):
    return L.embedding(ids, [23, width], is_sparse=True, is_distributed=divided, param_attr=fluid.ParamAttr(name=name))


def build(optimizer, what):
    ids, more, y = L.data("ids", [1], dtype="int64"), L.data("more", [1], dtype="int64"), L.data("y", [1])
    divided = what != "whole"
    parts = [table(ids, "big", 4, divided), table(more, "big", 4, divided), table(more, "small", 3, False)]
    predicted = L.fc(L.concat(parts, 1), 1, param_attr=fluid.ParamAttr(name="w"))
    loss = L.mean(L.square_error_cost(predicted, y))
    test = fluid.default_main_program().clone(for_test=True)
    OPTIMIZERS[optimizer]().minimize(loss)
    return loss, test


def share(feed, count):
    return {name: array[trainer * 12 // count : (trainer + 1) * 12 // count] for name, array in feed.items()}


def batches(seed, count):
    rng = np.random.RandomState(seed)
    for _ in range(count):
        y = rng.rand(12, 1).astype("float32")
        yield {"ids": rng.randint(0, 23, (12, 1)), "more": rng.randint(0, 20, (12, 1)), "y": y}


def train(exe, main, test, loss, what):
    values, left = {}, False
    if what == "load" and trainer == 0:
        fluid.io.load_persistables(exe, os.path.join(out, "saved"), main)
    checkpoints = fluid.io.Checkpoints(exe, os.path.join(out, "checkpoints"), main) if what in ("begin", "resume") else None
    if what == "resume":
        assert checkpoints.resume().step == 2
    for step, feed in enumerate(batches(3, STEPS)):
        if what in ("load", "resume") and step < 2:
            continue
        if what == "begin" and step == 2:
            checkpoints.save(step)
            break
        left = what == "uneven" and step >= STEPS // 2
        if left and trainer == trainers - 1:
            return None
        exe.run(main, feed=share(feed, trainers - left), fetch_list=[loss])
        if trainer == 0 and what == "save" and step == 1:
            fluid.io.save_persistables(exe, os.path.join(out, "saved"), main)
            fluid.io.save_params(exe, os.path.join(out, "one"), main, filename="params")
        if trainer == 0 and what == "evaluate":
            values["loss"], values["fetched"] = exe.run(test, feed=feed, fetch_list=[loss, "big"])
    return values


exe = fluid.Executor(fluid.CPUPlace())
for case in cases:
    optimizer, _, what = case.partition("-")
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    main.random_seed = startup.random_seed = 7
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(scope):
        loss, test = build(optimizer, what)
        if trainers > 1:
            config = fluid.DistributeTranspilerConfig()
            config.mode = "nccl2"
            own = os.environ["PADDLE_CURRENT_ENDPOINT"]
            ends = os.environ["PADDLE_TRAINER_ENDPOINTS"]
            transpiler = fluid.DistributeTranspiler(config)
            transpiler.transpile(trainer, program=main, trainers=ends, startup_program=startup, current_endpoint=own)
        exe.run(startup)
        values = train(exe, main, test, loss, what)
        if values is None:
            break
        for variable in main.list_vars():
            if variable.persistable and variable.type == fluid.core.VarDesc.VarType.LOD_TENSOR:
                values[variable.name] = np.array(scope.find_var(variable.name).get_tensor())
        held = scope.find_var("big").value
        values["part"] = held.table.part if hasattr(held, "table") else values["big"]
        np.savez(os.path.join(out, "%s-%d.npz" % (case, trainer)), **values)
exe.close()

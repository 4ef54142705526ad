"""Things that trainers do together, checked by each of them: collective ops, batch norm, float16, ParallelExecutor.

together.py OUT: trainer and endpoints come from PADDLE_*.
"""
import os
import sys
import warnings

import numpy as np
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.collective import DistributedStrategy, fleet
from paddle.fluid.layers import collective

L = fluid.layers
out = sys.argv[1]
fleet.init(role_maker.PaddleCloudRoleMaker(is_collective=True))
trainer, trainers = fleet.worker_index(), fleet.worker_num()
exe = fluid.Executor(fluid.CPUPlace())


def collective_ops():
    x = L.data("x", [3], append_batch_size=False)
    x.stop_gradient = False
    mine = np.arange(3, dtype="float32") + 10 * trainer
    everyones = np.array([np.arange(3, dtype="float32") + 10 * t for t in range(trainers)])
    wide = L.data("wide", [2 * trainers, 2], append_batch_size=False)
    each = np.arange(4.0 * trainers, dtype="float32").reshape(-1, 2) * (trainer + 1)
    total = sum(np.arange(4.0 * trainers, dtype="float32").reshape(-1, 2) * (t + 1) for t in range(trainers))
    summed = collective._c_allreduce(x)
    (grad,) = fluid.gradients([L.reduce_sum(summed * 2.0)], [x])
    fetched = [
        summed,
        collective._c_allreduce(x, reduce_type="max"),
        collective._c_allreduce(x, reduce_type="min"),
        collective._c_allreduce(x, reduce_type="prod"),
        collective._allreduce(x, reduce_type="sum"),
        collective._c_allgather(x, trainers),
        collective._c_reducescatter(wide, trainers),
        grad,
        collective._c_broadcast(x, root=trainers - 1),
    ]
    expected = [
        everyones.sum(0),
        everyones.max(0),
        everyones.min(0),
        everyones.prod(0),
        everyones.sum(0),
        everyones.reshape(-1),
        total[2 * trainer : 2 * trainer + 2],
        np.full(3, 2.0 * trainers, "float32"),
        everyones[-1],
    ]
    found = exe.run(feed={"x": mine, "wide": each}, fetch_list=fetched)
    for value, wanted in zip(found, expected):
        np.testing.assert_array_equal(np.array(value), wanted)
    gathered = fleet._role_maker.all_gather(trainer)
    assert gathered == list(range(trainers)), gathered
    total = np.zeros(1, "int64")
    fleet.all_reduce_worker(np.array([trainer + 1]), total)
    assert total[0] == trainers * (trainers + 1) // 2


def model(norm):
    x, y = L.data("x", [6]), L.data("y", [1])
    hidden = L.fc(x, 8, act="tanh")
    if norm:
        hidden = L.batch_norm(hidden)
    return L.mean(L.square_error_cost(L.fc(hidden, 1), y))


def batches(n=8):
    rngs = [np.random.RandomState(100 + t) for t in range(trainers)]
    for _ in range(4):
        yield [{"x": r.rand(n, 6).astype("float32"), "y": r.rand(n, 1).astype("float32")} for r in rngs]


def train(how, norm=False, half=False, local=False):
    """Return the parameters after four steps: "fleet", "executor" (ParallelExecutor), "places" or "alone"."""
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 3 if how == "alone" else 3 + trainer  # the first trainer's count
    scope = fluid.Scope()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(scope):
        loss = model(norm)
        optimizer = fluid.optimizer.Momentum(0.1, 0.9)
        program = main
        if how in ("fleet", "places"):
            strategy = DistributedStrategy()
            strategy.sync_batch_norm = norm
            strategy.half_gradients = half
            strategy.use_local_sgd = local
            os.environ["CPU_NUM"] = "2" if how == "places" else "1"
            optimizer = fleet.distributed_optimizer(optimizer, strategy)
        optimizer.minimize(loss)
        if how in ("fleet", "places"):
            program, startup = fleet.main_program, fleet.startup_program
        exe.run(startup)
        if how == "executor":
            os.environ["CPU_NUM"] = "1"
            parallel = fluid.ParallelExecutor(False, loss.name, main, num_trainers=trainers, trainer_id=trainer)
        for each in batches():
            if how == "alone":
                exe.run(program, feed={k: np.concatenate([b[k] for b in each]) for k in each[0]}, fetch_list=[loss])
            elif how == "executor":
                parallel.run([loss.name], feed=each[trainer])
            else:
                exe.run(program, feed=each[trainer], fetch_list=[loss])
        if how == "fleet" and fleet.is_first_worker():
            fleet.save_persistables(exe, os.path.join(out, "all"))
            fleet.save_inference_model(exe, os.path.join(out, "model"), ["x"], [loss.block.var("fc_1.tmp_1")])
        return {v.name: np.array(scope.find_var(v.name).get_tensor()) for v in main.list_vars() if v.persistable}


def train_locally():
    """Return the parameters of trainers that each apply their own gradients and then take the mean of parameters."""
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 3
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        fluid.optimizer.Momentum(0.1, 0.9).minimize(model(False))
    scopes = [fluid.Scope() for _ in range(trainers)]
    for scope in scopes:
        exe.run(startup, scope=scope)
    names = [p.name for p in main.all_parameters()]
    for each in batches():
        for scope, feed in zip(scopes, each):
            exe.run(main, feed=feed, scope=scope)
        for name in names:
            tensors = [scope.find_var(name).get_tensor() for scope in scopes]
            mean = np.mean([np.array(tensor) for tensor in tensors], axis=0)
            for tensor in tensors:
                tensor.set(mean, fluid.CPUPlace())
    return {name: np.array(scopes[0].find_var(name).get_tensor()) for name in names}


def same(found, expected, tolerance=1e-6):
    for name, value in expected.items():
        if "@" not in name and "learning_rate" not in name:
            np.testing.assert_allclose(found[name], value, rtol=10 * tolerance, atol=tolerance, err_msg=name)


collective_ops()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    expected = train("alone")
    same(train("fleet"), expected)
    same(train("executor"), expected)
    same(train("places"), expected)
    same(train("fleet", half=True), expected, 1e-3)
    same(train("fleet", local=True), train_locally())
    same(train("fleet", norm=True), train("alone", norm=True), 1e-5)
assert not [op.type for op in fluid.io.load_inference_model(os.path.join(out, "model"), exe)[0].global_block().ops
            if op.type.startswith("exchange")] if trainer == 0 else True
fleet.stop_worker()
print("done", trainer)

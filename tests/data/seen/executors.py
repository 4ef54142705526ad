"""Executors, compiled programs and their errors."""

from __future__ import annotations

import numpy as np

from tests.data.seen.seen import (
    CPU,
    core,
    fluid,
    layers,
    lt,
    numbers,
    ops,
    run,
    started,
    tryit,
)


def _net():
    x = fluid.data("x", [-1, 3])
    y = fluid.data("y", [-1, 1])
    h = layers.fc(x, 4, act="relu", param_attr=fluid.initializer.Constant(0.3))
    p = layers.fc(h, 1, param_attr=fluid.initializer.Constant(0.2))
    return x, y, p, layers.mean(layers.square_error_cost(p, y))


def _fed():
    return {"x": numbers(4, 3), "y": numbers(4, 1)}


def exe_basics():
    x, y, p, c = _net()
    fluid.optimizer.SGD(0.1).minimize(c)
    exe = started()
    f = {"x": numbers(4, 3), "y": numbers(4, 1)}
    r = [
        exe.run(feed=f, fetch_list=[c]),
        exe.run(feed=f, fetch_list=[c.name]),
        exe.run(feed=f, fetch_list=c),
        exe.run(feed=f),
        exe.run(feed=f, fetch_list=[]),
        exe.run(feed=f, fetch_list=[c, p, c]),
        exe.run(feed=f, fetch_list=(c,)),
        tryit(exe.run, feed=3, fetch_list=[c]),
        tryit(exe.run, feed=[f], fetch_list=[c]),
        tryit(exe.run, feed=[f, f], fetch_list=[c]),
        tryit(exe.run, feed={"x": numbers(4, 3)}, fetch_list=[c]),
        tryit(exe.run, feed=dict(f, z=numbers(2)), fetch_list=[c]),
        tryit(exe.run, 3, feed=f, fetch_list=[c]),
        tryit(exe.run, "a", feed=f),
        tryit(exe.run, None, feed=f, fetch_list=[c]),
        tryit(exe.run, feed=f, fetch_list=[c], return_numpy=False),
        tryit(exe.run, feed=f, fetch_list=[c], scope=core.Scope()),
        tryit(exe.run, feed=f, fetch_list=[c], scope=3),
        tryit(exe.run, feed=f, fetch_list=[c], use_program_cache=True),
        tryit(exe.run, feed=f, fetch_list=[c], use_prune=True),
        tryit(exe.run, feed=f, fetch_list=[[c]]),
        tryit(exe.run, feed=f, fetch_list=[None]),
        tryit(exe.run, feed=f, fetch_list="mean_0.tmp_0"),
    ]
    exe.close()
    r += [tryit(exe.run, feed=f, fetch_list=[c])]
    return r


def feed_errors():
    x, y, p, c = _net()
    exe = started()
    fs = [
        numbers(4, 3).astype("float64"),
        numbers(4, 3).astype("int64"),
        numbers(4, 2),
        numbers(4),
        numbers(4, 3, 1),
        numbers(4, 3).tolist(),
        fluid.create_lod_tensor(numbers(4, 3), [[4]], CPU),
        3,
        None,
        "a",
        [[1.0, 2, 3], [4, 5]],
        numbers(0, 3),
        np.array(3.0),
        lt(numbers(4, 3), []),
    ]
    r = [tryit(exe.run, feed={"x": v, "y": numbers(4, 1)}, fetch_list=[p]) for v in fs]
    r += [
        tryit(exe.run, feed={3: numbers(4, 3), "x": numbers(4, 3), "y": numbers(4, 1)}, fetch_list=[p]),
        tryit(exe.run, feed={x: numbers(4, 3), y: numbers(4, 1)}, fetch_list=[p]),
    ]
    return r


def executor_place():
    r = [
        tryit(fluid.Executor),
        tryit(lambda: fluid.Executor(None)),
        str(fluid.CPUPlace()),
        tryit(lambda: fluid.CPUPlace(0)),
        [str(q) for q in fluid.cpu_places(2)],
        tryit(fluid.in_dygraph_mode),
        [type(q).__name__ for q in fluid.cuda_pinned_places(1)] if False else 0,
    ]
    return r


def fetch_persistables():
    x, y, p, c = _net()
    fluid.optimizer.Momentum(0.1, 0.9).minimize(c)
    exe = started()
    f = {"x": numbers(4, 3), "y": numbers(4, 1)}
    r = [
        exe.run(feed=f, fetch_list=[c, "fc_0.w_0", "fc_0.w_0@GRAD", "fc_0.w_0_velocity_0", "learning_rate_0", x]),
        exe.run(feed={}, fetch_list=["fc_0.w_0"], program=fluid.default_startup_program()),
        fluid.executor._fetch_var("fc_0.w_0"),
        tryit(fluid.executor._fetch_var, "zz"),
        tryit(fluid.executor._fetch_var, 3),
        tryit(fluid.executor._fetch_var, "fc_0.w_0", return_numpy=False),
        fluid.executor.global_scope() is fluid.global_scope(),
        tryit(fluid.executor.as_numpy, 3),
        tryit(fluid.executor.as_numpy, lt(numbers(2, 2), [[1, 1]])),
        tryit(fluid.executor.as_numpy, lt(numbers(2, 2), [])),
        tryit(fluid.executor.as_numpy, [lt(numbers(2, 2), [])]),
        tryit(lambda: exe.run(fluid.default_startup_program(), fetch_list=[c])),
    ]
    return r


def uninit():
    x, y, p, c = _net()
    exe = fluid.Executor(CPU)
    r = [tryit(exe.run, feed={"x": numbers(4, 3), "y": numbers(4, 1)}, fetch_list=[c])]
    return r


def print_op():
    x = fluid.data("x", [2, 2])
    o = layers.Print(x, first_n=2, message="hi", summarize=3, print_phase="forward")
    o2 = 0
    layers.Print(
        x, print_tensor_name=False, print_tensor_type=False, print_tensor_shape=False, print_tensor_lod=False
    )
    r = [
        o,
        o2,
        ops(),
        [
            sorted(
                (n, str(q.attr(n)))
                for n in q.attr_names
                if n in ("first_n", "message", "summarize", "print_phase", "print_tensor_name")
            )
            for q in fluid.default_main_program().global_block().ops
        ],
        run([o], {"x": numbers(2, 2)}),
    ]
    return r


def pe():
    x, y, p, c = _net()
    fluid.optimizer.SGD(0.1).minimize(c)
    started()
    f = {"x": numbers(4, 3), "y": numbers(4, 1)}
    pe = fluid.ParallelExecutor(use_cuda=False, loss_name=c.name)
    test = fluid.default_main_program().clone(for_test=True)
    r = [
        pe.run([c.name], feed=f),
        pe.run(fetch_list=[c.name, p.name], feed=[f, f]),
        pe.device_count,
        tryit(pe.run, [c.name], feed=[f]),
        tryit(pe.run, ["zz"], feed=f),
        tryit(pe.run, [c], feed=f),
        tryit(pe.run, [c.name], feed={"x": numbers(1, 3), "y": numbers(1, 1)}),
        tryit(pe.run, [c.name]),
        tryit(pe.run, [c.name], feed=3),
        tryit(pe.drop_local_exe_scopes),
        tryit(lambda: fluid.ParallelExecutor(False, share_vars_from=3)),
        tryit(lambda: fluid.ParallelExecutor(False, main_program=test, share_vars_from=pe).run([c.name], feed=f)),
        tryit(pe.run, [c.name], feed={"x": numbers(5, 3), "y": numbers(5, 1)}),
        pe.run([c.name], feed=f, return_numpy=False),
    ]
    return r


def compiled():
    x, y, p, c = _net()
    fluid.optimizer.SGD(0.1).minimize(c)
    exe = started()
    f = {"x": numbers(4, 3), "y": numbers(4, 1)}
    C = fluid.CompiledProgram
    m = fluid.default_main_program()
    q = C(m).with_data_parallel(loss_name=c.name)
    test = C(m.clone(for_test=True))
    r = [
        exe.run(q, feed=f, fetch_list=[c, p]),
        tryit(exe.run, q, feed=[f, f], fetch_list=[c]),
        tryit(exe.run, q, feed=[f], fetch_list=[c]),
        tryit(exe.run, test, feed=f, fetch_list=[c]),
        tryit(C, 3),
        tryit(C, None),
        tryit(q.with_data_parallel),
        tryit(C(m).with_data_parallel),
        tryit(lambda: exe.run(C(m).with_data_parallel(), feed=f, fetch_list=[c])),
        tryit(C(m).with_data_parallel, loss_name=c.name, places=[CPU]),
        tryit(lambda: C(m).with_data_parallel(loss_name=c.name, places=3)),
        tryit(lambda: C(m.clone(for_test=True)).with_data_parallel(share_vars_from=3)),
        tryit(
            lambda: exe.run(C(m.clone(for_test=True)).with_data_parallel(share_vars_from=q), feed=f, fetch_list=[c])
        ),
        tryit(
            lambda: exe.run(
                C(m.clone(for_test=True)).with_data_parallel(share_vars_from=C(m)), feed=f, fetch_list=[c]
            )
        ),
        tryit(lambda: C(m, build_strategy=3)),
        tryit(lambda: C(m, build_strategy=fluid.BuildStrategy())) and 1,
        tryit(lambda: exe.run(q, feed=f, fetch_list=[c], return_merged=False)),
        tryit(lambda: exe.run(q, feed=f, fetch_list=[p], return_merged=False)),
        tryit(lambda: exe.run(q, feed=f, fetch_list=[p], return_numpy=False)),
        tryit(
            lambda: fluid.Executor(fluid.CPUPlace()).run(
                C(m).with_data_parallel(c.name, places=[CPU, CPU, CPU, CPU]), feed=f, fetch_list=[c]
            )
        ),
        tryit(lambda: exe.run(q, feed={"x": numbers(1, 3), "y": numbers(1, 1)}, fetch_list=[c])),
        tryit(lambda: exe.run(q, feed=f, fetch_list=["zz"])),
        tryit(lambda: exe.run(q, fetch_list=[c])),
        tryit(lambda: exe.run(q, feed=f)),
        tryit(lambda: exe.run(q, feed=dict(f, zz=numbers(2)), fetch_list=[c])),
    ]
    return r


def strategies():
    b = fluid.BuildStrategy()
    e = fluid.ExecutionStrategy()

    def st(o):
        out = {}
        for n in sorted(dir(o)):
            if not n.startswith("_") and n not in (
                "cache_expected_kernel",
                "enable_data_balance",
                "enable_parallel_graph",
                "memory_early_delete",
                "ExecutorType",
                "type",
            ):
                v = tryit(getattr, o, n)
                out[n] = str(v).split(".")[-1] if not callable(v) else "f"
        return out

    r = [st(b), st(e)]
    sets = [
        ("reduce_strategy", fluid.BuildStrategy.ReduceStrategy.Reduce),
        ("reduce_strategy", 1),
        ("reduce_strategy", "a"),
        ("gradient_scale_strategy", fluid.BuildStrategy.GradientScaleStrategy.One),
        ("debug_graphviz_path", "/tmp/a"),
        ("debug_graphviz_path", 3),
        ("fuse_all_reduce_ops", True),
        ("fuse_all_reduce_ops", "a"),
        ("fuse_all_reduce_ops", None),
        ("memory_optimize", None),
        ("memory_optimize", 1),
        ("num_trainers", 2),
        ("num_trainers", "a"),
        ("trainer_id", 1),
        ("trainers_endpoints", ["a:1"]),
        ("trainers_endpoints", "a"),
        ("sync_batch_norm", True),
        ("enable_inplace", False),
        ("fuse_bn_act_ops", 1),
        ("enable_sequential_execution", 3),
        ("remove_unnecessary_lock", False),
        ("nccl_comm_num", 2),
        ("mkldnn_enabled_op_types", {"conv2d"}),
        ("cache_runtime_context", True),
    ]
    r += [[n, tryit(setattr, b, n, v), str(tryit(getattr, b, n)).split(".")[-1]] for n, v in sets]
    r += [
        [n, tryit(setattr, e, n, v), str(tryit(getattr, e, n))]
        for n, v in [
            ("num_threads", 4),
            ("num_threads", "a"),
            ("num_threads", 2.5),
            ("num_iteration_per_drop_scope", 5),
            ("num_iteration_per_run", 3),
            ("allow_op_delay", True),
            ("use_cuda", True),
            ("_dry_run", True),
            ("use_thread_barrier", True),
            ("num_threads", -1),
            ("num_threads", None),
        ]
    ]
    return r


def dry_run():
    x, y, p, c = _net()
    fluid.optimizer.SGD(0.1).minimize(c)
    exe = started()
    f = {"x": numbers(4, 3), "y": numbers(4, 1)}
    e = fluid.ExecutionStrategy()
    e._dry_run = True
    q = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(loss_name=c.name, exec_strategy=e)
    before = np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor())
    r = [
        tryit(exe.run, q, feed=f),
        tryit(exe.run, q, feed=f, fetch_list=[c]),
        bool((np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor()) == before).all()),
    ]
    return r

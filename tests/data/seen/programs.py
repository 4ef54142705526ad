"""Programs, blocks, ops and variables as objects."""

from __future__ import annotations

from tests.data.seen.seen import fluid, layers, names, numbers, ops, run, tryit

Program = fluid.framework.Program


def _net():
    x = fluid.data("x", [-1, 3])
    y = fluid.data("y", [-1, 1])
    h = layers.fc(x, 4, act="relu", param_attr=fluid.initializer.Constant(0.3))
    p = layers.fc(h, 1, param_attr=fluid.initializer.Constant(0.2))
    return x, y, p, layers.mean(layers.square_error_cost(p, y))


def default_program():
    b = Program().current_block()
    fluid.default_main_program().current_block()
    p = Program()
    r = [b.idx, b.parent_idx, p.num_blocks]
    n = p._create_block()
    r += [n.idx, n.parent_idx, p.num_blocks]
    q = p._create_block()
    r += [q.idx, q.parent_idx]
    p._rollback()
    r += [p.current_block().idx]
    p._rollback()
    r += [p.current_block().idx, p.current_block_idx, tryit(p._rollback), p.current_block_idx]
    return r


def program_clone():
    p = fluid.default_main_program().clone()
    _net()
    q = fluid.default_main_program().clone()
    t = fluid.default_main_program().clone(for_test=True)
    r = [
        ops(p),
        ops(q),
        ops(t),
        names(q),
        names(t),
        len(p.list_vars().__class__.__name__),
        sorted(v.name for v in q.list_vars()),
        [v.name for v in q.all_parameters()],
        str(q) == str(fluid.default_main_program()),
        q.random_seed,
        t.random_seed,
    ]
    return r


def parse_from_string():
    _net()
    p = fluid.default_main_program()
    s = p.desc.serialize_to_string()
    q = Program.parse_from_string(s)
    r = [
        ops(q),
        names(q),
        q.num_blocks,
        [type(v).__name__ for v in sorted(q.list_vars(), key=lambda v: v.name)],
        q.desc.serialize_to_string() == s,
        [v.persistable for v in sorted(q.list_vars(), key=lambda v: v.name)],
        [v.stop_gradient for v in sorted(q.list_vars(), key=lambda v: v.name)],
        len(q.all_parameters()),
    ]
    return r


def all_params():
    _net()
    r = [
        [
            p.name,
            p.trainable,
            p.optimize_attr,
            p.regularizer,
            p.do_model_average,
            p.shape,
            p.persistable,
            p.stop_gradient,
        ]
        for p in fluid.default_main_program().all_parameters()
    ]
    r += [
        [p.name for p in fluid.default_main_program().global_block().all_parameters()],
        [p.name for p in fluid.default_startup_program().all_parameters()],
        [(o.type, o.output("Out")) for o in fluid.default_startup_program().global_block().ops],
    ]
    return r


def inference_optimize():
    x, y, p, c = _net()
    fluid.optimizer.SGD(0.1).minimize(c)
    t = fluid.default_main_program()._inference_optimize()
    u = fluid.default_main_program()._inference_optimize(prune_read_op=False)
    pr = fluid.default_main_program()._prune([p])
    pr2 = fluid.default_main_program()._prune_with_input(["x"], [p])
    pr3 = tryit(fluid.default_main_program()._prune_with_input, ["fc_0.tmp_1"], [p])
    r = [ops(t), ops(u), ops(pr), ops(pr2), pr3 if isinstance(pr3, Exception) else ops(pr3), names(pr), names(pr2)]
    r += [
        tryit(fluid.default_main_program()._prune, 3),
        tryit(fluid.default_main_program()._prune_with_input, x, [p]),
        tryit(fluid.default_main_program()._prune_with_input, [3], [p]),
        tryit(fluid.default_main_program()._prune_with_input, ["x"], [3]),
        tryit(fluid.default_main_program()._prune, ["nope"]),
        tryit(fluid.default_main_program()._prune, [p.name]) and 1,
    ]
    return r


def prune_target_ops():
    x, y, p, c = _net()
    fluid.optimizer.Adam(0.1).minimize(c)
    m = fluid.default_main_program()
    last = m.global_block().ops[-1]
    r = [
        tryit(lambda v=v: ops(m._prune(v)))
        for v in (
            [last],
            [c],
            [m.global_block().ops[2]],
            [m.global_block().var("fc_0.w_0")],
            [c, m.global_block().ops[2]],
            c,
            "x",
            [p],
            [p.name],
            [c.name, p.name],
            p.name,
            [p, c],
            [],
            None,
            (c,),
        )
    ]
    return r


def switch_name():
    r = []
    with fluid.program_guard(Program()):
        r.append(
            [fluid.default_startup_program() is fluid.default_main_program(), fluid.default_main_program().num_blocks]
        )
    r += [
        tryit(lambda: fluid.program_guard(3).__enter__()),
        tryit(lambda: fluid.program_guard(Program(), 3).__enter__()),
        tryit(lambda: fluid.program_guard("x").__enter__()),
    ]
    return r


def to_string():
    x, y, p, c = _net()
    m = fluid.default_main_program()
    r = [
        tryit(m.to_string),
        tryit(m.to_string, 1),
        tryit(m.to_string, True, 1),
        len(m.to_string(True)) > 100,
        "fc_0" in m.to_string(False, True),
        tryit(x.to_string),
        tryit(x.to_string, True),
        tryit(x.to_string, True, True),
    ]
    w = m.global_block().var("fc_0.w_0")
    r += [w.to_string(True), w.to_string(True, True), str(w)]
    return r


def block_ops():
    x, y, p, c = _net()
    b = fluid.default_main_program().global_block()
    r = [
        b.has_var("x"),
        b.has_var("zz"),
        tryit(b.var, "zz"),
        tryit(b.var, 3),
        tryit(b._var_recursive, "zz"),
        tryit(b._find_var_recursive, "zz"),
        tryit(b._find_var_recursive, "x"),
        b.forward_block_idx if hasattr(b, "forward_block_idx") else None,
        b.idx,
        b.parent_idx,
    ]
    b._remove_op(0)
    r.append(ops())
    op = b._insert_op(
        0, type="mul", inputs={"X": [x], "Y": [b.var("fc_0.w_0")]}, outputs={"Out": [b.var("fc_0.tmp_0")]}
    )
    r.append(ops())
    op = b._prepend_op(type="scale", inputs={"X": [x]}, outputs={"Out": [x]}, attrs={"scale": 2.0})
    r += [ops(), op.idx if hasattr(op, "idx") else 0, b.ops[1].idx]
    v = b._rename_var("fc_0.tmp_0", "renamed")
    r += [v, names(), b.ops[1].output("Out")]
    r.append(b._clone_variable(x, False))
    return r


def op_device_name_scope():
    r = []
    with fluid.name_scope("outer_of_two"):
        x = fluid.data("x", [2, 3])
        y = layers.relu(x)
        with fluid.name_scope("inner"):
            layers.fc(y, 2)
        with fluid.name_scope("inner"):
            layers.fc(y, 2)
    r = [
        [o.attr("op_namescope") for o in fluid.default_main_program().global_block().ops],
        names(),
        tryit(lambda: fluid.name_scope(None).__enter__()),
        tryit(lambda: fluid.name_scope(3).__enter__()),
    ]
    return r


def device_guard():
    with fluid.device_guard("cpu"):
        x = fluid.data("x", [2, 3])
        y = layers.relu(x)
    with fluid.device_guard("gpu"):
        z = layers.fc(y, 3)
    r = [
        [(o.type, o.attr("op_device")) for o in fluid.default_main_program().global_block().ops],
        tryit(lambda: fluid.device_guard("tpu").__enter__()),
        tryit(lambda: fluid.device_guard(3).__enter__()),
        tryit(lambda: fluid.device_guard(None).__enter__()),
        tryit(lambda: fluid.device_guard("gpu:0").__enter__()),
        tryit(run, [z], {"x": numbers(2, 3)}),
    ]
    return r


def program_misc():
    m = fluid.default_main_program()
    r = [
        tryit(lambda: setattr(m, "random_seed", "a")),
        tryit(lambda: setattr(m, "random_seed", 3.5)),
        tryit(lambda: setattr(m, "random_seed", None)),
        m.random_seed,
        tryit(m.block, 0) is m.global_block(),
        tryit(m.block, 5),
        tryit(lambda: m.global_seed),
        tryit(m.clone, 3),
        tryit(m.clone, for_test="a") and 1,
        tryit(lambda: m.op_role),
        tryit(lambda: m._op_role_var),
        tryit(lambda: m._version),
        tryit(lambda: Program.parse_from_string(b"garbage")),
        tryit(lambda: Program.parse_from_string("")),
        tryit(lambda: Program.parse_from_string(b"")),
        tryit(lambda: Program.parse_from_string(3)),
        m.desc.num_blocks(),
        m.blocks[0] is m.global_block(),
        len(m.blocks),
        m._is_distributed if hasattr(m, "_is_distributed") else None,
        m._is_chief if hasattr(m, "_is_chief") else None,
        tryit(lambda: m.__repr__() == str(m)),
        tryit(lambda: m._copy_param_info_from(3)),
        tryit(lambda: m._copy_data_info_from(3)),
        tryit(lambda: m._copy_dist_param_info_from(3)),
        tryit(lambda: m._sync_with_cpp()),
        m._current_role,
        tryit(lambda: m.lr_sheduler),
    ]
    return r

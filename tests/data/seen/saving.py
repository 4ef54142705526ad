"""Saving, loading, graphs and descs."""

from __future__ import annotations

import os

import numpy as np

from tests.data.seen.seen import (
    CPU,
    batch,
    core,
    fluid,
    folder,
    fresh,
    io,
    layers,
    names,
    numbers,
    ops,
    reader,
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


def _ls(path):
    return sorted(os.path.join(os.path.relpath(at, path), one) for at, _, found in os.walk(path) for one in found)


def save_vars():
    with folder() as T:
        x, y, p, c = _net()
        fluid.optimizer.Adam(0.1).minimize(c)
        exe = started()
        r = []
        io.save_params(exe, T + "/a")
        r.append(_ls(T + "/a"))
        io.save_persistables(exe, T + "/b")
        r.append(_ls(T + "/b"))
        io.save_vars(exe, T + "/c", predicate=lambda v: "w_0" in v.name and v.persistable)
        r.append(_ls(T + "/c"))
        io.save_params(exe, T + "/d", filename="all")
        r.append(_ls(T + "/d"))
        io.save_vars(exe, T + "/e", vars=[fluid.default_main_program().global_block().var("fc_0.w_0")])
        r.append(_ls(T + "/e"))
        r += [
            io.load_params(exe, T + "/a"),
            io.load_params(exe, T + "/d", filename="all"),
            tryit(io.load_params, exe, T + "/zz"),
            tryit(io.load_persistables, exe, T + "/a"),
            tryit(io.load_params, exe, T + "/d", filename="q"),
            tryit(io.save_vars, exe, T + "/f"),
            _ls(T + "/f"),
            tryit(io.save_vars, exe, T + "/f", 3),
            tryit(io.save_vars, exe, T + "/f", vars=[3]),
            tryit(io.save_params, 3, T),
            tryit(io.save_params, exe, 3),
            tryit(io.save_params, exe, None),
            tryit(io.load_vars, exe, T + "/e", vars=[fluid.default_main_program().global_block().var("fc_0.w_0")]),
            tryit(io.load_vars, exe, T + "/e", main_program=3),
            tryit(io.save_vars, exe, T + "/g", vars=[]),
            tryit(
                io.load_vars,
                exe,
                T + "/c",
                predicate=lambda v: "w_0" in v.name and v.persistable and "moment" not in v.name,
            ),
        ]
    return r


def save_load():
    with folder() as T:
        x, y, p, c = _net()
        fluid.optimizer.Adam(0.1).minimize(c)
        exe = started()
        m = fluid.default_main_program()
        fluid.save(m, T + "/m")
        r = [_ls(T)]
        s = fluid.load_program_state(T + "/m")
        r += [
            sorted(s),
            tryit(fluid.load, m, T + "/m", exe),
            tryit(fluid.load, m, T + "/zz"),
            tryit(fluid.load, 3, T + "/m"),
            tryit(fluid.save, 3, T + "/m"),
            tryit(fluid.save, m, T + "/"),
            tryit(fluid.save, m, 3),
            tryit(fluid.load_program_state, T + "/zz"),
            tryit(fluid.set_program_state, m, s),
            tryit(fluid.set_program_state, m, {}),
            tryit(fluid.set_program_state, m, {"fc_0.w_0": numbers(2, 2)}),
            tryit(fluid.set_program_state, m, {"fc_0.w_0": numbers(3, 4)}),
            np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor()),
            tryit(fluid.set_program_state, m, 3),
            tryit(fluid.load, m, T + "/m", exe, [m.global_block().var("fc_0.w_0")]),
            tryit(fluid.load, m, T + "/m", exe, ["fc_0.w_0"]),
            tryit(fluid.load, m, T + "/m", 3),
            tryit(fluid.load_program_state, T + "/m", [m.global_block().var("fc_0.w_0")]) and 1,
        ]
    return r


def load_mismatch():
    with folder() as T:
        x, y, p, c = _net()
        exe = started()
        m = fluid.default_main_program()
        fluid.save(m, T + "/m")
        io.save_params(exe, T + "/p")
        io.save_params(exe, T + "/q", filename="f")
        with fresh():
            x = fluid.data("x", [-1, 5])
            layers.fc(layers.fc(x, 4), 1)
            exe.run(fluid.default_startup_program())
            n = fluid.default_main_program()
            r = [
                tryit(fluid.load, n, T + "/m", exe),
                tryit(io.load_params, exe, T + "/p"),
                tryit(io.load_params, exe, T + "/q", filename="f"),
            ]
        with fresh():
            x = fluid.data("x", [-1, 3])
            layers.fc(layers.fc(layers.fc(x, 4), 1), 1)
            exe.run(fluid.default_startup_program())
            n = fluid.default_main_program()
            r += [
                tryit(fluid.load, n, T + "/m", exe),
                tryit(io.load_params, exe, T + "/p"),
                tryit(io.load_params, exe, T + "/q", filename="f"),
            ]
    return r


def inference_model():
    with folder() as T:
        x, y, p, c = _net()
        fluid.optimizer.SGD(0.1).minimize(c)
        exe = started()
        m = fluid.default_main_program()
        n0 = len(m.global_block().ops)
        r = [
            io.save_inference_model(T + "/a", ["x"], [p], exe),
            _ls(T + "/a"),
            len(m.global_block().ops) == n0,
            io.save_inference_model(T + "/b", ["x"], p, exe, model_filename="mm", params_filename="pp"),
            _ls(T + "/b"),
            tryit(io.save_inference_model, T + "/c", "x", [p], exe),
            tryit(io.save_inference_model, T + "/d", [x], [p], exe),
            tryit(io.save_inference_model, T + "/e", ["x"], ["zz"], exe),
            tryit(io.save_inference_model, T + "/f", ["zz"], [p], exe),
            _ls(T),
            tryit(io.save_inference_model, T + "/g", [], [p], exe),
            tryit(io.save_inference_model, T + "/h", ["x"], [], exe),
            tryit(io.save_inference_model, T + "/i", ["x", "y"], [c], exe),
            tryit(io.save_inference_model, T + "/j", ["x"], [p], exe, program_only=True),
            _ls(T + "/j") if os.path.isdir(T + "/j") else 0,
            tryit(io.save_inference_model, T + "/k", ["x"], [p], 3),
            tryit(io.save_inference_model, T + "/l", ["x"], [p], exe, 3),
            tryit(io.save_inference_model, T + "/n", None, [p], exe),
            tryit(io.save_inference_model, T + "/o", ["x", "y"], [p], exe),
        ]
        q, fn, ft = io.load_inference_model(T + "/a", exe)
        r += [
            ops(q),
            fn,
            ft,
            names(q),
            exe.run(q, feed={"x": numbers(2, 3)}, fetch_list=ft),
            q.random_seed,
            tryit(io.load_inference_model, T + "/zz", exe),
            tryit(io.load_inference_model, T + "/b", exe),
            tryit(io.load_inference_model, T + "/b", exe, "mm", "pp").__class__.__name__,
            tryit(io.load_inference_model, T + "/b", exe, "mm"),
            tryit(io.load_inference_model, T + "/a", 3),
            [v.persistable for v in sorted(q.list_vars(), key=lambda v: v.name)],
            tryit(io.load_inference_model, 3, exe),
            [type(v).__name__ for v in sorted(q.list_vars(), key=lambda v: v.name)],
        ]
    return r


def io_helpers():
    x, y, p, c = _net()
    fluid.optimizer.Adam(0.1).minimize(c)
    m = fluid.default_main_program()
    b = m.global_block()
    r = [
        io.is_parameter(b.var("fc_0.w_0")),
        io.is_persistable(b.var("fc_0.w_0")),
        io.is_persistable(x),
        io.is_parameter(x),
        tryit(io.is_parameter, 3),
        tryit(io.is_persistable, 3),
        sorted(v.name for v in io.get_program_parameter(m)),
        sorted(v.name for v in io.get_program_persistable_vars(m)),
        tryit(io.get_parameter_value, b.var("fc_0.w_0"), fluid.Executor(CPU)).__class__.__name__,
        tryit(io.get_parameter_value_by_name, "zz", fluid.Executor(CPU)),
        tryit(io.is_belong_to_optimizer, b.var("fc_0.w_0_moment1_0")),
        tryit(io.is_belong_to_optimizer, b.var("fc_0.w_0")),
    ]
    return r


def batch_shuffle_decorators():
    rd = lambda: iter(range(7))
    R = reader
    r = [
        list(batch(rd, 3)()),
        list(batch(rd, 3, drop_last=True)()),
        tryit(batch, rd, 0),
        tryit(batch, rd, -1),
        tryit(batch, rd, "a"),
        tryit(batch, rd, 2.5),
        list(R.chain(rd, rd)()),
        list(R.compose(rd, rd)()),
        tryit(lambda: list(R.compose(rd, lambda: iter([1]))())),
        list(R.compose(rd, lambda: iter([1]), check_alignment=False)()),
        list(R.firstn(rd, 3)()),
        list(R.map_readers(lambda a, b: a + b, rd, rd)()),
        list(R.buffered(rd, 2)()),
        sorted(R.shuffle(rd, 3)()),
        sorted(R.xmap_readers(lambda v: v * 2, rd, 2, 3)()),
        list(R.xmap_readers(lambda v: v * 2, rd, 2, 3, order=True)()),
        list(R.cache(rd)()),
        sorted(R.multiprocess_reader([rd, rd])()) if hasattr(R, "multiprocess_reader") else 0,
        tryit(R.firstn, rd, "a") and 1,
        tryit(lambda: list(R.buffered(3, 2)())),
        tryit(lambda: list(R.map_readers(3, rd)())),
    ]
    return r


def ir_graph():
    x, y, p, c = _net()
    g = fluid.framework.IrGraph(core.Graph(fluid.default_main_program().desc), for_test=True)
    r = [
        sorted(n.name() for n in g.all_op_nodes()),
        sorted(n.name() for n in g.all_var_nodes()),
        sorted(n.name() for n in g.all_persistable_nodes()),
        len(g.all_nodes()),
        [n.name() for n in g.topology_sort()],
        g.has_circle(),
        g.graph_num(),
        g.is_test(),
        tryit(g._find_node_by_name, list(g.all_var_nodes()), "zz"),
    ]
    w = [n for n in g.all_var_nodes() if n.name() == "fc_0.w_0"][0]
    o = [n for n in g.all_op_nodes() if n.name() == "mean"][0]
    r += [
        w.is_var(),
        w.is_op(),
        w.persistable(),
        w.shape(),
        w.dtype(),
        w.type(),
        w.is_ctrl_var() if hasattr(w, "is_ctrl_var") else 0,
        [n.name() for n in w.outputs],
        [n.name() for n in o.inputs],
        [n.name() for n in o.outputs],
        o.input("X"),
        o.output("Out"),
        o.op().type(),
        sorted(o.output_arg_names()) if hasattr(o, "output_arg_names") else 0,
    ]
    v = g.create_var_node("nv", core.VarDesc.VarType.LOD_TENSOR, [2, 3], core.VarDesc.VarType.FP32)
    q = g.create_op_node("relu", {"op_role": 0}, {"X": [o.outputs[0]]}, {"Out": [v]})
    g.link_to(o.outputs[0], q)
    g.link_to(q, v)
    r += [len(g.all_nodes()), ops(g.to_program()), names(g.to_program())]
    g.safe_remove_nodes({q, v})
    r += [
        len(g.all_nodes()),
        ops(g.to_program()),
        ops(g.clone().to_program()),
        tryit(g.safe_remove_nodes, 3),
        tryit(
            g.create_persistable_node, "pn", core.VarDesc.VarType.LOD_TENSOR, [2], core.VarDesc.VarType.FP32
        ).name(),
        tryit(g.update_input_link, o.inputs[0], w, o),
        [n.name() for n in o.inputs],
    ]
    return r


def descs():
    P = core.ProgramDesc()
    b = P.block(0)
    o = b.append_op()
    o.set_type("test")
    r = [
        P.num_blocks(),
        b.op_size() if hasattr(b, "op_size") else 0,
        o.type(),
        o.set_input("X", ["a", "b"]),
        o.input("X"),
        o.input_names(),
        o.set_output("Out", ["c"]),
        o.output("Out"),
        o.output_names(),
        o._set_attr("i", 3),
        o.attr("i"),
        o._set_attr("f", 0.5),
        o.attr("f"),
        o._set_attr("s", "st"),
        o.attr("s"),
        o._set_attr("ii", [1, 2]),
        o.attr("ii"),
        o._set_attr("b", True),
        o.attr("b"),
        o._set_attr("ff", [0.1, 0.2]),
        o.attr("ff"),
        o._set_attr("ss", ["a"]),
        o.attr("ss"),
        o._set_attr("bs", [True, False]),
        o.attr("bs"),
        sorted(o.attr_names()),
        o.has_attr("i"),
        o.has_attr("zz"),
        tryit(o.attr, "zz"),
        o.attr_type("i"),
        o.attr_type("f"),
        o.attr_type("ss"),
        tryit(o.check_attrs),
        tryit(o.infer_shape, b),
    ]
    v = b.var(b"vv")
    r += [
        v.name(),
        v.set_type(core.VarDesc.VarType.LOD_TENSOR),
        v.set_shape([2, 3]),
        v.shape(),
        v.set_dtype(core.VarDesc.VarType.INT32),
        v.dtype(),
        v.set_lod_level(2),
        v.lod_level(),
        v.set_persistable(True),
        v.persistable(),
        b.find_var(b"vv").name(),
        b.find_var(b"zz"),
        [q.name() for q in b.all_vars()],
        0,
        [q.name() for q in b.all_vars()],
        P.append_block(b).id,
        P.num_blocks(),
        P.block(1).parent,
        tryit(P.block, 7) and 1,
        b._prepend_op().type(),
        b._insert_op(1).type(),
        [q.type() for q in [b.op(i) for i in range(b.op_size())]],
        b._remove_op(0, 2),
        b.op_size(),
        tryit(v.set_shape, "a"),
    ]
    m = core.ProgramDesc()
    q = m.block(0)
    z = q.append_op()
    z.set_type("mul")
    for n, s in (("x", [10, 20]), ("y", [20, 30])):
        u = q.var(n.encode())
        u.set_type(core.VarDesc.VarType.LOD_TENSOR)
        u.set_shape(s)
        u.set_dtype(core.VarDesc.VarType.FP32)
    u = q.var(b"out")
    u.set_type(core.VarDesc.VarType.LOD_TENSOR)
    z.set_input("X", ["x"])
    z.set_input("Y", ["y"])
    z.set_output("Out", ["out"])
    z._set_attr("x_num_col_dims", 1)
    z._set_attr("y_num_col_dims", 1)
    z.check_attrs()
    z.infer_var_type(q)
    z.infer_shape(q)
    r += [u.shape(), u.dtype(), tryit(lambda: core.ProgramDesc(m).num_blocks()), len(m.serialize_to_string()) > 10]
    return r

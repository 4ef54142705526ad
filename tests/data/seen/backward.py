"""Backward passes, metrics and small modules."""

from __future__ import annotations

import numpy as np

from tests.data.seen.seen import fluid, fresh, layers, names, numbers, ops, run, tryit


def _net():
    x = fluid.data("x", [-1, 3])
    y = fluid.data("y", [-1, 1])
    h = layers.fc(x, 4, act="relu", param_attr=fluid.initializer.Constant(0.3))
    p = layers.fc(h, 1, param_attr=fluid.initializer.Constant(0.2))
    return x, y, p, layers.mean(layers.square_error_cost(p, y))


def _fed():
    return {"x": numbers(4, 3), "y": numbers(4, 1)}


def backward():
    x, y, p, c = _net()
    b = fluid.default_main_program().global_block()
    pg = fluid.backward.append_backward(c)
    r = [
        [(i.name, j.name) for i, j in pg],
        ops(),
        [v for v in names() if v.endswith("@GRAD")],
        [b.var(v).shape for v in names() if v.endswith("@GRAD")],
        [o.attr("op_role") for o in b.ops],
    ]
    return r


def backward_args():
    B = fluid.backward.append_backward
    r = []
    for kw in (
        dict(parameter_list=["fc_0.w_0"]),
        dict(no_grad_set={"fc_0.w_0"}),
        dict(no_grad_set=set(["fc_0.tmp_2"])),
        dict(parameter_list=[]),
        dict(parameter_list="a"),
        dict(no_grad_set=["fc_0.w_0"]),
        dict(no_grad_set="fc_0.w_0"),
        dict(callbacks=3),
        dict(callbacks=[lambda block, context: None]),
        dict(parameter_list=["zz"]),
        dict(parameter_list=[3]),
        dict(checkpoints=3) and {},
    ):
        with fresh():
            x, y, p, c = _net()
            r.append([tryit(lambda: [(i.name, j.name) for i, j in B(c, **kw)]), ops()])
    with fresh():
        x, y, p, c = _net()
        r += [tryit(B, 3), tryit(B, "a"), tryit(B, None), tryit(B, [c])]
    with fresh():
        x, y, p, c = _net()
        r += [tryit(B, p), tryit(B, x)]
    return r


def gradients():
    G = fluid.gradients
    r = []
    fs = [
        lambda x, y, p, c: G(c, x),
        lambda x, y, p, c: G([c], [x]),
        lambda x, y, p, c: G([c], [x, y]),
        lambda x, y, p, c: G(c, fluid.default_main_program().all_parameters()),
        lambda x, y, p, c: G([p], [x], [layers.ones([4, 1], "float32")]),
        lambda x, y, p, c: G(p, x, layers.ones([1], "float32")),
        lambda x, y, p, c: G(3, x),
        lambda x, y, p, c: G(c, 3),
        lambda x, y, p, c: G([c], ["x"]),
        lambda x, y, p, c: G(c, x, no_grad_set={"fc_0.tmp_2"}),
        lambda x, y, p, c: G([c, p], x),
        lambda x, y, p, c: G([c, p], x, [None]),
        lambda x, y, p, c: G([], x),
        lambda x, y, p, c: G(c, []),
        lambda x, y, p, c: G(c, x, no_grad_set=3),
        lambda x, y, p, c: G(p, y),
        lambda x, y, p, c: G(c, c),
        lambda x, y, p, c: G(x, x),
        lambda x, y, p, c: fluid.backward.calc_gradient(c, x),
    ]
    for f in fs:
        with fresh():
            x, y, p, c = _net()
            x.stop_gradient = False
            g = tryit(f, x, y, p, c)
            r.append(
                [
                    g,
                    ops(),
                    tryit(lambda: run([v for v in g if v is not None], _fed())) if isinstance(g, list) and g else 0,
                ]
            )
    return r


def metrics():
    M = fluid.metrics
    r = []
    m = M.Accuracy("q")
    m.update(0.5, 2)
    m.update(np.array([0.7]), 3)
    r += [
        m.eval(),
        tryit(m.update, "a", 2),
        tryit(m.update, 0.5, "a"),
        tryit(m.update, 0.5, -1),
        str(m)[:0],
        sorted(m.get_config()),
        tryit(M.Accuracy("q").eval),
        m.reset(),
        m.value,
        m.weight,
    ]
    m = M.Precision("q")
    r += [
        tryit(m.eval),
        m.update(np.array([[0.1], [0.7], [0.8], [0.9]]), np.array([[0], [1], [1], [0]])),
        m.eval(),
        tryit(m.update, [1], [1]),
        m.tp,
        m.fp,
    ]
    m = M.Recall("q")
    r += [
        tryit(m.eval),
        m.update(np.array([[0.1], [0.7], [0.8], [0.9]]), np.array([[0], [1], [1], [0]])),
        m.eval(),
        tryit(m.update, [1], [1]),
        m.tp,
        m.fn,
    ]
    m = M.ChunkEvaluator("q")
    m.update(10, 8, 6)
    m.update(np.array([3]), np.array([4]), np.array([2]))
    r += [
        m.eval(),
        tryit(m.update, "a", 1, 1),
        tryit(m.update, 1, "a", 1),
        tryit(m.update, 1, 1, None),
        M.ChunkEvaluator("q").eval(),
    ]
    m = M.EditDistance("e")
    m.update(np.array([[1.0], [0.0], [3.0]]), np.array([3]))
    m.update(np.array([[0.0]]), 1)
    r += [m.eval(), tryit(m.update, 3, 1), tryit(m.update, np.ones((2, 1)), "a"), tryit(M.EditDistance("q").eval)]
    m = M.Auc("a")
    m.update(np.array([[0.3, 0.7], [0.6, 0.4], [0.1, 0.9], [0.8, 0.2]]), np.array([[1], [0], [0], [1]]))
    r += [
        m.eval(),
        tryit(M.Auc),
        tryit(M.Auc, "a", "PR").__class__.__name__,
        tryit(m.update, [1], [1]),
        tryit(m.update, np.array([[0.3, 0.7]]), [1]),
    ]
    m = M.CompositeMetric("q")
    r += [
        tryit(m.add_metric, 3),
        tryit(m.eval),
        m.add_metric(M.Precision("q")),
        m.update(np.array([[0.1], [0.7]]), np.array([[0], [1]])),
        m.eval(),
        tryit(M.Accuracy("a").eval),
        tryit(M.Accuracy("a").update, 1, 2),
        M.Accuracy("a").get_config(),
        tryit(M.MetricBase),
        tryit(M.DetectionMAP),
    ]
    return r


def evaluator():
    fluid.data("x", [3, 4])
    l = fluid.data("l", [3, 1], "int64")
    e = tryit(fluid.evaluator.ChunkEvaluator, l, l, "IOB", 1)
    d = tryit(fluid.evaluator.EditDistance, l, l)
    r = [
        type(e).__name__,
        type(d).__name__,
        [v.name for v in e.metrics],
        [v.name for v in e.states],
        [v.name for v in d.states],
        ops(),
    ]
    return r


def weighted_average():
    W = fluid.average.WeightedAverage()
    r = [
        tryit(W.eval),
        W.add(2.0, 1),
        W.add(np.array([4.0, 6.0]), 3),
        W.eval(),
        tryit(W.add, "a", 1),
        tryit(W.add, 1, "a"),
        W.reset(),
        tryit(W.eval),
    ]
    return r


def unique_name():
    U = fluid.unique_name
    r = [U.generate("a"), U.generate("a"), U.generate("b")]
    with U.guard("p_"):
        r += [U.generate("a"), U.generate("a")]
    with U.guard():
        r += [U.generate("a")]
    r += [
        U.generate("a"),
        U.generate("a"),
        tryit(U.generate, 3),
        U.generate_with_ignorable_key("q") if hasattr(U, "generate_with_ignorable_key") else 0,
        tryit(lambda: U.guard(b"x").__enter__()),
    ]
    return r


def py_func():
    def f(a):
        return np.array(a) * 2

    def g(a, o, d):
        return np.array(d) * 3

    x = fluid.data("x", [2, 3])
    x.stop_gradient = False
    o = fluid.default_main_program().global_block().create_var(name="o", dtype="float32", shape=[2, 3])
    q = layers.py_func(f, x, o, backward_func=g)
    gr = fluid.gradients([layers.reduce_sum(o)], [x])
    r = [
        q,
        run([o] + gr, {"x": numbers(2, 3)}),
        tryit(layers.py_func, 3, x, o),
        tryit(layers.py_func, f, 3, o),
        tryit(layers.py_func, f, x, 3),
        tryit(layers.py_func, f, x, o, 3),
        tryit(layers.py_func, f, x, o, g, 3),
        tryit(layers.py_func, f, x, None),
        tryit(layers.py_func, f, [x], [o]),
        tryit(layers.py_func, f, None, o),
        [len(p.attr_names) > 0 for p in fluid.default_main_program().global_block().ops if p.type == "py_func"],
    ]
    return r


def detection_map_etc():
    dsf = fluid.default_scope_funcs
    r = [
        tryit(dsf.var, "a") is not None,
        tryit(dsf.find_var, "zz"),
        dsf.enter_local_scope(),
        tryit(dsf.var, "b") is not None,
        dsf.leave_local_scope(),
        tryit(dsf.find_var, "b"),
        tryit(dsf.scoped_function, lambda: 3),
        tryit(fluid.require_version, "1.8.5"),
        tryit(fluid.require_version, "99"),
        tryit(fluid.require_version, "a"),
        tryit(fluid.require_version, "1.0", "1.1"),
        tryit(fluid.require_version, 3),
        tryit(fluid.get_flags, "FLAGS_eager_delete_tensor_gb"),
        tryit(fluid.get_flags, 3),
        tryit(fluid.get_flags, ["FLAGS_zz"]),
        tryit(fluid.set_flags, {"FLAGS_zz": 1}),
        tryit(fluid.set_flags, 3),
        tryit(fluid.set_flags, {"FLAGS_eager_delete_tensor_gb": 2.0}),
        tryit(fluid.get_flags, ["FLAGS_eager_delete_tensor_gb"]),
    ]
    return r

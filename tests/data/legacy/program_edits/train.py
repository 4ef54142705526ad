"""What a framework on top of Fluid does with programs: walks ops, edits them, prunes, shares scopes, profiles, logs."""

import os, sys, re, inspect, hashlib, warnings, contextlib, collections, tempfile, shutil, types, weakref, copy, functools
import numpy as np
import paddle
import paddle.fluid as fluid
from paddle.fluid import core, framework, unique_name, layers, io
from paddle.fluid.framework import (
    Program,
    Variable,
    Parameter,
    Operator,
    default_main_program,
    default_startup_program,
    program_guard,
    grad_var_name,
    OpProtoHolder,
)
from paddle.fluid.layer_helper import LayerHelper
from paddle.fluid.executor import global_scope, _switch_scope, scope_guard
from paddle.fluid.proto import framework_pb2
from paddle.fluid.backward import append_backward, gradients, calc_gradient
from paddle.fluid.average import WeightedAverage
from paddle.fluid import profiler, debugger, compiler, metrics, evaluator


class Hook(object):
    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        a = np.array(x)
        return np.where(a > 0, a, 0.1 * a).astype("float32")


def back(x, y, dy):
    x, dy = np.array(x), np.array(dy)
    return np.where(x > 0, dy, 0.1 * dy).astype("float32")


def custom(x, hook):
    out = (
        default_main_program()
        .current_block()
        .create_var(name=unique_name.generate("pyf"), dtype=x.dtype, shape=x.shape)
    )
    return layers.py_func(func=hook, x=x, out=out, backward_func=back)


def show(x):
    return layers.Print(x, message="shown", summarize=2, first_n=1, print_phase="forward")


class Sub(fluid.initializer.Initializer):
    def __init__(self, value):
        self.value = value

    def __call__(self, var, block=None):
        op = (block or var.block).append_op(
            type="fill_constant",
            outputs={"Out": var},
            attrs={
                "shape": var.shape,
                "dtype": int(var.dtype),
                "value": float(self.value),
                "force_cpu": False,
            },
            stop_gradient=True,
        )
        var.op = op
        return op


class Decay(fluid.regularizer.WeightDecayRegularizer):
    def __init__(self, c):
        super(Decay, self).__init__()
        self.c = c

    def __call__(self, param, grad, block):
        assert isinstance(param, framework.Parameter)
        d = block.create_var(
            dtype="float32", shape=param.shape, lod_level=param.lod_level, name=unique_name.generate("decay")
        )
        block.append_op(type="scale", inputs={"X": param}, outputs={"Out": d}, attrs={"scale": self.c})
        return d

    def __str__(self):
        return "Decay %f" % self.c


class Clip(fluid.clip.BaseErrorClipAttr):
    pass


class Mine(fluid.optimizer.MomentumOptimizer):
    """Momentum that also counts steps in a variable of its own."""

    def __init__(self, *a, **k):
        super(Mine, self).__init__(*a, **k)
        self.type = "momentum"

    def _create_accumulators(self, block, parameters):
        for p in parameters:
            self._add_accumulator("velocity", p)
            self._add_accumulator("seen", p, shape=[1], fill_value=0.0)

    def _append_optimize_op(self, block, pg):
        v = self._get_accumulator("velocity", pg[0])
        s = self._get_accumulator("seen", pg[0])
        block.append_op(type="increment", inputs={"X": s}, outputs={"Out": s}, attrs={"step": 1.0})
        return block.append_op(
            type="momentum",
            inputs={"Param": pg[0], "Grad": pg[1], "Velocity": v, "LearningRate": self._create_param_lr(pg)},
            outputs={"ParamOut": pg[0], "VelocityOut": v},
            attrs={"mu": 0.9, "use_nesterov": False},
            stop_gradient=True,
        )


def net(hook):
    x = layers.data("x", shape=[8], dtype="float32")
    y = layers.data("y", shape=[1], dtype="int64")
    h = layers.fc(
        x,
        12,
        param_attr=fluid.ParamAttr(name="w1", regularizer=Decay(0.01)),
        bias_attr=fluid.ParamAttr(name="b1", initializer=Sub(0.1), do_model_average=True),
    )
    h.error_clip = fluid.clip.ErrorClipByValue(max=0.02, min=-0.02)
    h = custom(h, lambda v: hook(v))
    h = layers.fc(h, 12, act="tanh", name="mid")
    p = layers.fc(h, 3, act="softmax")
    return x, y, h, p, layers.mean(layers.cross_entropy(p, y)), layers.accuracy(p, y)


def data(i):
    r = np.random.RandomState(i)
    y = r.randint(0, 3, (16, 1))
    x = r.randn(16, 8).astype("float32") * 0.5
    x[:, :3] += np.eye(3)[y[:, 0]]
    return {"x": x.astype("float32"), "y": y.astype("int64")}


def describe(prog):
    n = collections.Counter(op.type for b in prog.blocks for op in b.ops)
    print("ops", sorted(n.items())[:6], "%.1f" % sum(n.values()))
    roles = collections.Counter(int(op.attr("op_role")) for op in prog.global_block().ops)
    print("roles", sorted(roles.items()), 0.5)
    for op in prog.global_block().ops[:4]:
        print(
            op.type,
            {k: op.input(k) for k in op.input_names if op.input(k)},
            op.output_arg_names,
            [a for a in sorted(op.attr_names) if not a.startswith("op_")][:3],
            1.0,
        )
    v = prog.global_block().var("w1")
    print(
        v.name,
        v.shape,
        v.dtype == core.VarDesc.VarType.FP32,
        v.persistable,
        v.trainable,
        v.optimize_attr["learning_rate"],
        v.lod_level,
        v.type == core.VarDesc.VarType.LOD_TENSOR,
    )
    d = framework_pb2.ProgramDesc.FromString(prog.desc.serialize_to_string())
    print(len(d.blocks), len(d.blocks[0].ops) * 1.0, len(d.blocks[0].vars), d.blocks[0].idx)
    again = Program.parse_from_string(prog.desc.serialize_to_string())
    print([o.type for o in again.global_block().ops] == [o.type for o in prog.global_block().ops], 2.0)


def main():
    hook = Hook()
    main_p, start = Program(), Program()
    main_p.random_seed = start.random_seed = 6
    with program_guard(main_p, start), unique_name.guard("net_"):
        x, y, h, p, loss, acc = net(hook)
        test = main_p.clone(for_test=True)
        lr = layers.autoincreased_step_counter()
        lr = layers.cast(lr, "float32")
        rate = 0.1 / layers.sqrt(lr + 1.0)
        opt = Mine(rate, 0.9, regularization=fluid.regularizer.L2Decay(1e-3))
        pg = opt.backward(loss, callbacks=[lambda block, context: None])
        print(["%s %s" % (a.name, b.name) for a, b in pg], 1.0)
        pg = [(a, layers.clip(b, -0.5, 0.5) if a.name == "w1" else b) for a, b in pg]
        ops = opt.apply_gradients(pg)
        print(len(ops) * 1.0, [o.type for o in ops][-2:])
    describe(main_p)
    exe = fluid.Executor(core.CPUPlace())
    exe.run(start)
    avg = WeightedAverage()
    acc_m = metrics.Accuracy()
    comp = metrics.CompositeMetric() if hasattr(metrics, "CompositeMetric") else None
    with contextlib.suppress():
        for i in range(30):
            l, a, r = exe.run(main_p, feed=data(i), fetch_list=[loss, acc, rate], use_program_cache=i > 3)
            avg.add(value=l, weight=16)
            acc_m.update(value=float(a[0]), weight=16)
            print("step %d %.6f %.4f lr %.5f avg %.6f acc %.5f" % (i, l, a, r, avg.eval(), acc_m.eval()))
    sc = global_scope()
    names = sorted(v.name for v in main_p.list_vars() if v.persistable and "_seen_" in v.name)
    print([(n, float(np.array(sc.find_var(n).get_tensor())[0])) for n in names])
    # edit: freeze a layer, change an attribute, insert an op, drop the optimizer
    q = main_p.clone()
    b = q.global_block()
    for op in list(b.ops):
        if op.type == "momentum" and op.input("Param") == ["w1"]:
            b._remove_op(b.ops.index(op))
        elif op.type == "momentum":
            op._set_attr("mu", 0.5)
    i = [k for k, o in enumerate(b.ops) if o.type == "tanh"][0]
    inp = b.ops[i].input("X")[0]
    new = b.create_var(name="scaled", dtype="float32", shape=b.var(inp).shape)
    b._insert_op(
        i, type="scale", inputs={"X": [inp]}, outputs={"Out": [new]}, attrs={"scale": 1.5, "bias": 0.0}
    )
    b.ops[i + 1]._rename_input(inp, "scaled")
    q._sync_with_cpp() if hasattr(q, "_sync_with_cpp") else None
    w = np.array(sc.find_var("w1").get_tensor())
    for k in range(12):
        (l,) = exe.run(q, feed=data(100 + k), fetch_list=[loss.name])
        print("edited %d %.6f" % (k, l))
    print("frozen %s" % (w == np.array(sc.find_var("w1").get_tensor())).all(), hook.calls * 1.0)
    # gradients by hand, and of a part of the network
    g = Program()
    with program_guard(g, Program()), unique_name.guard("net_"):
        x, y, h, p, loss, acc = net(Hook())
        x.stop_gradient = False
        target = layers.reduce_max(p, dim=1)
        (dx,) = gradients([target], [x])
        h2 = calc_gradient(loss, [h])
        sal = layers.reduce_sum(layers.abs(dx), dim=0)
    s, hh = exe.run(g, feed=data(3), fetch_list=[sal, h2])
    print(" ".join("%.6f" % v for v in s), "%.7f" % np.abs(hh).sum())
    # child scopes, variables set by hand, a test run on the side
    child = sc.new_scope()
    child.var("tmp").get_tensor().set(np.ones((2, 2), "float32"), core.CPUPlace())
    print(
        child.find_var("w1") is not None,
        sc.find_var("tmp") is None,
        np.array(child.find_var("tmp").get_tensor()).sum(),
    )
    with scope_guard(fluid.Scope()):
        exe.run(start)
        t = global_scope().find_var("w1").get_tensor()
        t.set(np.full(t.shape(), 0.05, "float32"), core.CPUPlace())
        ev = [exe.run(test, feed=data(500 + k), fetch_list=[loss, acc]) for k in range(3)]
        print(np.array(ev).reshape(3, 2).round(6).tolist())
    d = tempfile.mkdtemp()
    io.save_inference_model(d, ["x"], [test.global_block().var(p.name)], exe, test)
    prog, feeds, fetch = io.load_inference_model(d, exe)
    print(sorted(os.listdir(d)), 1.0, feeds, [op.type for op in prog.global_block().ops])
    shutil.rmtree(d)
    txt = main_p.to_string(throw_on_error=True, with_details=False)
    print(len(re.findall(r'type: "momentum"', txt)) * 1.0, len(str(test)) > 100)
    print(
        OpProtoHolder.instance().get_op_proto("scale").type,
        [f.name for f in OpProtoHolder.instance().get_op_proto("elementwise_add").inputs],
        1.0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ce = evaluator.ChunkEvaluator if hasattr(evaluator, "ChunkEvaluator") else None
    e = metrics.EditDistance("ed")
    e.update(np.array([[1.0], [0.0], [3.0]]), 3)
    print(["%.4f" % v for v in e.eval()])
    c = metrics.ChunkEvaluator()
    c.update(10, 9, 8)
    print("%.4f %.4f %.4f" % tuple(c.eval()))
    m = metrics.Auc("auc", num_thresholds=200)
    r = np.random.RandomState(0)
    pr = r.rand(50, 2)
    m.update(pr / pr.sum(1, keepdims=True), r.randint(0, 2, (50, 1)))
    print("%.6f" % m.eval())
    pr_, re_ = metrics.Precision(), metrics.Recall()
    pr_.update(r.rand(20, 1), r.randint(0, 2, (20, 1)))
    re_.update(r.rand(20, 1), r.randint(0, 2, (20, 1)))
    print("%.5f %.5f" % (pr_.eval(), re_.eval()))


main()

"""Quantisation-aware training, freezing to int8 values, pruning by hand and distillation with FSP, soft and L2 losses."""

from __future__ import division, print_function
import os, sys, argparse, functools
import numpy as np
import paddle, paddle.fluid as fluid
from paddle.fluid.framework import IrGraph
from paddle.fluid import core
from paddle.fluid.contrib.slim.quantization import (
    QuantizationTransformPass,
    QuantizationFreezePass,
    ConvertToInt8Pass,
    TransformForMobilePass,
    AddQuantDequantPass,
    OutScaleForTrainingPass,
)

L = fluid.layers


def cbr(x, n, k, s, name):
    x = L.conv2d(x, n, k, s, k // 2, bias_attr=False, param_attr=fluid.ParamAttr(name=name + "_w"))
    return L.batch_norm(
        x,
        act="relu",
        param_attr=fluid.ParamAttr(name=name + "_s"),
        bias_attr=fluid.ParamAttr(name=name + "_o"),
        moving_mean_name=name + "_m",
        moving_variance_name=name + "_v",
    )


def net(img, wide, tag):
    a = cbr(img, wide, 3, 1, tag + "a")
    b = cbr(a, wide * 2, 3, 2, tag + "b")
    c = L.pool2d(b, 4, "avg", 4)
    f = L.fc(c, 5, param_attr=fluid.ParamAttr(name=tag + "f_w"), bias_attr=fluid.ParamAttr(name=tag + "f_b"))
    return a, b, f


def batches(n, seed):
    base = np.random.RandomState(0).randn(5, 1, 8, 8)
    r = np.random.RandomState(seed)
    for _ in range(n):
        y = r.randint(0, 5, (8, 1))
        yield {"img": (base[y[:, 0]] + r.randn(8, 1, 8, 8) * 0.7).astype("float32"), "lab": y.astype("int64")}


def quant(kind, exe):
    prog, start = fluid.Program(), fluid.Program()
    prog.random_seed = start.random_seed = 13
    with fluid.program_guard(prog, start), fluid.unique_name.guard():
        img = L.data("img", [1, 8, 8])
        lab = L.data("lab", [1], dtype="int64")
        _, _, f = net(img, 4, "q")
        loss = L.mean(L.softmax_with_cross_entropy(f, lab))
        acc = L.accuracy(L.softmax(f), lab)
        test = prog.clone(for_test=True)
        fluid.optimizer.Momentum(0.05, 0.9).minimize(loss)
    place = fluid.CPUPlace()
    scope = fluid.Scope()
    with fluid.scope_guard(scope):
        exe.run(start)
        tr, te = IrGraph(core.Graph(prog.desc), for_test=False), IrGraph(core.Graph(test.desc), for_test=True)
        p = QuantizationTransformPass(
            scope=scope,
            place=place,
            weight_quantize_type="channel_wise_abs_max" if kind == "channel" else "abs_max",
            activation_quantize_type="moving_average_abs_max" if kind != "range" else "range_abs_max",
            window_size=20,
        )
        p.apply(tr)
        p.apply(te)
        bs = fluid.BuildStrategy()
        bs.memory_optimize = False
        bs.enable_inplace = False
        bs.fuse_all_reduce_ops = False
        binary = fluid.CompiledProgram(tr.graph).with_data_parallel(loss_name=loss.name, build_strategy=bs)
        tprog = te.to_program()
        for i, b in enumerate(batches(25, 1)):
            (l,) = exe.run(binary, feed=b, fetch_list=[loss.name])
            print("%s %d loss %.6f" % (kind, i, l[0]))
        ev = np.mean(
            [
                [float(v) for v in exe.run(tprog, feed=b, fetch_list=[loss.name, acc.name])]
                for b in batches(4, 2)
            ],
            0,
        )
        print(kind, "quant test %.5f %.4f" % tuple(ev))
        wt = "channel_wise_abs_max" if kind == "channel" else "abs_max"
        QuantizationFreezePass(scope=scope, place=place, weight_quantize_type=wt).apply(te)
        fz = te.to_program()
        ev = np.mean(
            [
                [float(v) for v in exe.run(fz, feed=b, fetch_list=[loss.name, acc.name])]
                for b in batches(4, 2)
            ],
            0,
        )
        print(kind, "frozen %.5f %.4f" % tuple(ev))
        w = np.array(scope.find_var("qa_w").get_tensor())
        print(kind, w.dtype, "%.1f" % np.abs(w).sum())
        ConvertToInt8Pass(scope=scope, place=place).apply(te)
        q = te.to_program()
        fluid.io.save_inference_model("int8_" + kind, ["img"], [q.global_block().var(f.name)], exe, q)
        print(sorted(os.listdir("int8_" + kind))[:4], 1.0)


def distil(exe):
    teacher, ts = fluid.Program(), fluid.Program()
    teacher.random_seed = ts.random_seed = 3
    with fluid.program_guard(teacher, ts), fluid.unique_name.guard("t"):
        img = L.data("img", [1, 8, 8])
        lab = L.data("lab", [1], dtype="int64")
        ta, tb, tf = net(img, 8, "t")
        tl = L.mean(L.softmax_with_cross_entropy(tf, lab))
        infer = teacher.clone(for_test=True)
        fluid.optimizer.Adam(0.01).minimize(tl)
    exe.run(ts)
    for b in batches(15, 4):
        (l,) = exe.run(teacher, feed=b, fetch_list=[tl])
    print("teacher %.6f" % l)
    prog, start = fluid.Program(), fluid.Program()
    prog.random_seed = start.random_seed = 4
    with fluid.program_guard(prog, start), fluid.unique_name.guard("s"):
        img = L.data("img", [1, 8, 8])
        lab = L.data("lab", [1], dtype="int64")
        a, b, f = net(img, 4, "s")
        f_in = [L.data(n, s) for n, s in (("ta", [8, 8, 8]), ("tb", [16, 4, 4]), ("tf", [5]))]
        fsp = L.reduce_mean(
            L.square(
                L.fsp_matrix(
                    L.conv2d(a, 8, 1), L.pool2d(L.conv2d(L.resize_nearest(b, out_shape=[8, 8]), 16, 1), 1)
                )
                - L.fsp_matrix(f_in[0], L.resize_nearest(f_in[1], out_shape=[8, 8]))
            )
        )
        soft = L.reduce_mean(L.cross_entropy(L.softmax(f / 2.0), L.softmax(f_in[2] / 2.0), soft_label=True))
        kl = L.kldiv_loss(L.log(L.softmax(f)), L.softmax(f_in[2]), reduction="batchmean")
        hard = L.mean(L.softmax_with_cross_entropy(f, lab))
        loss = hard + 0.5 * soft + 0.1 * kl + 0.01 * fsp
        fluid.optimizer.RMSProp(0.003, centered=True).minimize(loss)
    exe.run(start)
    mask = None
    for i, bt in enumerate(batches(30, 5)):
        o = exe.run(infer, feed=bt, fetch_list=[ta, tb, tf])
        l = exe.run(prog, feed=dict(bt, ta=o[0], tb=o[1], tf=o[2]), fetch_list=[loss, hard, soft, kl, fsp])
        print("distil %d " % i + " ".join("%.6f" % float(v) for v in l))
        if i == 15:  # prune the weakest half of the filters' values
            t = fluid.global_scope().find_var("sb_w").get_tensor()
            w = np.array(t)
            mask = np.abs(w) > np.median(np.abs(w))
        if mask is not None:
            t = fluid.global_scope().find_var("sb_w").get_tensor()
            t.set((np.array(t) * mask).astype("float32"), fluid.CPUPlace())
    print("sparsity %.4f" % (np.array(t) == 0).mean())


exe = fluid.Executor(fluid.CPUPlace())
for k in sys.argv[1:] or ("moving", "channel", "range", "distil"):
    distil(exe) if k == "distil" else quant(k, exe)

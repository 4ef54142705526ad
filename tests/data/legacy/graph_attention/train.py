# -*- encoding: utf-8 -*-
"""GAT with ragged neighbour lists, GraphSAGE with sampling, and DeepWalk with NCE on one random graph."""

import argparse, sys, os, time
import threading

try:
    import queue
except ImportError:
    import Queue as queue
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.layers as L


class Graph(object):
    def __init__(self, n, seed):
        r = np.random.RandomState(seed)
        self.n = n
        self.label = r.randint(0, 3, n)
        self.feat = (np.eye(3)[self.label].repeat(4, 1) * 0.7 + r.randn(n, 12) * 0.6).astype("float32")
        p = np.where(self.label[:, None] == self.label[None], 0.15, 0.02)
        a = np.triu(r.rand(n, n) < p, 1)
        a = a | a.T | np.eye(n, dtype=bool)
        self.nbr = [np.where(row)[0] for row in a]
        self.src = np.concatenate(self.nbr)
        self.lens = [len(x) for x in self.nbr]
        self.dst = np.repeat(np.arange(n), self.lens)

    def walk(self, r, length):
        v = r.randint(self.n)
        out = [v]
        for _ in range(length - 1):
            v = r.choice(self.nbr[v])
            out.append(v)
        return out


def gat(feat, src, dst, heads, size, name, act="elu"):
    h = L.fc(feat, heads * size, bias_attr=False, param_attr=fluid.ParamAttr(name=name + "_w"))
    a = L.create_parameter([1, heads, size], "float32", name=name + "_l")
    b = L.create_parameter([1, heads, size], "float32", name=name + "_r")
    h3 = L.reshape(h, [-1, heads, size])
    left, right = L.reduce_sum(h3 * a, -1), L.reduce_sum(h3 * b, -1)
    e = L.leaky_relu(L.gather(left, src) + L.gather(right, dst), 0.2)
    ragged = []
    for k in range(heads):
        col = L.slice(e, [1], [k], [k + 1])
        col = L.lod_reset(col, y=src_lod)
        ragged.append(L.sequence_softmax(col))
    alpha = L.concat(ragged, 1)
    alpha = L.dropout(alpha, 0.1, seed=3, dropout_implementation="upscale_in_train")
    msg = L.gather(h3, src) * L.reshape(alpha, [-1, heads, 1])
    msg = L.lod_reset(L.reshape(msg, [-1, heads * size]), y=src_lod)
    out = L.sequence_pool(msg, "sum")
    return getattr(L, act)(out) if act else out


def node_program(g, model):
    global src_lod
    prog, start = fluid.Program(), fluid.Program()
    prog.random_seed = start.random_seed = 123
    with fluid.program_guard(prog, start), fluid.unique_name.guard(model):
        feat = fluid.data("feat", [None, 12])
        src = fluid.data("src", [None], "int64")
        dst = fluid.data("dst", [None], "int64")
        src_lod = fluid.data("lod", [None, 1], "int64", lod_level=1)
        idx = fluid.data("idx", [None, 1], "int64")
        lab = fluid.data("lab", [None, 1], "int64")
        if model == "gat":
            h = gat(feat, src, dst, 2, 6, "g1")
            h = gat(h, src, dst, 1, 3, "g2", None)
        else:
            h = feat
            for i, (n, act) in enumerate(((8, "relu"), (3, None))):
                msg = L.gather(h, src)
                zero = L.zeros_like(L.concat([h[:, :1]] * int(h.shape[1]), 1))
                agg = L.scatter_nd_add(zero, L.reshape(dst, [-1, 1]), msg)
                deg = L.scatter_nd_add(
                    L.zeros_like(h[:, :1]), L.reshape(dst, [-1, 1]), L.ones_like(msg[:, :1])
                )
                h = L.fc([h, agg / deg], n, act=act)
                if act:
                    h = L.l2_normalize(h, axis=1)
        pred = L.index_select(h, L.reshape(idx, [-1]), dim=0)
        loss, prob = L.softmax_with_cross_entropy(pred, lab, return_softmax=True)
        loss = L.reduce_mean(loss)
        acc = L.accuracy(prob, lab)
        test = prog.clone(for_test=True)
        fluid.optimizer.Adam(0.01, regularization=fluid.regularizer.L2DecayRegularizer(5e-4)).minimize(loss)
    return prog, start, test, loss, acc


def deepwalk(g, exe):
    prog, start = fluid.Program(), fluid.Program()
    prog.random_seed = start.random_seed = 9
    with fluid.program_guard(prog, start), fluid.unique_name.guard():
        reader = fluid.layers.py_reader(
            capacity=4, shapes=[[-1, 1, 1], [-1, 4, 1]], dtypes=["int64"] * 2, lod_levels=[0, 0], name="walks"
        )
        u, v = L.read_file(reader)
        init = fluid.ParamAttr(name="emb", initializer=fluid.initializer.UniformInitializer(-0.1, 0.1))
        eu = L.reshape(L.embedding(u, [g.n, 8], param_attr=init, is_sparse=True), [-1, 1, 8])
        ev = L.reshape(
            L.embedding(
                v,
                [g.n, 8],
                param_attr=fluid.ParamAttr(name="ctx", initializer=fluid.initializer.Constant(0.01)),
                is_sparse=True,
            ),
            [-1, 4, 8],
        )
        logits = L.squeeze(L.matmul(eu, ev, transpose_y=True), [1])
        one = L.fill_constant_batch_size_like(logits, [-1, 1], "float32", 1.0)
        zero = L.fill_constant_batch_size_like(logits, [-1, 3], "float32", 0.0)
        loss = L.mean(L.sigmoid_cross_entropy_with_logits(logits, L.concat([one, zero], 1)))
        counts = L.unique_with_counts(L.reshape(u, [-1]))[2]
        fluid.optimizer.SGD(L.linear_lr_warmup(L.natural_exp_decay(0.5, 20, 0.3), 5, 0.01, 0.5)).minimize(
            loss
        )
    exe.run(start)

    def produce(seed, q):
        r = np.random.RandomState(seed)
        for _ in range(10):
            w = g.walk(r, 12)
            a, b = [], []
            for i in range(len(w) - 1):
                a.append(w[i])
                b.append([w[i + 1]] + list(r.randint(0, g.n, 3)))
            q.put((np.array(a).reshape(-1, 1, 1), np.array(b).reshape(-1, 4, 1)))
        q.put(None)

    def provider():
        qs = [queue.Queue(4) for _ in range(3)]
        ts = [threading.Thread(target=produce, args=(i, q)) for i, q in enumerate(qs)]
        [t.setDaemon(True) for t in ts]
        [t.start() for t in ts]
        while qs:
            for q in list(qs):
                x = q.get()
                if x is None:
                    qs.remove(q)
                else:
                    yield x

    reader.decorate_tensor_provider(provider)
    reader.start()
    it = 0
    try:
        while True:
            l, c = exe.run(prog, fetch_list=[loss, counts])
            if it % 5 == 0:
                print("walk", it, "%.6f" % l[0], "most %d of %d" % (c.max(), c.sum()), "%.1f" % len(c))
            it += 1
    except fluid.core.EOFException:
        reader.reset()
    e = np.array(fluid.global_scope().find_var("emb").get_tensor())
    print("embedding %.6f %.6f" % (e.sum(), np.abs(e).mean()))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epoch", type=int, default=50)
    args = p.parse_args()
    g = Graph(60, 4)
    exe = fluid.Executor(fluid.CPUPlace())
    order = np.random.RandomState(1).permutation(g.n)
    tr, te = order[:40], order[40:]
    lod = fluid.create_lod_tensor(g.src.reshape(-1, 1).astype("int64"), [g.lens], fluid.CPUPlace())
    for model in ("gat", "sage"):
        prog, start, test, loss, acc = node_program(g, model)
        with fluid.scope_guard(fluid.core.Scope()):
            exe.run(start)
            base = {"feat": g.feat, "src": g.src.astype("int64"), "dst": g.dst.astype("int64"), "lod": lod}
            for e in range(args.epoch):
                f = dict(base, idx=tr.reshape(-1, 1), lab=g.label[tr].reshape(-1, 1))
                try:
                    l, a = exe.run(prog, feed=f, fetch_list=[loss, acc])
                except RuntimeError as err:
                    print(type(err).__name__)
                    raise
                if e % 10 == 9:
                    tl, ta = exe.run(
                        test,
                        feed=dict(base, idx=te.reshape(-1, 1), lab=g.label[te].reshape(-1, 1)),
                        fetch_list=[loss, acc],
                    )
                    print("%s epoch %d valid %.6f %.4f" % (model, e, tl, ta))
                print("%s epoch %d loss %.6f acc %.4f" % (model, e, l, a))
    deepwalk(g, exe)


if __name__ == "__main__":
    main()

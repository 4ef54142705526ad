"""ELMo-like bidirectional language model: projected LSTMs, sampled softmax, shared embedding; then a tagger."""

from __future__ import print_function
import os, sys, time, math, argparse, random, pickle, six
import numpy as np
import paddle.fluid as fluid
from paddle.fluid import layers


def add_args(p):
    for flag, d in (
        ("hidden_size", 24),
        ("embed_size", 12),
        ("num_steps", 6),
        ("batch_size", 4),
        ("n_negs", 8),
        ("vocab", 60),
        ("num_layers", 2),
    ):
        p.add_argument("--" + flag, type=int, default=d)
    for flag, d in (
        ("lr", 0.2),
        ("cell_clip", 3.0),
        ("proj_clip", 3.0),
        ("dropout", 0.1),
        ("init1", 0.1),
        ("max_grad_norm", 5.0),
    ):
        p.add_argument("--" + flag, type=float, default=d)


def dropout(x, args, test):
    return (
        layers.dropout(
            x, dropout_prob=args.dropout, dropout_implementation="upscale_in_train", is_test=test, seed=1
        )
        if args.dropout
        else x
    )


def lstmp(x, args, name, test, reverse=False):
    outs = []
    for i in range(args.num_layers):
        proj = layers.fc(
            x,
            4 * args.hidden_size,
            bias_attr=False,
            param_attr=fluid.ParamAttr(
                name="%s_in%d" % (name, i), initializer=fluid.initializer.Uniform(-args.init1, args.init1)
            ),
        )
        h, c = layers.dynamic_lstmp(
            proj,
            size=4 * args.hidden_size,
            proj_size=args.embed_size,
            use_peepholes=False,
            is_reverse=reverse,
            proj_activation="identity",
            cell_clip=args.cell_clip,
            proj_clip=args.proj_clip,
            param_attr=fluid.ParamAttr(initializer=fluid.initializer.Uniform(-args.init1, args.init1)),
            bias_attr=fluid.ParamAttr(name="%s_b%d" % (name, i)),
        )
        x = dropout(layers.elementwise_add(x, h) if i else h, args, test)
        outs.append(x)
    return x, outs


class LM(object):
    def __init__(self, args, test=False):
        self.feeds = []
        x = layers.data("x", [1], dtype="int64", lod_level=1)
        y = layers.data("y", [1], dtype="int64", lod_level=1)
        xr = layers.data("xr", [1], dtype="int64", lod_level=1)
        yr = layers.data("yr", [1], dtype="int64", lod_level=1)
        emb = fluid.ParamAttr(
            name="embedding_para", initializer=fluid.initializer.Uniform(-args.init1, args.init1)
        )
        w = layers.create_parameter([args.vocab, args.embed_size], "float32", name="softmax_weight")
        b = layers.create_parameter([args.vocab], "float32", name="softmax_bias", is_bias=True)
        self.reps = []
        losses = []
        for name, a, t in (("fw", x, y), ("bw", xr, yr)):
            e = dropout(layers.embedding(a, [args.vocab, args.embed_size], param_attr=emb), args, test)
            out, outs = lstmp(e, args, name, test, name == "bw")
            self.reps.append((e, outs))
            logits = layers.elementwise_add(layers.matmul(out, w, transpose_y=True), b, axis=1)
            if test:
                cost = layers.softmax_with_cross_entropy(logits, t)
            else:
                pre = [v for v in range(args.n_negs)]
                cost = layers.sampled_softmax_with_cross_entropy(
                    logits, t, num_samples=args.n_negs, seed=3, remove_accidental_hits=True
                )
            losses.append(layers.mean(cost))
        self.fw, self.bw = losses
        self.loss = (losses[0] + losses[1]) / 2.0


def stream(n, seed, vocab):
    r = random.Random(seed)
    w = r.randrange(vocab)
    out = []
    for _ in range(n):
        w = (w * 3 + r.randrange(4)) % vocab
        out.append(w)
    return np.array(out)


def batches(args, seed):
    s = stream(args.batch_size * (args.num_steps * 20 + 1), seed, args.vocab).reshape(args.batch_size, -1)
    for i in range(0, s.shape[1] - args.num_steps, args.num_steps):
        a, b = s[:, i : i + args.num_steps], s[:, i + 1 : i + args.num_steps + 1]
        yield a, b, s[:, i + 1 : i + args.num_steps + 1][:, ::-1], s[:, i : i + args.num_steps][:, ::-1]


def feed(args, quad):
    lod = [[args.num_steps] * args.batch_size]
    return {
        n: fluid.create_lod_tensor(
            np.ascontiguousarray(v).reshape(-1, 1).astype("int64"), lod, fluid.CPUPlace()
        )
        for n, v in zip(("x", "y", "xr", "yr"), quad)
    }


def main():
    parser = argparse.ArgumentParser()
    add_args(parser)
    args = parser.parse_args()
    main_p, start = fluid.Program(), fluid.Program()
    main_p.random_seed = start.random_seed = 1
    with fluid.program_guard(main_p, start), fluid.unique_name.guard():
        lm = LM(args)
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(clip_norm=args.max_grad_norm))
        fluid.optimizer.Adagrad(args.lr, initial_accumulator_value=1.0).minimize(lm.loss)
    test_p = fluid.Program()
    with fluid.program_guard(test_p, fluid.Program()), fluid.unique_name.guard():
        tl = LM(args, True)
    test_p = test_p.clone(for_test=True)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(start)
    n = 0
    for ep in range(3):
        for q in batches(args, 1):
            l, f, b = exe.run(main_p, feed=feed(args, q), fetch_list=[lm.loss, lm.fw, lm.bw])
            n += 1
            print("batch %d loss %.6f fw %.6f bw %.6f" % (n, l, f, b))
        ls = [float(exe.run(test_p, feed=feed(args, q), fetch_list=[tl.loss])[0]) for q in batches(args, 2)]
        print("epoch %d test ppl %.5f" % (ep, math.exp(np.mean(ls))))
    fluid.io.save_params(exe, "elmo", main_p, filename=None)
    # the tagger takes the saved parameters that exist in it
    tag, tstart = fluid.Program(), fluid.Program()
    tag.random_seed = tstart.random_seed = 2
    with fluid.program_guard(tag, tstart), fluid.unique_name.guard("t_"):
        args.dropout = 0
        m = LM(args, True)
        y = layers.data("tag", [1], dtype="int64", lod_level=1)
        mix = layers.create_parameter(
            [3], "float32", name="mix", default_initializer=fluid.initializer.Constant(0.3)
        )
        g = layers.softmax(mix)
        e, outs = m.reps[0]
        cat = [e] + outs
        rep = None
        for k, o in enumerate(cat):
            o = layers.elementwise_mul(o, layers.slice(g, [0], [k], [k + 1]))
            rep = o if rep is None else rep + o
        rep.stop_gradient = False
        emission = layers.fc(rep, 4, param_attr="emission")
        crf = layers.mean(
            layers.linear_chain_crf(emission, y, param_attr=fluid.ParamAttr(name="crfw", learning_rate=2.0))
        )
        path = layers.crf_decoding(emission, param_attr=fluid.ParamAttr(name="crfw"))
        fluid.optimizer.SGD(0.05).minimize(crf, parameter_list=["mix", "emission", "crfw"])
    exe.run(tstart)

    def exists(v):
        return isinstance(v, fluid.framework.Parameter) and os.path.exists(os.path.join("elmo", v.name))

    fluid.io.load_vars(exe, "elmo", main_program=tag, predicate=exists)
    for i, q in enumerate(list(batches(args, 5))[:12]):
        f = feed(args, q)
        f["tag"] = fluid.create_lod_tensor(
            (q[0] % 4).reshape(-1, 1).astype("int64"), [[args.num_steps] * args.batch_size], fluid.CPUPlace()
        )
        c, p = exe.run(tag, feed=f, fetch_list=[crf, path], return_numpy=False)
        print("tagger %d crf %.6f right %d" % (i, np.array(c)[0], (np.array(p) == np.array(f["tag"])).sum()))


main()

# -*- coding: utf-8 -*-
"""Attention seq2seq of the book's chapter: DynamicRNN decoder, While beam search with arrays, data parallel, pickled dict."""

from __future__ import print_function
import os, sys, pickle, argparse, contextlib
import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.fluid.layers as pd
import paddle.fluid.framework as framework

ap = argparse.ArgumentParser()
ap.add_argument("--beam_size", type=int, default=3)
ap.add_argument("--max_length", type=int, default=7)
ap.add_argument("--passes", type=int, default=4)
args = ap.parse_args()
DICT, WORD, HID, DEC, B = 20, 8, 16, 12, 6


def encoder():
    src = pd.data(name="src_word_id", shape=[1], dtype="int64", lod_level=1)
    emb = pd.embedding(
        src, size=[DICT, WORD], dtype="float32", is_sparse=True, param_attr=fluid.ParamAttr(name="vemb")
    )
    fc1 = pd.fc(emb, HID * 3, act="tanh")
    fwd = pd.dynamic_gru(fc1, HID)
    bwd = pd.dynamic_gru(pd.fc(emb, HID * 3), HID, is_reverse=True)
    enc = pd.concat([fwd, bwd], 1)
    return src, enc, pd.sequence_first_step(bwd)


def attention(enc, proj, state):
    s = pd.sequence_expand(x=pd.fc(state, DEC, bias_attr=False, param_attr="att_s"), y=proj)
    m = pd.fc(pd.tanh(proj + s), 1, bias_attr=False, param_attr="att_v")
    w = pd.sequence_softmax(m)
    return pd.sequence_pool(pd.elementwise_mul(enc, pd.reshape(w, [-1]), axis=0), "sum")


def step(word, state, ctx):
    z = pd.fc([state, word, ctx], DEC, act="sigmoid", param_attr=["z0", "z1", "z2"], bias_attr="zb")
    c = pd.fc([state, word, ctx], DEC, act="tanh", param_attr=["c0", "c1", "c2"], bias_attr="cb")
    return pd.elementwise_add(pd.elementwise_mul(state, z), pd.elementwise_mul(1 - z, c))


def boot(back):
    return pd.fc(back, DEC, act="tanh", param_attr="boot", bias_attr=False)


def train_net():
    src, enc, back = encoder()
    proj = pd.fc(enc, DEC, bias_attr=False, param_attr="att_p")
    trg = pd.data("target_language_word", shape=[1], dtype="int64", lod_level=1)
    emb = pd.embedding(
        trg, size=[DICT, WORD], dtype="float32", is_sparse=True, param_attr=fluid.ParamAttr(name="temb")
    )
    first = boot(back)
    rnn = pd.DynamicRNN()
    with rnn.block():
        w = rnn.step_input(emb)
        e = rnn.static_input(enc)
        p = rnn.static_input(proj)
        s = rnn.memory(init=first, need_reorder=True)
        n = step(w, s, attention(e, p, s))
        rnn.update_memory(s, n)
        rnn.output(pd.fc(n, DICT, act="softmax", param_attr="out_w", bias_attr="out_b"))
    label = pd.data("target_language_next_word", shape=[1], dtype="int64", lod_level=1)
    return pd.mean(pd.cross_entropy(rnn(), label))


def decode_net():
    src, enc, back = encoder()
    proj = pd.fc(enc, DEC, bias_attr=False, param_attr="att_p")
    init = boot(back)
    length = pd.fill_constant([1], "int64", args.max_length)
    counter = pd.zeros([1], "int64", force_cpu=True)
    states = pd.create_array("float32")
    contexts = pd.create_array("float32")
    pd.array_write(pd.sequence_pool(enc, "average"), array=contexts, i=counter)
    pd.array_write(init, array=states, i=counter)
    ids = pd.create_array("int64")
    scores = pd.create_array("float32")
    init_ids = pd.data("init_ids", [1], dtype="int64", lod_level=2)
    init_scores = pd.data("init_scores", [1], dtype="float32", lod_level=2)
    pd.array_write(init_ids, array=ids, i=counter)
    pd.array_write(init_scores, array=scores, i=counter)
    cond = pd.less_than(x=counter, y=length)
    w = pd.While(cond=cond)
    with w.block():
        pi = pd.array_read(ids, counter)
        ps = pd.array_read(states, counter)
        psc = pd.array_read(scores, counter)
        exp = pd.sequence_expand(ps, psc)
        e = enc
        emb = pd.embedding(pi, size=[DICT, WORD], dtype="float32", param_attr=fluid.ParamAttr(name="temb"))
        emb = pd.reshape(emb, [-1, WORD])
        pc = pd.array_read(contexts, counter)
        ctx = pd.sequence_expand(pc, psc)
        new = step(emb, exp, ctx)
        cur = pd.lod_reset(new, y=psc)
        prob = pd.fc(cur, DICT, act="softmax", param_attr="out_w", bias_attr="out_b")
        ts, ti = pd.topk(prob, k=8)
        acc = pd.elementwise_add(x=pd.log(ts), y=pd.reshape(psc, [-1]), axis=0)
        si, ss = pd.beam_search(pi, psc, ti, acc, args.beam_size, end_id=1, level=0)
        pd.increment(x=counter, value=1, in_place=True)
        pd.array_write(new, array=states, i=counter)
        pd.array_write(ctx, array=contexts, i=counter)
        pd.array_write(si, array=ids, i=counter)
        pd.array_write(ss, array=scores, i=counter)
        pd.logical_and(pd.less_than(x=counter, y=length), pd.logical_not(pd.is_empty(x=si)), out=cond)
    return pd.beam_search_decode(ids=ids, scores=scores, beam_size=args.beam_size, end_id=1)


def samples(n, seed):
    def r():
        g = np.random.RandomState(seed)
        for _ in range(n):
            k = g.randint(2, 6)
            s = list(g.randint(2, DICT, k))
            t = [(v - 2 + 5) % (DICT - 2) + 2 for v in s[::-1]]
            yield s, [0] + t, t + [1]

    return r


def main():
    framework.default_startup_program().random_seed = 1000
    framework.default_main_program().random_seed = 1000
    loss = train_net()
    fluid.optimizer.Adagrad(
        learning_rate=fluid.layers.natural_exp_decay(0.05, 50, 0.5),
        regularization=fluid.regularizer.L2DecayRegularizer(regularization_coeff=1e-4),
    ).minimize(loss)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(framework.default_startup_program())
    names = ["src_word_id", "target_language_word", "target_language_next_word"]
    feeder = fluid.DataFeeder([fluid.default_main_program().global_block().var(n) for n in names], place)
    k = 0
    for p in range(args.passes):
        for b in paddle.batch(samples(14 * B, 1), B)():
            (c,) = exe.run(framework.default_main_program(), feed=feeder.feed(b), fetch_list=[loss])
            print("pass %d batch %d cost %.6f" % (p, k, c[0]))
            k += 1
    fluid.io.save_params(exe, "nmt", fluid.default_main_program(), "all")
    pickle.dump({"w%d" % i: i for i in range(DICT)}, open("dict.pkl", "wb"), 2)
    back = {v: k for k, v in pickle.load(open("dict.pkl", "rb")).items()}
    infer = fluid.Program()
    with fluid.program_guard(infer, fluid.Program()), fluid.unique_name.guard():
        ids, scores = decode_net()
    need = [v for v in infer.list_vars() if isinstance(v, fluid.framework.Parameter)]
    s = [x[0] for x in samples(3, 7)()]
    f = {
        "src_word_id": fluid.create_lod_tensor(
            np.array(sum(s, []), "int64").reshape(-1, 1), [[len(x) for x in s]], place
        )
    }
    one = [[1] * 3, [1] * 3]
    f["init_ids"] = fluid.create_lod_tensor(np.zeros((3, 1), "int64"), one, place)
    f["init_scores"] = fluid.create_lod_tensor(np.ones((3, 1), "float32"), one, place)
    i, sc = exe.run(infer, feed=f, fetch_list=[ids, scores], return_numpy=False)
    print(i.lod(), 1.0)
    lod = i.lod()[1]
    a, q = np.array(i), np.array(sc)
    for n in range(len(lod) - 1):
        print(" ".join(back[int(v)] for v in a[lod[n] : lod[n + 1]].ravel()), "%.5f" % q[lod[n + 1] - 1])


main()

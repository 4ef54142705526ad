"""Hierarchical documents (2 LoD levels): words -> sentences -> document, with odd sequence layers."""

import sys, os, io, re, json, random, tempfile, logging
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.layers as L
from paddle.fluid.layers import control_flow
from functools import partial

CONF = json.loads("""{"vocab": 50, "emb": 8, "hid": 8, "classes": 3, "lr": 0.05, "batch": 6, "epochs": 5,
                     "optimizer": {"type": "ftrl", "l1": 0.001, "l2": 0.0005}}""")


def sequence_erase(x, tokens):
    helper = fluid.layer_helper.LayerHelper("sequence_erase", input=x)
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(
        type="sequence_erase", inputs={"X": [x]}, outputs={"Out": [out]}, attrs={"tokens": tokens}
    )
    return out


def attention_pool(x, name):
    score = L.fc(x, 1, act="tanh", param_attr=fluid.ParamAttr(name=name + "_att"), bias_attr=False)
    w = L.sequence_softmax(score)
    return L.sequence_pool(L.elementwise_mul(x, w, axis=0), "sum")


def model(c):
    docs = L.data("docs", [1], dtype="int64", lod_level=2)
    tags = L.data("tags", [1], dtype="int64", lod_level=1)
    sents = L.data("sents", [1], dtype="int64", lod_level=1)
    y = L.data("y", [1], dtype="int64")
    flatw = L.data("flatw", [1], dtype="int64", lod_level=1)
    emb = L.embedding(docs, [c["vocab"], c["emb"]], padding_idx=0)
    conv = L.fc(L.lod_reset(emb, flatw), c["hid"], act="tanh")
    conv = L.sequence_conv(conv, c["hid"], 3, act="tanh")
    sent = L.lod_reset(attention_pool(conv, "w"), sents)  # one row per sentence
    fwd, _ = L.dynamic_lstm(L.fc(sent, 4 * c["hid"]), 4 * c["hid"], use_peepholes=True)
    rev = L.dynamic_gru(L.fc(sent, 3 * c["hid"]), c["hid"], is_reverse=True, origin_mode=True)
    both = L.concat([fwd, rev], 1)
    doc = attention_pool(both, "s")
    # tags: stop words erased, pairs reshaped, windows enumerated, a bag scattered into a table of counts
    kept = sequence_erase(tags, [0, 7])
    win = L.sequence_enumerate(kept, win_size=2, pad_value=0)
    wemb = fluid.embedding(L.cast(win, "int64"), [12, 4])
    wemb = L.reshape(wemb, [-1, 8])
    tagv = L.sequence_pool(L.lod_reset(wemb, kept), "sqrt")
    ones = L.cast(L.ones_like(kept), "float32")
    zeros = L.fill_constant_batch_size_like(doc, [-1, 12], "float32", 0.0)
    zeros.stop_gradient = False
    bag = L.sequence_scatter(zeros, kept, ones)
    flat = L.sequence_reshape(L.sequence_expand_as(doc, kept), 2 * 2 * c["hid"] // 2)
    h = L.fc([doc, tagv, bag, L.sequence_pool(flat, "max")], 16, act="relu")
    logits = L.fc(h, c["classes"])
    sm = L.softmax(logits)
    ls = L.label_smooth(L.one_hot(y, c["classes"]), epsilon=0.1)
    loss = L.mean(L.cross_entropy(sm, ls, soft_label=True))
    return loss, L.accuracy(sm, y), sm


def gen(n, seed, c):
    r = random.Random(seed)
    for _ in range(n):
        y = r.randrange(c["classes"])
        doc = [
            [
                r.randrange(1 + 16 * y, 17 + 16 * y) if r.random() < 0.5 else r.randrange(50)
                for _ in range(r.randint(1, 6))
            ]
            for _ in range(r.randint(1, 4))
        ]
        tags = [r.choice([0, 7, 1 + y, 4 + y, 8 + y, 11]) for _ in range(r.randint(2, 6))] + [11, 1 + y]
        if len([t for t in tags if t not in (0, 7)]) % 1 == 0:
            yield doc, tags, y


def batches(c, n, seed):
    b = []
    for s in gen(n, seed, c):
        b.append(s)
        if len(b) == c["batch"]:
            yield b
            b = []


def to_feed(b, place):
    words = [w for d in b for s in d[0] for w in s]
    lod2 = [[len(d[0]) for d in b], [len(s) for d in b for s in d[0]]]
    return {
        "docs": fluid.create_lod_tensor(np.array(words).reshape(-1, 1).astype("int64"), lod2, place),
        "flatw": fluid.create_lod_tensor(np.array(words).reshape(-1, 1).astype("int64"), lod2[1:], place),
        "sents": fluid.create_lod_tensor(np.zeros((sum(lod2[0]), 1), "int64"), lod2[:1], place),
        "tags": fluid.create_lod_tensor(
            np.array([t for d in b for t in d[1]]).reshape(-1, 1).astype("int64"),
            [[len(d[1]) for d in b]],
            place,
        ),
        "y": np.array([d[2] for d in b]).reshape(-1, 1).astype("int64"),
    }


def optimizer(c):
    o = dict(c["optimizer"])
    kind = o.pop("type")
    return {"ftrl": fluid.optimizer.Ftrl, "adam": fluid.optimizer.Adam}[kind](learning_rate=c["lr"], **o)


def main():
    c = CONF
    fluid.default_startup_program().random_seed = 77
    fluid.default_main_program().random_seed = 77
    loss, acc, sm = model(c)
    infer = fluid.default_main_program().clone(for_test=True)
    optimizer(c).minimize(loss)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())
    logfile = io.StringIO()
    step = 0
    for e in range(c["epochs"]):
        for b in batches(c, 62, 1):
            l, a, p = exe.run(feed=to_feed(b, place), fetch_list=[loss, acc, sm], return_numpy=False)
            print(
                "%d %d loss=%.6f acc=%.3f p=%.5f" % (e, step, np.array(l), np.array(a), np.array(p)[0, 0]),
                file=logfile,
            )
            step += 1
        r = np.array(
            [
                [
                    float(np.array(v))
                    for v in exe.run(
                        infer, feed=to_feed(b, place), fetch_list=[loss, acc], return_numpy=False
                    )
                ]
                for b in batches(c, 24, 2)
            ]
        )
        print("epoch", e, "dev loss %.6f acc %.4f" % tuple(r.mean(axis=0)), file=logfile)
    sys.stdout.write(logfile.getvalue())
    tmp = tempfile.mkdtemp()
    fluid.io.save_inference_model(
        tmp,
        ["docs", "flatw", "sents", "tags"],
        [sm],
        exe,
        infer,
        model_filename="__m__",
        params_filename="__p__",
    )
    cfg = fluid.core.AnalysisConfig(os.path.join(tmp, "__m__"), os.path.join(tmp, "__p__"))
    cfg.disable_gpu()
    cfg.switch_use_feed_fetch_ops(False)
    cfg.switch_ir_optim(False)
    pred = fluid.core.create_paddle_predictor(cfg)
    f = to_feed(next(batches(c, 6, 9)), place)
    for n in pred.get_input_names():
        t = pred.get_input_tensor(n)
        t.copy_from_cpu(np.array(f[n]))
        t.set_lod(f[n].lod())
    pred.zero_copy_run()
    for row in pred.get_output_tensor(pred.get_output_names()[0]).copy_to_cpu():
        print(" ".join("%.5f" % v for v in row))


if __name__ == "__main__":
    main()

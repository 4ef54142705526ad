"""BERT pretraining in miniature: masked words and next sentences, dynamic batches by tokens, gradient accumulation by hand, warm restarts."""

from __future__ import absolute_import, division, print_function, unicode_literals
import argparse, collections, json, io, os, six, random
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.layers as layers

CONFIG = json.loads(
    '{"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "vocab_size": 60, "max_position_embeddings": 20, "type_vocab_size": 2, "hidden_act": "gelu", "initializer_range": 0.02}'
)


class Model(object):
    def __init__(self, src, pos, sent, mask, config, weight_sharing=True, use_fp16=False):
        self.c, self._dtype = config, "float16" if use_fp16 else "float32"
        self.init = fluid.initializer.TruncatedNormal(scale=config["initializer_range"])

        def emb(x, n, name):
            return layers.embedding(
                x,
                [n, config["hidden_size"]],
                dtype=self._dtype,
                param_attr=fluid.ParamAttr(name=name, initializer=self.init),
                is_sparse=False,
            )

        e = (
            emb(src, config["vocab_size"], "word_embedding")
            + emb(pos, config["max_position_embeddings"], "pos_embedding")
            + emb(sent, 2, "sent_embedding")
        )
        e = self.pre_post(None, e, "nd", "pre_encoder")
        m = layers.matmul(mask, mask, transpose_y=True)
        m = layers.scale(m, scale=10000.0, bias=-1.0, bias_after_scale=False)
        m = layers.stack([m] * config["num_attention_heads"], axis=1)
        m.stop_gradient = True
        for i in range(config["num_hidden_layers"]):
            a = self.attention(e, m, "encoder_layer_%d_multi_head_att" % i)
            e = self.pre_post(e, a, "dan", "encoder_layer_%d_post_att" % i)
            f = layers.fc(
                layers.fc(
                    e,
                    48,
                    num_flatten_dims=2,
                    act=config["hidden_act"],
                    param_attr=fluid.ParamAttr(name="f%d_0.w" % i, initializer=self.init),
                    bias_attr="f%d_0.b" % i,
                ),
                config["hidden_size"],
                num_flatten_dims=2,
                param_attr=fluid.ParamAttr(name="f%d_1.w" % i, initializer=self.init),
                bias_attr="f%d_1.b" % i,
            )
            e = self.pre_post(e, f, "dan", "encoder_layer_%d_post_ffn" % i)
        self.out = e

    def pre_post(self, prev, out, cmd, name):
        for c in cmd:
            if c == "a":
                out = out + prev if prev is not None else out
            elif c == "n":
                out = layers.layer_norm(
                    out,
                    begin_norm_axis=len(out.shape) - 1,
                    param_attr=fluid.ParamAttr(
                        name=name + "_layer_norm_scale", initializer=fluid.initializer.Constant(1.0)
                    ),
                    bias_attr=fluid.ParamAttr(
                        name=name + "_layer_norm_bias", initializer=fluid.initializer.Constant(0.0)
                    ),
                )
            elif c == "d":
                out = layers.dropout(
                    out, dropout_prob=0.1, dropout_implementation="upscale_in_train", is_test=False
                )
        return out

    def attention(self, x, bias, name):
        d, h = self.c["hidden_size"], self.c["num_attention_heads"]
        q, k, v = [
            layers.fc(
                x,
                d,
                num_flatten_dims=2,
                param_attr=fluid.ParamAttr(name=name + "_%s_fc.w_0" % n, initializer=self.init),
                bias_attr=name + "_%s_fc.b_0" % n,
            )
            for n in ("query", "key", "value")
        ]
        q, k, v = [
            layers.transpose(layers.reshape(t, shape=[0, 0, h, d // h], inplace=True), perm=[0, 2, 1, 3])
            for t in (q, k, v)
        ]
        w = layers.softmax(layers.matmul(layers.scale(q, scale=(d // h) ** -0.5), k, transpose_y=True) + bias)
        w = layers.dropout(w, dropout_prob=0.1, dropout_implementation="upscale_in_train", is_test=False)
        o = layers.transpose(layers.matmul(w, v), perm=[0, 2, 1, 3])
        o = layers.reshape(o, shape=[0, 0, d], inplace=True)
        return layers.fc(
            o,
            d,
            num_flatten_dims=2,
            param_attr=fluid.ParamAttr(name=name + "_output_fc.w_0", initializer=self.init),
            bias_attr=name + "_output_fc.b_0",
        )

    def pretraining(self, mask_label, mask_pos, labels):
        mask_pos = layers.cast(x=mask_pos, dtype="int32")
        first = layers.slice(self.out, axes=[1], starts=[0], ends=[1])
        first = layers.reshape(first, [-1, self.c["hidden_size"]])
        pooled = layers.fc(
            first,
            self.c["hidden_size"],
            act="tanh",
            param_attr=fluid.ParamAttr(name="pooled_fc.w_0", initializer=self.init),
            bias_attr="pooled_fc.b_0",
        )
        flat = layers.reshape(self.out, shape=[-1, self.c["hidden_size"]])
        feat = layers.gather(flat, mask_pos)
        t = layers.fc(
            feat,
            self.c["hidden_size"],
            act="gelu",
            param_attr=fluid.ParamAttr(name="mask_lm_trans_fc.w_0", initializer=self.init),
            bias_attr="mask_lm_trans_fc.b_0",
        )
        t = self.pre_post(None, t, "n", "mask_lm_trans")
        out = layers.matmul(
            t, fluid.default_main_program().global_block().var("word_embedding"), transpose_y=True
        )
        out = out + layers.create_parameter(
            [self.c["vocab_size"]], "float32", name="mask_lm_out_fc.b_0", is_bias=True
        )
        lm = layers.mean(layers.softmax_with_cross_entropy(logits=out, label=mask_label))
        ns = layers.fc(
            pooled,
            2,
            param_attr=fluid.ParamAttr(name="next_sent_fc.w_0", initializer=self.init),
            bias_attr="next_sent_fc.b_0",
        )
        nl, sm = layers.softmax_with_cross_entropy(logits=ns, label=labels, return_softmax=True)
        return layers.accuracy(sm, labels), lm, lm + layers.mean(nl)


def batches(seed, n):
    rnd = random.Random(seed)
    for _ in range(n):
        rows, total = [], 0
        while True:
            a = [rnd.randrange(4, 30) for _ in range(rnd.randint(2, 6))]
            same = rnd.random() < 0.5
            b = [(w + 1 if same else rnd.randrange(4, 60)) for w in a][: rnd.randint(2, 6)]
            ids = [1] + a + [2] + b + [2]
            sent = [0] * (len(a) + 2) + [1] * (len(b) + 1)
            rows.append((ids, sent, int(same)))
            if max(len(r[0]) for r in rows) * (len(rows) + 1) > 60:
                break
        m = max(len(r[0]) for r in rows)
        ml, mp = [], []
        src = []
        for i, (ids, _, _) in enumerate(rows):
            ids = list(ids)
            k = 0
            for j, w in enumerate(ids):
                p = rnd.random()
                if w > 3 and (p < 0.15 or (k == 0 and j == len(ids) - 2)):
                    k += 1
                    ml.append(w)
                    mp.append(i * m + j)
                    ids[j] = 3 if p < 0.12 else rnd.randrange(4, 60)
            src.append(ids + [0] * (m - len(ids)))
        yield {
            "src_ids": np.array(src).reshape(-1, m, 1),
            "pos_ids": np.tile(np.arange(m).reshape(1, m, 1), (len(rows), 1, 1)),
            "sent_ids": np.array([s + [0] * (m - len(s)) for _, s, _ in rows]).reshape(-1, m, 1),
            "input_mask": np.array(
                [[1.0] * len(r[0]) + [0.0] * (m - len(r[0])) for r in rows], "float32"
            ).reshape(-1, m, 1),
            "mask_label": np.array(ml).reshape(-1, 1),
            "mask_pos": np.array(mp).reshape(-1, 1),
            "labels": np.array([r[2] for r in rows]).reshape(-1, 1),
        }


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=52)
    a = ap.parse_args()
    names = ["src_ids", "pos_ids", "sent_ids", "input_mask", "mask_label", "mask_pos", "labels"]
    prog, start = fluid.Program(), fluid.Program()
    prog.random_seed = start.random_seed = 1
    with fluid.program_guard(prog, start), fluid.unique_name.guard():
        reader = layers.py_reader(
            capacity=10,
            shapes=[[-1, -1, 1]] * 4 + [[-1, 1]] * 3,
            dtypes=["int64", "int64", "int64", "float32", "int64", "int64", "int64"],
            lod_levels=[0] * 7,
            name="train",
            use_double_buffer=True,
        )
        src, pos, sent, mask, ml, mp, lab = layers.read_file(reader)
        bert = Model(src, pos, sent, mask, CONFIG)
        acc, lm, total = bert.pretraining(ml, mp, lab)
        test = prog.clone(for_test=True)
        lr = layers.tensor.create_global_var(
            shape=[1], value=0.0, dtype="float32", persistable=True, name="scheduled_learning_rate"
        )
        step = layers.learning_rate_scheduler._decay_step_counter()
        with layers.control_flow.Switch() as switch:
            with switch.case(step < 10.0):
                layers.tensor.assign(0.01 * (step / 10.0), lr)
            with switch.default():
                layers.tensor.assign(
                    layers.learning_rate_scheduler.polynomial_decay(
                        learning_rate=0.01, decay_steps=60, end_learning_rate=0.0, power=1.0, cycle=False
                    ),
                    lr,
                )
        opt = fluid.optimizer.Adam(learning_rate=lr)
        opt._learning_rate_map[prog] = lr
        fluid.clip.set_gradient_clip(clip=fluid.clip.GradientClipByGlobalNorm(clip_norm=1.0))
        params = {}
        for p in prog.global_block().all_parameters():
            c = p * 1.0
            c.stop_gradient = True
            params[p.name] = c
        _, pg = opt.minimize(total)
        for p, g in pg:
            if p.name.find("layer_norm") > -1 or p.name.endswith((".b", "_bias", ".b_0")):
                continue
            with p.block.program._optimized_guard([p, g]), fluid.framework.name_scope("weight_decay"):
                layers.assign(output=p, input=p - params[p.name] * 0.01 * lr)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(start)
    reader.decorate_tensor_provider(lambda: ([b[n] for n in names] for b in batches(3, a.steps)))
    reader.start()
    es = fluid.ExecutionStrategy()
    es.num_threads = 1
    es.num_iteration_per_drop_scope = 10
    pe = fluid.ParallelExecutor(
        use_cuda=False,
        loss_name=total.name,
        exec_strategy=es,
        main_program=prog,
        num_trainers=1,
        trainer_id=0,
    )
    k = 0
    while True:
        try:
            c, l, t, r = pe.run(fetch_list=[acc.name, lm.name, total.name, lr.name])
            print(
                "step: %d lm %.6f total %.6f acc %.3f lr %.6f ppl %.4f"
                % (k, np.mean(l), np.mean(t), np.mean(c), np.mean(r), np.exp(np.mean(l)))
            )
            k += 1
        except fluid.core.EOFException:
            reader.reset()
            break
    for w in ("word_embedding", "pooled_fc.w_0", "encoder_layer_1_post_ffn_layer_norm_scale"):
        v = np.array(fluid.global_scope().find_var(w).get_tensor())
        print(w, "%.6f %.6f" % (v.sum(), np.abs(v).sum()))


main()

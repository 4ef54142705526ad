"""Seq2seq with the cell interface of 1.7/1.8: GRUCell/LSTMCell, rnn, BasicDecoder, helpers, BeamSearchDecoder."""

import argparse, contextlib
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.layers as layers
from paddle.fluid.layers import (
    GRUCell,
    LSTMCell,
    RNNCell,
    BeamSearchDecoder,
    dynamic_decode,
    BasicDecoder,
    TrainingHelper,
    GreedyEmbeddingHelper,
    SampleEmbeddingHelper,
    DecodeHelper,
)

V, E, H, T = 24, 12, 16, 6
BOS, EOS = 0, 1


class AttnCell(RNNCell):
    def __init__(self, hidden, name="attn"):
        self.hidden = hidden
        self.cell = LSTMCell(
            hidden,
            fluid.ParamAttr(name=name + "_w", initializer=fluid.initializer.Uniform(-0.1, 0.1)),
            fluid.ParamAttr(name=name + "_b"),
            name=name,
        )

    def attend(self, h, memory, mask):
        q = layers.unsqueeze(layers.fc(h, self.hidden, bias_attr=False, param_attr="attn_q"), [1])
        s = layers.matmul(q, memory, transpose_y=True) + layers.unsqueeze(mask, [1])
        return layers.squeeze(layers.matmul(layers.softmax(s), memory), [1])

    def call(self, inputs, states, memory, mask):
        (h, c), feed = states
        out, new = self.cell(layers.concat([inputs, feed], 1), [h, c])
        ctx = self.attend(out, memory, mask)
        o = layers.fc(
            layers.concat([ctx, out], 1), self.hidden, act="tanh", bias_attr=False, param_attr="attn_o"
        )
        return o, [new, o]


def encode(src, lens):
    emb = fluid.embedding(src, [V, E], param_attr="src_emb")
    fw, fstate = layers.rnn(GRUCell(H, name="fw"), emb, sequence_length=lens)
    bw, bstate = layers.rnn(GRUCell(H, name="bw"), emb, sequence_length=lens, is_reverse=True)
    mem = layers.fc(layers.concat([fw, bw], 2), H, num_flatten_dims=2, param_attr="mem")
    mask = (layers.sequence_mask(lens, maxlen=T, dtype="float32") - 1.0) * 1e9
    h0 = layers.fc(layers.concat([fstate, bstate], 1), H, act="tanh", param_attr="h0")
    return mem, mask, h0


def outputs(x):
    return layers.fc(x, V, num_flatten_dims=len(x.shape) - 1, param_attr="out_w", bias_attr="out_b")


def build(mode):
    src = fluid.data("src", [None, T], "int64")
    lens = fluid.data("lens", [None], "int64")
    mem, mask, h0 = encode(src, lens)
    zero = layers.fill_constant_batch_size_like(h0, [-1, H], "float32", 0.0)
    init = [[h0, zero], zero]
    cell = AttnCell(H)
    embed = lambda x: fluid.embedding(x, [V, E], param_attr="trg_emb")
    if mode == "train":
        trg = fluid.data("trg", [None, T], "int64")
        lab = fluid.data("lab", [None, T], "int64")
        tl = fluid.data("tl", [None], "int64")
        dec = BasicDecoder(cell, TrainingHelper(embed(trg), tl), output_fn=outputs)
        out, final, out_len = layers.dynamic_decode(
            dec, inits=init, is_test=False, return_length=True, memory=mem, mask=mask
        )
        logits = out.cell_outputs
        cost = layers.softmax_with_cross_entropy(logits, layers.unsqueeze(lab, [2]))
        m = layers.sequence_mask(tl, maxlen=T, dtype="float32")
        loss = layers.reduce_sum(layers.squeeze(cost, [2]) * m) / layers.reduce_sum(m)
        # unrolled twin trained beside the decoder
        seq, _ = layers.rnn(cell, embed(trg), init, sequence_length=tl, memory=mem, mask=mask)
        twin = layers.reduce_mean(layers.softmax_with_cross_entropy(outputs(seq), layers.unsqueeze(lab, [2])))
        return loss, twin, out_len
    if mode == "greedy":
        start = layers.fill_constant_batch_size_like(src, [-1], "int64", BOS)
        dec = BasicDecoder(cell, GreedyEmbeddingHelper(embed, start, EOS), output_fn=outputs)
        out, _ = layers.dynamic_decode(dec, inits=init, max_step_num=T, memory=mem, mask=mask)
        return [out.sample_ids]
    beam = BeamSearchDecoder(cell, BOS, EOS, 3, embedding_fn=embed, output_fn=outputs)
    tile = beam.tile_beam_merge_with_batch
    out, _ = layers.dynamic_decode(beam, inits=init, max_step_num=T, memory=tile(mem, 3), mask=tile(mask, 3))
    return [out]


def data(seed, n, batch):
    r = np.random.RandomState(seed)
    for _ in range(n):
        src = np.full((batch, T), EOS, "int64")
        trg = np.full((batch, T), EOS, "int64")
        lab = trg.copy()
        ls, tls = [], []
        for b in range(batch):
            k = r.randint(2, T) if b else T - 1
            w = r.randint(2, V, k)
            src[b, :k] = w
            o = w[::-1]
            trg[b, 0] = BOS
            trg[b, 1 : k + 1] = o
            lab[b, :k] = o
            ls.append(k)
            tls.append(k + 1)
        yield {
            "src": src,
            "lens": np.array(ls, "int64"),
            "trg": trg,
            "lab": lab,
            "tl": np.array(tls, "int64"),
        }


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--loss", default="twin")
    p.add_argument("--steps", type=int, default=60)
    a = p.parse_args()
    prog, start = fluid.Program(), fluid.Program()
    prog.random_seed = start.random_seed = 42
    with fluid.program_guard(prog, start), fluid.unique_name.guard():
        loss, twin, out_len = build("train")
        fluid.optimizer.Adam(5e-3, grad_clip=fluid.clip.GradientClipByNorm(2.0)).minimize(
            twin if a.loss == "twin" else loss
        )
    progs = {}
    for mode in ("greedy", "beam"):
        progs[mode] = fluid.Program()
        with fluid.program_guard(progs[mode], fluid.Program()), fluid.unique_name.guard():
            outs = build(mode)
            progs[mode] = (progs[mode], outs)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(start)
    print(sorted((v.name, v.shape) for v in prog.all_parameters())[:4], 1.0)
    for i, f in enumerate(data(1, a.steps, 8)):
        l, t, n = exe.run(prog, feed=f, fetch_list=[loss, twin, out_len])
        print("step %d loss %.6f twin %.6f lengths %d" % (i, l, t, n.sum()))
    f = next(data(9, 1, 4))
    for mode, (q, outs) in sorted(progs.items()):
        (o,) = exe.run(q, feed={k: f[k] for k in ("src", "lens")}, fetch_list=outs)
        print(mode, o.shape, "%.1f" % o.sum(), o.ravel()[:12].tolist())


main()

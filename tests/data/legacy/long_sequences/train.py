# -*- coding: utf-8 -*-
"""WaveNet vocoder, CRNN attention OCR, dialogue matching (DAM), poetry, tagging."""

import sys, os, numpy as np, math, itertools, six
import paddle.fluid as fluid, paddle.fluid.layers as layers
from paddle.fluid.layers.control_flow import StaticRNN as PaddingRNN
import paddle.fluid.layers.ops as ops
from paddle.fluid.framework import Program, program_guard

rng = np.random.RandomState(0)


def lod(rows, dtype='int64'):
    return fluid.create_lod_tensor(
        np.concatenate([np.array(r).reshape(len(r), -1) for r in rows]).astype(dtype),
        [[len(r) for r in rows]],
        fluid.CPUPlace(),
    )


def wavenet():
    x = fluid.data('mel', [None, 4, 20])
    y = fluid.data('wave', [None, 20, 1])
    t = fluid.data('target', [None, 20, 1], 'int64')
    h = layers.fc(y, 8, num_flatten_dims=2)
    h = layers.transpose(h, [0, 2, 1])
    skips = []
    for d in (1, 2, 4):
        p = layers.pad(layers.unsqueeze(h, [2]), [0, 0, 0, 0, 0, 0, d, 0])
        c = layers.conv2d(
            p, 16, (1, 2), dilation=(1, d), param_attr=fluid.ParamAttr(initializer=fluid.initializer.Xavier())
        )
        c = layers.squeeze(c, [2])
        cond = layers.squeeze(layers.conv2d(layers.unsqueeze(x, [2]), 16, 1), [2])
        a, b = layers.split(c + cond, 2, dim=1)
        g = layers.tanh(a) * layers.sigmoid(b)
        skips.append(layers.squeeze(layers.conv2d(layers.unsqueeze(g, [2]), 8, 1), [2]))
        h = (h + layers.squeeze(layers.conv2d(layers.unsqueeze(g, [2]), 8, 1), [2])) * math.sqrt(0.5)
    o = layers.relu(layers.sums(skips))
    logits = layers.fc(layers.transpose(o, [0, 2, 1]), 16, num_flatten_dims=2)
    loss = layers.reduce_mean(layers.softmax_with_cross_entropy(logits, t))
    mu = layers.slice(logits, [2], [0], [1])
    s = layers.clip(layers.slice(logits, [2], [1], [2]), -7.0, 7.0)
    ll = layers.reduce_mean(layers.square((y - mu) * layers.exp(-1.0 * s)) + s)
    return (
        [loss + 0.05 * ll, ll],
        lambda: dict(
            mel=rng.rand(2, 4, 20).astype('float32'),
            wave=rng.rand(2, 20, 1).astype('float32'),
            target=rng.randint(0, 16, (2, 20, 1)).astype('int64'),
        ),
        fluid.optimizer.Adam(layers.noam_decay(64, 10), beta2=0.98, epsilon=1e-9),
    )


def ocr_attention():
    images = layers.data('pixel', [1, 16, 32])
    li = layers.data('label_in', [1], dtype='int32', lod_level=1)
    lo = layers.data('label_out', [1], dtype='int32', lod_level=1)
    c = images
    for n in (8, 12):
        c = layers.pool2d(
            layers.batch_norm(
                layers.conv2d(
                    c,
                    n,
                    3,
                    padding=1,
                    bias_attr=fluid.ParamAttr(learning_rate=2.0),
                    param_attr=fluid.ParamAttr(initializer=fluid.initializer.Normal(0.0, 0.1)),
                ),
                act='relu',
            ),
            2,
            'max',
            2,
        )
    s = layers.im2sequence(input=c, stride=[1, 1], filter_size=[int(c.shape[2]), 1])
    f1, f2 = layers.fc(s, 24), layers.fc(s, 24)
    gf, gb = layers.dynamic_gru(f1, 8, candidate_activation='relu'), layers.dynamic_gru(
        f2, 8, is_reverse=True, candidate_activation='relu'
    )
    enc = layers.concat([gf, gb], 1)
    proj = layers.fc(enc, 8, bias_attr=False)
    boot = layers.fc(layers.sequence_pool(gb, 'first'), 8, act='relu', bias_attr=False)
    emb = layers.embedding(layers.cast(li, 'int64'), [12, 6])
    rnn = layers.DynamicRNN()
    with rnn.block():
        w = rnn.step_input(emb)
        v = rnn.static_input(enc)
        pr = rnn.static_input(proj)
        mem = rnn.memory(init=boot, need_reorder=True)
        ds = layers.fc(mem, 8, bias_attr=False)
        ex = layers.sequence_expand(ds, pr)
        conc = layers.tanh(pr + ex)
        aw = layers.sequence_softmax(layers.fc(conc, 1, bias_attr=False))
        ctx = layers.sequence_pool(layers.elementwise_mul(v, layers.reshape(aw, [-1]), axis=0), 'sum')
        fc1 = layers.fc(ctx, 24, bias_attr=False)
        fc2 = layers.fc(w, 24, bias_attr=False)
        h, _, _ = layers.gru_unit(fc1 + fc2, mem, 24)
        rnn.update_memory(mem, h)
        rnn.output(layers.fc(h, 12, act='softmax'))
    p = rnn()
    cost = layers.cross_entropy(p, layers.cast(lo, 'int64'))
    _, mx = layers.topk(p, 1)
    ed, n = (
        layers.edit_distance(
            layers.cast(layers.ctc_greedy_decoder(p, 0), 'int64'),
            layers.cast(lo, 'int64'),
            ignored_tokens=[0, 1],
        )
        if False
        else (layers.reduce_sum(cost), layers.shape(mx))
    )

    def feed():
        ls = [rng.randint(2, 12, rng.randint(2, 5)) for _ in range(4)]
        return dict(
            pixel=rng.rand(4, 1, 16, 32).astype('float32'),
            label_in=lod([[0] + list(l) for l in ls], 'int32'),
            label_out=lod([list(l) + [1] for l in ls], 'int32'),
        )

    return (
        [layers.mean(cost), ed],
        feed,
        fluid.optimizer.Adadelta(0.5, 1e-6, 0.9, regularization=fluid.regularizer.L2Decay(0.0004)),
    )


def dam():
    T, N, E = 3, 5, 6
    turns = [layers.data('turn_%d' % i, [N, 1], dtype='int64') for i in range(T)]
    tm = [layers.data('turn_mask_%d' % i, [N, 1]) for i in range(T)]
    r = layers.data('response', [N, 1], dtype='int64')
    rm = layers.data('response_mask', [N, 1])
    y = layers.data('label', [1])
    emb = lambda v: layers.embedding(
        v,
        [30, E + 1],
        param_attr=fluid.ParamAttr(name='word_embedding', initializer=fluid.initializer.Normal(scale=0.1)),
    )

    def block(name, q, k, v, mq, mk):
        a = layers.softmax(
            layers.matmul(layers.scale(q, (E + 1) ** -0.5), k, transpose_y=True)
            + layers.scale(
                layers.matmul(mq, mk, transpose_y=True), 1e5, -1e5 if False else -1.0, bias_after_scale=False
            )
        )
        x = layers.layer_norm(
            layers.matmul(a, v) + q, begin_norm_axis=2, param_attr=name + 'ls', bias_attr=name + 'lb'
        )
        return layers.layer_norm(
            layers.fc(
                layers.fc(
                    x, 8, num_flatten_dims=2, act='relu', param_attr=name + 'w1', bias_attr=name + 'b1'
                ),
                E + 1,
                num_flatten_dims=2,
                param_attr=name + 'w2',
                bias_attr=name + 'b2',
            )
            + x,
            begin_norm_axis=2,
            param_attr=name + 'ms',
            bias_attr=name + 'mb',
        )

    re = emb(r)
    sims = []
    for t, m in zip(turns, tm):
        te = emb(t)
        a = block('self_', te, te, te, m, m)
        b = block('cross_', te, re, re, m, rm)
        sims.append(
            layers.stack(
                [
                    layers.matmul(te, re, transpose_y=True),
                    layers.matmul(a, re, transpose_y=True),
                    layers.matmul(b, re, transpose_y=True),
                ],
                axis=1,
            )
        )
    sim = layers.stack(sims, axis=2)
    c = layers.pool3d(
        layers.conv3d(
            sim,
            4,
            [3, 3, 3],
            padding=1,
            act='elu',
            param_attr=fluid.ParamAttr(name='c0', initializer=fluid.initializer.Uniform(-0.01, 0.01)),
        ),
        2,
        'max',
        2,
    )
    f = layers.flatten(c, axis=1)
    f = layers.fc(f, 1)
    loss = layers.reduce_mean(layers.clip(layers.sigmoid_cross_entropy_with_logits(f, y), -10, 10))

    def feed():
        d = {'turn_%d' % i: rng.randint(0, 30, (4, N, 1)).astype('int64') for i in range(T)}
        d.update({'turn_mask_%d' % i: (rng.rand(4, N, 1) > 0.2).astype('float32') for i in range(T)})
        d.update(
            response=rng.randint(0, 30, (4, N, 1)).astype('int64'),
            response_mask=np.ones((4, N, 1), 'float32'),
            label=rng.randint(0, 2, (4, 1)).astype('float32'),
        )
        return d

    return (
        [loss, layers.sigmoid(f)],
        feed,
        fluid.optimizer.Adam(layers.exponential_decay(0.01, 2, 0.9, staircase=True)),
    )


def poem():
    V = 20
    s = layers.data('src', [7, 1], dtype='int64')
    t = layers.data('tgt', [7, 1], dtype='int64')
    e = layers.embedding(s, [V, 10], is_sparse=True)
    L = 2
    ih = layers.fill_constant_batch_size_like(e, [-1, L, 10], 'float32', 0.0)
    ih = layers.transpose(ih, [1, 0, 2])
    e2 = layers.transpose(e, [1, 0, 2])
    hid, cell = [layers.reshape(layers.slice(ih, [0], [k], [k + 1]), [-1, 10]) for k in range(L)], [
        layers.reshape(layers.slice(ih, [0], [k], [k + 1]), [-1, 10]) for k in range(L)
    ]
    rnn = PaddingRNN()
    with rnn.step():
        x = rnn.step_input(e2)
        for k in range(L):
            ph, pc = rnn.memory(init=hid[k]), rnn.memory(init=cell[k])
            W = layers.create_parameter(
                [20, 40],
                'float32',
                name='fc_weight1_%d' % k,
                default_initializer=fluid.initializer.UniformInitializer(-0.1, 0.1),
            )
            b = layers.create_parameter(
                [40], 'float32', name='fc_bias1_%d' % k, default_initializer=fluid.initializer.Constant(0.0)
            )
            g = layers.elementwise_add(layers.matmul(x=layers.concat([x, ph], 1), y=W), b)
            i = layers.slice(g, axes=[1], starts=[0], ends=[10])
            j = layers.slice(g, axes=[1], starts=[10], ends=[20])
            f = layers.slice(g, axes=[1], starts=[20], ends=[30])
            o = layers.slice(g, axes=[1], starts=[30], ends=[40])
            c = pc * layers.sigmoid(f) + layers.sigmoid(i) * layers.tanh(j)
            m = layers.tanh(c) * layers.sigmoid(o)
            rnn.update_memory(ph, m)
            rnn.update_memory(pc, c)
            rnn.step_output(m)
            x = layers.dropout(m, 0.2, dropout_implementation='upscale_in_train', seed=k + 1)
        rnn.step_output(x)
    outs = rnn()
    out = layers.transpose(outs[-1], [1, 0, 2])
    logit = layers.fc(out, V, num_flatten_dims=2)
    loss = layers.softmax_with_cross_entropy(layers.reshape(logit, [-1, V]), layers.reshape(t, [-1, 1]))
    loss = layers.reduce_sum(layers.reduce_mean(layers.reshape(loss, [-1, 7]), dim=[0]))
    loss.persistable = True
    i0 = layers.fill_constant([1], 'int64', 0)
    n = layers.fill_constant([1], 'int64', 4)
    arr = layers.create_array('int64')
    cur = layers.fill_constant_batch_size_like(e, [-1, 1], 'int64', 3)
    layers.array_write(cur, i0, arr)
    cond = layers.less_than(i0, n)
    wh = layers.While(cond)
    with wh.block():
        pv = layers.array_read(arr, i0)
        q = layers.fc(layers.embedding(pv, [V, 10], param_attr='gen_e'), V, param_attr='gen_w')
        _, k = layers.topk(q, 1)
        layers.increment(i0, 1, in_place=True)
        layers.array_write(layers.cast(k, 'int64'), i0, arr)
        layers.less_than(i0, n, cond=cond)
    gen, lens = layers.tensor_array_to_tensor(arr, axis=1)
    return (
        [loss, gen],
        lambda: dict(
            src=rng.randint(0, V, (3, 7, 1)).astype('int64'), tgt=rng.randint(0, V, (3, 7, 1)).astype('int64')
        ),
        fluid.optimizer.SGD(1.0, grad_clip=fluid.clip.GradientClipByGlobalNorm(5.0)),
    )


def tagger():
    w = fluid.data('word', [None, 1], 'int64', lod_level=1)
    y = fluid.data('y', [None, 1], 'int64', lod_level=1)
    e = fluid.embedding(layers.squeeze(w, [1]) if False else w, [40, 8])
    e = layers.reshape(e, [-1, 8])
    e = layers.lod_reset(e, w)
    h = e
    for k in range(2):
        h = layers.concat(
            [
                layers.dynamic_gru(layers.fc(h, 18), 6, h_0=None, origin_mode=bool(k)),
                layers.dynamic_gru(layers.fc(h, 18), 6, is_reverse=True),
            ],
            1,
        )
    em = layers.fc(
        h, 5, bias_attr=False, param_attr=fluid.ParamAttr(regularizer=fluid.regularizer.L2Decay(1e-4))
    )
    crf = layers.linear_chain_crf(em, y, param_attr=fluid.ParamAttr(name='crfw', learning_rate=0.2))
    dec = layers.crf_decoding(em, param_attr=fluid.ParamAttr(name='crfw'))
    pr, rc, f1, ni, nl, nc = layers.chunk_eval(dec, y, 'IOB', 2)

    def feed():
        a = [rng.randint(0, 40, rng.randint(2, 6)) for _ in range(4)]
        return dict(word=lod(a), y=lod([x % 5 for x in a]))

    return (
        [layers.mean(crf), f1, nc],
        feed,
        (
            fluid.optimizer.Dpsgd(0.05, clip=10.0, batch_size=4.0, sigma=0.0)
            if False
            else fluid.optimizer.Adamax(0.05)
        ),
    )


for name in sys.argv[1:] or ['wavenet', 'ocr_attention', 'dam', 'poem', 'tagger']:
    rng.seed(5)
    main, start = fluid.Program(), fluid.Program()
    main.random_seed = start.random_seed = 17
    with fluid.program_guard(main, start), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        try:
            outs, feed, opt = globals()[name]()
            test = main.clone(for_test=True)
            opt.minimize(outs[0])
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(start)
            for i in range(8):
                o = [np.array(v) for v in exe.run(main, feed=feed(), fetch_list=outs, return_numpy=False)]
                print(name, i, ' '.join('%.5f' % np.mean(v) for v in o))
            o = [np.array(v) for v in exe.run(test, feed=feed(), fetch_list=outs, return_numpy=False)]
            print(name, 'test', ' '.join('%.5f' % np.mean(v) for v in o))
            print(name, [[op.type for op in b.ops] for b in main.blocks])
            print(name, [(p.name, tuple(p.shape)) for p in main.all_parameters()])
        except Exception as e:
            print('FAILED', name, type(e).__name__, ' | '.join(str(e).strip().splitlines()[-4:])[:300])

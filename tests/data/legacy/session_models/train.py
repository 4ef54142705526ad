# encoding=utf-8
import os, sys, time, logging, random, argparse
import numpy as np
import paddle, paddle.fluid as fluid

logging.basicConfig(format='%(levelname)s %(message)s', stream=sys.stdout)
logger = logging.getLogger("fluid")
logger.setLevel(logging.INFO)


def parse_args():
    p = argparse.ArgumentParser("PaddleRec")
    p.add_argument("--model", type=str, default="mmoe")
    p.add_argument("--steps", type=int, default=8)
    p.add_argument('--seed', type=int, default=7)
    return p.parse_args()


rng = np.random.RandomState(1)


def lod(rows, dtype='int64'):
    t = fluid.create_lod_tensor(
        np.concatenate([np.array(r).reshape(len(r), -1) for r in rows]).astype(dtype),
        [[len(r) for r in rows]],
        fluid.CPUPlace(),
    )
    return t


def mmoe():
    x = fluid.data("x", [None, 20])
    l1 = fluid.data("l1", [None, 2])
    l2 = fluid.data("l2", [None, 2])
    experts = [
        fluid.layers.fc(x, 8, act='relu', bias_attr=fluid.ParamAttr(learning_rate=1.0), name='expert_%d' % i)
        for i in range(4)
    ]
    ec = fluid.layers.reshape(fluid.layers.concat(experts, axis=1), [-1, 4, 8])
    outs = []
    for i in range(2):
        g = fluid.layers.fc(x, 4, act='softmax', name='gate_%d' % i)
        ge = fluid.layers.elementwise_mul(ec, g, axis=0)
        t = fluid.layers.fc(fluid.layers.reduce_sum(ge, dim=1), 6, act='relu', name='tower_%d' % i)
        o = fluid.layers.fc(t, 2, act='softmax', name='out_%d' % i)
        outs.append(fluid.layers.clip(o, min=1e-15, max=1.0 - 1e-15))
    c = fluid.layers.elementwise_add(
        fluid.layers.reduce_mean(fluid.layers.cross_entropy(outs[0], l1, soft_label=True)),
        fluid.layers.reduce_mean(fluid.layers.cross_entropy(outs[1], l2, soft_label=True)),
    )
    aucs = [
        fluid.layers.auc(
            input=o, label=fluid.layers.cast(fluid.layers.slice(l, axes=[1], starts=[1], ends=[2]), 'int64')
        )[0]
        for o, l in zip(outs, (l1, l2))
    ]

    def feed():
        a = rng.rand(16, 20).astype('float32')
        y1, y2 = (a[:, 0] > 0.5).astype(int), (a[:, 1] + a[:, 2] > 1).astype(int)
        return {'x': a, 'l1': np.eye(2, dtype='float32')[y1], 'l2': np.eye(2, dtype='float32')[y2]}

    return c, aucs, feed, fluid.optimizer.Adam(0.01)


def gnn():
    N, H, B = 6, 8, 5
    items = fluid.data("items", [B, N], 'int64')
    seq = fluid.data("seq_index", [B, N, 2], 'int32')
    last = fluid.data("last_index", [B, 2], 'int32')
    ain = fluid.data("adj_in", [B, N, N])
    aout = fluid.data("adj_out", [B, N, N])
    mask = fluid.data("mask", [B, N, 1])
    label = fluid.data("label", [B, 1], 'int64')
    st = 1.0 / np.sqrt(H)
    init = fluid.initializer.Uniform(low=-st, high=st)
    items_emb = fluid.embedding(items, size=[30, H], param_attr=fluid.ParamAttr(name="emb", initializer=init))
    pre = items_emb
    for i in range(2):
        s = fluid.layers.reshape(pre, [B, N, H])
        si = fluid.layers.fc(
            s,
            H,
            num_flatten_dims=2,
            name="state_in",
            param_attr=fluid.ParamAttr(initializer=init),
            bias_attr=fluid.ParamAttr(initializer=init),
        )
        so = fluid.layers.fc(
            s, H, num_flatten_dims=2, name="state_out", param_attr=fluid.ParamAttr(initializer=init)
        )
        sc = fluid.layers.concat([fluid.layers.matmul(ain, si), fluid.layers.matmul(aout, so)], axis=2)
        gi = fluid.layers.fc(sc, 3 * H, name="gru_fc", num_flatten_dims=2, bias_attr=False)
        pre, _, _ = fluid.layers.gru_unit(
            input=fluid.layers.reshape(gi, [B * N, 3 * H]),
            hidden=fluid.layers.reshape(s, [B * N, H]),
            size=3 * H,
        )
    final = fluid.layers.reshape(pre, [B, N, H])
    seq_e = fluid.layers.gather_nd(final, seq)
    last_e = fluid.layers.gather_nd(final, last)
    sf = fluid.layers.fc(seq_e, H, num_flatten_dims=2, bias_attr=False)
    lf = fluid.layers.fc(last_e, H, bias_attr=False)
    sl = fluid.layers.elementwise_add(fluid.layers.transpose(sf, [1, 0, 2]), lf)
    b = fluid.layers.create_parameter([H], 'float32', default_initializer=fluid.initializer.Constant(0.0))
    w = fluid.layers.fc(
        fluid.layers.transpose(fluid.layers.sigmoid(sl + b), [1, 0, 2]),
        1,
        num_flatten_dims=2,
        act=None,
        bias_attr=False,
    )
    w = fluid.layers.elementwise_mul(w, mask)
    wm = fluid.layers.elementwise_mul(seq_e, w, axis=0)
    g = fluid.layers.reduce_sum(wm, dim=1)
    f = fluid.layers.fc(fluid.layers.concat([g, last_e], axis=1), H, bias_attr=False)
    allv = fluid.layers.create_global_var(
        shape=[29], value=0, dtype='int64', persistable=True, name='all_vocab'
    )
    ae = fluid.embedding(allv, size=[30, H], param_attr=fluid.ParamAttr(name='emb'))
    logits = fluid.layers.matmul(f, ae, transpose_y=True)
    loss = fluid.layers.softmax_with_cross_entropy(logits, label)
    acc = fluid.layers.accuracy(logits, label, k=20)

    def feed():
        fluid.global_scope().find_var('all_vocab').get_tensor().set(
            np.arange(1, 30).astype('int64'), fluid.CPUPlace()
        )
        it = rng.randint(1, 30, (B, N))
        sq = np.stack([np.repeat(np.arange(B)[:, None], N, 1), rng.randint(0, N, (B, N))], 2)
        return {
            'items': it.astype('int64'),
            'seq_index': sq.astype('int32'),
            'last_index': np.stack([np.arange(B), rng.randint(0, N, B)], 1).astype('int32'),
            'adj_in': rng.rand(B, N, N).astype('float32'),
            'adj_out': rng.rand(B, N, N).astype('float32'),
            'mask': (rng.rand(B, N, 1) > 0.3).astype('float32'),
            'label': rng.randint(0, 29, (B, 1)).astype('int64'),
        }

    return (
        fluid.layers.reduce_mean(loss),
        [acc],
        feed,
        fluid.optimizer.Adam(
            fluid.layers.exponential_decay(0.01, 4, 0.5, staircase=True),
            regularization=fluid.regularizer.L2DecayRegularizer(1e-5),
        ),
    )


def din():
    hist = fluid.data("hist", [None, 5, 1], 'int64')
    tgt = fluid.data("tgt", [None, 1], 'int64')
    msk = fluid.data("mask", [None, 5, 1])
    label = fluid.data("label", [None, 1])
    emb = lambda v: fluid.layers.embedding(v, [40, 8], is_sparse=True, param_attr='item')
    h, t = emb(hist), emb(tgt)
    te = fluid.layers.expand(fluid.layers.unsqueeze(t, [1]), [1, 5, 1]) if len(t.shape) == 2 else t
    c = fluid.layers.concat([h, te, h - te, h * te], axis=2)
    a = (
        fluid.layers.fc(fluid.layers.fc(c, 12, act='sigmoid', num_flatten_dims=2), 1, num_flatten_dims=2)
        + msk
    )
    w = fluid.layers.softmax(fluid.layers.scale(fluid.layers.transpose(a, [0, 2, 1]), 8**-0.5))
    o = fluid.layers.reshape(fluid.layers.matmul(w, h), [-1, 8])
    o = fluid.layers.batch_norm(o)
    b = fluid.layers.embedding(tgt, [40, 1], param_attr=fluid.initializer.Constant(0.0))
    x = fluid.layers.fc([o, t], 10, act='prelu' if False else 'tanh')
    logit = fluid.layers.fc(x, 1) + fluid.layers.reshape(b, [-1, 1])
    loss = fluid.layers.mean(fluid.layers.sigmoid_cross_entropy_with_logits(logit, label))

    def feed():
        return {
            'hist': rng.randint(0, 40, (8, 5, 1)).astype('int64'),
            'tgt': rng.randint(0, 40, (8, 1)).astype('int64'),
            'mask': np.where(rng.rand(8, 5, 1) > 0.7, -1e9, 0).astype('float32'),
            'label': rng.randint(0, 2, (8, 1)).astype('float32'),
        }

    fluid.clip.set_gradient_clip(clip=fluid.clip.GradientClipByGlobalNorm(clip_norm=5.0))
    return (
        loss,
        [fluid.layers.sigmoid(logit)],
        feed,
        fluid.optimizer.SGD(fluid.layers.piecewise_decay([3, 6], [0.5, 0.1, 0.05])),
    )


def gru4rec():
    src = fluid.layers.data("src_wordseq", [1], dtype='int64', lod_level=1)
    dst = fluid.layers.data("dst_wordseq", [1], dtype='int64', lod_level=1)
    e = fluid.layers.embedding(
        src,
        [50, 12],
        param_attr=fluid.ParamAttr(initializer=fluid.initializer.Uniform(-0.1, 0.1), learning_rate=10.0),
        is_sparse=False,
    )
    f = fluid.layers.fc(
        e,
        3 * 12,
        param_attr=fluid.ParamAttr(initializer=fluid.initializer.Uniform(-0.1, 0.1), learning_rate=1.0),
    )
    g = fluid.layers.dynamic_gru(
        f, 12, param_attr=fluid.ParamAttr(initializer=fluid.initializer.Uniform(-0.1, 0.1))
    )
    o = fluid.layers.fc(g, 50, act='softmax')
    cost = fluid.layers.cross_entropy(o, dst)
    acc = fluid.layers.accuracy(o, dst, k=20)
    neg = fluid.layers.bpr_loss(o, dst)

    def feed():
        s = [rng.randint(0, 50, rng.randint(2, 7)) for _ in range(5)]
        return {'src_wordseq': lod(s), 'dst_wordseq': lod([np.roll(x, -1) for x in s])}

    return fluid.layers.mean(cost) + 0.1 * fluid.layers.mean(neg), [acc], feed, fluid.optimizer.Adagrad(0.1)


def tagspace():
    text = fluid.layers.data("text", [1], lod_level=1, dtype='int64')
    pos = fluid.layers.data("pos_tag", [1], lod_level=1, dtype='int64')
    neg = fluid.layers.data("neg_tag", [1], lod_level=1, dtype='int64')
    te = fluid.layers.embedding(text, [60, 8], param_attr='text_emb')
    pe = fluid.layers.embedding(pos, [9, 8], param_attr='tag_emb')
    ne = fluid.layers.embedding(neg, [9, 8], param_attr='tag_emb')
    conv = fluid.nets.sequence_conv_pool(
        te, num_filters=8, filter_size=3, act='tanh', pool_type='max', param_attr='cnn'
    )
    h = fluid.layers.fc(conv, 8, param_attr='text_hid')
    cp = fluid.layers.cos_sim(pe, h)
    m = fluid.layers.sequence_expand(h, ne)
    cn = fluid.layers.reduce_max(
        fluid.layers.reshape(fluid.layers.cos_sim(ne, m), [-1, 3]), dim=1, keep_dim=True
    )
    loss = fluid.layers.elementwise_add(
        fluid.layers.elementwise_sub(
            fluid.layers.fill_constant_batch_size_like(cp, [-1, 1], 'float32', 0.1), cp
        ),
        cn,
    )
    z = fluid.layers.fill_constant_batch_size_like(loss, [-1, 1], 'float32', 0.0)
    loss = fluid.layers.mean(fluid.layers.elementwise_max(z, loss))
    correct = fluid.layers.reduce_mean(fluid.layers.cast(fluid.layers.less_than(cn, cp), 'float32'))

    def feed():
        return {
            'text': lod([rng.randint(0, 60, rng.randint(3, 8)) for _ in range(6)]),
            'pos_tag': lod([[i % 9] for i in range(6)]),
            'neg_tag': lod([rng.randint(0, 9, 3) for _ in range(6)]),
        }

    return loss, [correct], feed, fluid.optimizer.Adagrad(0.05)


def simnet():
    qs = [fluid.layers.data("q%d" % i, [1], lod_level=1, dtype='int64') for i in range(2)]
    p = fluid.layers.data("pt", [1], lod_level=1, dtype='int64')
    n = fluid.layers.data("nt", [1], lod_level=1, dtype='int64')
    enc = lambda vs, nm: fluid.layers.concat(
        [
            fluid.layers.sequence_pool(
                fluid.layers.dynamic_lstm(
                    fluid.layers.fc(
                        fluid.layers.embedding(v, [50, 6], padding_idx=0, param_attr='__e__'),
                        28,
                        param_attr=nm + 'w%d' % i,
                    ),
                    28,
                    param_attr=nm + 'lw%d' % i,
                    bias_attr=nm + 'lb%d' % i,
                    use_peepholes=False,
                )[0],
                'last',
            )
            for i, v in enumerate(vs)
        ],
        1,
    )
    q = fluid.layers.fc(enc(qs, 'q'), 8, name='q_fc')
    tp, tn = (fluid.layers.fc(enc([v], 't'), 8, param_attr='tfc_w', bias_attr='tfc_b') for v in (p, n))
    cp, cn = fluid.layers.cos_sim(q, tp), fluid.layers.cos_sim(q, tn)
    r = fluid.layers.rank_loss(
        fluid.layers.fill_constant_batch_size_like(cp, [-1, 1], 'float32', 1.0), cp, cn
    )
    m = fluid.layers.margin_rank_loss(
        fluid.layers.fill_constant_batch_size_like(cp, [-1, 1], 'float32', 1.0), cp, cn, margin=0.1
    )

    def feed():
        return dict(
            (k, lod([rng.randint(0, 50, rng.randint(1, 6)) for _ in range(5)]))
            for k in ('q0', 'q1', 'pt', 'nt')
        )

    return fluid.layers.mean(m) + fluid.layers.mean(r), [cp], feed, fluid.optimizer.Adam(0.02)


def fm():
    ids = fluid.layers.data("ids", [4, 1], dtype='int64')
    val = fluid.layers.data("val", [4])
    y = fluid.layers.data("y", [1])
    init = fluid.initializer.TruncatedNormalInitializer(loc=0.0, scale=0.1)
    first = fluid.layers.reduce_sum(
        fluid.layers.reshape(
            fluid.layers.embedding(
                ids,
                [100, 1],
                padding_idx=0,
                param_attr=fluid.ParamAttr(
                    initializer=init, regularizer=fluid.regularizer.L1DecayRegularizer(1e-4)
                ),
            ),
            [-1, 4],
        )
        * val,
        1,
        keep_dim=True,
    )
    e = fluid.layers.reshape(
        fluid.layers.embedding(ids, [100, 5], padding_idx=0, param_attr=fluid.ParamAttr(initializer=init)),
        [-1, 4, 5],
    ) * fluid.layers.reshape(val, [-1, 4, 1])
    second = 0.5 * fluid.layers.reduce_sum(
        fluid.layers.square(fluid.layers.reduce_sum(e, 1))
        - fluid.layers.reduce_sum(fluid.layers.square(e), 1),
        1,
        keep_dim=True,
    )
    X = e
    hs = []
    for i, k in enumerate([6, 4]):  # xDeepFM CIN
        z = fluid.layers.matmul(
            fluid.layers.reshape(
                fluid.layers.stack(
                    fluid.layers.unstack(fluid.layers.transpose(X, [0, 2, 1]), axis=1, num=5), 1
                ),
                [-1, 5, int(X.shape[1]), 1],
            ),
            fluid.layers.reshape(fluid.layers.transpose(e, [0, 2, 1]), [-1, 5, 1, 4]),
        )
        z = fluid.layers.transpose(fluid.layers.reshape(z, [-1, 5, int(X.shape[1]) * 4]), [0, 2, 1])
        z = fluid.layers.reshape(z, [-1, int(z.shape[1]), 1, 5])
        c = fluid.layers.conv2d(z, k, filter_size=[1, 1], bias_attr=False)
        X = fluid.layers.reshape(c, [-1, k, 5])
        hs.append(fluid.layers.reduce_sum(X, 2))
    p = fluid.layers.sigmoid(first + second + fluid.layers.fc(hs, 1))
    loss = fluid.layers.mean(fluid.layers.log_loss(p, y))
    p2 = fluid.layers.concat([1.0 - p, p], 1)
    auc, bauc, states = fluid.layers.auc(
        p2, fluid.layers.cast(y, 'int64'), num_thresholds=2**12 - 1, slide_steps=3
    )

    def feed():
        return {
            'ids': rng.randint(0, 100, (12, 4, 1)).astype('int64'),
            'val': rng.rand(12, 4).astype('float32'),
            'y': rng.randint(0, 2, (12, 1)).astype('float32'),
        }

    return loss, [auc, bauc], feed, fluid.optimizer.Ftrl(0.1, l1=1e-3, l2=1e-3)


if __name__ == '__main__':
    args = parse_args()
    for name in ['mmoe', 'gnn', 'din', 'gru4rec', 'tagspace', 'simnet', 'fm']:
        logger.info('model %s', name)
        main, start, scope = fluid.Program(), fluid.Program(), fluid.Scope()
        main.random_seed = start.random_seed = args.seed
        with fluid.program_guard(main, start), fluid.unique_name.guard(), fluid.scope_guard(scope):
            try:
                cost, extra, feed, opt = globals()[name]()
                test = main.clone(for_test=True)
                opt.minimize(cost)
                exe = fluid.Executor(fluid.CPUPlace())
                exe.run(start)
                for i in range(args.steps):
                    out = exe.run(main, feed=feed(), fetch_list=[cost] + extra, return_numpy=False)
                    out = [np.array(o) for o in out]
                    logger.info(
                        "step %d loss %s extra %s"
                        % (i, '%.6f' % out[0], ' '.join('%.5f' % np.mean(o) for o in out[1:]))
                    )
                out = exe.run(test, feed=feed(), fetch_list=[cost] + extra, return_numpy=False)
                out = [np.array(o) for o in out]
                logger.info('test %s' % [round(float(np.mean(o)), 5) for o in out])
                fluid.io.save_persistables(exe, 'out/' + name, main)
                print(sorted(os.listdir('out/' + name))[:40])
                print([o.type for o in main.global_block().ops])
            except Exception as e:
                print('FAILED', name, type(e).__name__, str(e).strip().splitlines()[-3:])
        fluid.clip.set_gradient_clip(None) if False else None

# -*- coding: utf-8 -*-
from __future__ import print_function, division
import sys, os, math, random, functools, codecs, logging
import numpy as np
import paddle
import paddle.fluid as fluid
from paddle.fluid import ParamAttr
from paddle.fluid.contrib.decoder.beam_search_decoder import InitState, StateCell, TrainingDecoder, BeamSearchDecoder
import paddle.fluid.layers as pd
L = fluid.layers
place = fluid.CPUPlace()
def pad_lod(seqs, dtype='int64', dim=1):
    return fluid.create_lod_tensor(np.concatenate([np.asarray(s).reshape(-1, dim) for s in seqs]).astype(dtype), [[len(s) for s in seqs]], place)
class Net(object):
    def __init__(self, name, steps=8):
        self.name, self.steps = name, steps
        self.main, self.startup = fluid.Program(), fluid.Program()
        self.main.random_seed = self.startup.random_seed = 31
    def run(self, build, feed, opt=None):
        rng = np.random.RandomState(len(self.name))
        with fluid.program_guard(self.main, self.startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
            fetch = build()
            (opt or fluid.optimizer.Adam(0.01)).minimize(fetch[0])
            exe = fluid.Executor(place)
            exe.run(self.startup)
            for i in range(self.steps):
                out = exe.run(self.main, feed=feed(rng), fetch_list=fetch)
                print(self.name, i, ' '.join('%.6f' % float(np.mean(o)) for o in out))
            ps = self.main.all_parameters()
            print(self.name, len(ps), sorted(p.name for p in ps)[:40])
            print(self.name, 'params %.5f' % sum(np.abs(np.array(fluid.global_scope().find_var(p.name).get_tensor())).sum() for p in ps))

# --- XLNet-like two stream with relative shift, memory
def xlnet():
    B, T, D, H, V = 3, 6, 16, 2, 19
    ids = fluid.data('ids', [T, B, 1], 'int64'); lab = fluid.data('lab', [T, B, 1], 'int64'); perm = fluid.data('perm', [T, T, B, 1], 'float32')
    init = fluid.initializer.Normal(0.0, 0.02)
    emb = L.embedding(ids, [V, D], param_attr=ParamAttr(name='model_transformer_word_embedding_lookup_table', initializer=init))
    h = L.dropout(emb, 0.1, dropout_implementation='upscale_in_train')
    q = L.expand(L.reshape(L.create_parameter([1, 1, D], 'float32', name='mask_emb', default_initializer=init), [1, 1, D]), [T, B, 1])
    freq = np.arange(0, D, 2.0); inv = 1 / (10000 ** (freq / D))
    pos = np.arange(T, -T, -1.0); sin = np.outer(pos, inv)
    pe = L.assign(np.concatenate([np.sin(sin), np.cos(sin)], -1)[:, None, :].astype('float32'))
    pe = L.expand(pe, [1, B, 1])
    def proj(x, name):
        w = L.create_parameter([D, H * (D // H)], 'float32', name=name, default_initializer=init)
        y = L.matmul(L.reshape(x, [-1, D]), w)
        return L.reshape(y, [x.shape[0], -1, H, D // H])
    def rel_shift(x, klen):
        s = x.shape
        x = L.reshape(x, [s[1], s[0], s[2], s[3]])
        x = L.slice(x, axes=[0], starts=[1], ends=[s[1]])
        x = L.reshape(x, [s[0], s[1] - 1, s[2], s[3]])
        return L.slice(x, axes=[1], starts=[0], ends=[klen])
    r_w = L.create_parameter([H, D // H], 'float32', name='r_w_bias', default_initializer=init)
    r_r = L.create_parameter([H, D // H], 'float32', name='r_r_bias', default_initializer=init)
    k, v, r = proj(h, 'k_w'), proj(h, 'v_w'), proj(pe, 'r_w')
    def einsum_ibnd_jbnd(x, y):  # -> i j b n
        xt, yt = L.transpose(x, [1, 2, 0, 3]), L.transpose(y, [1, 2, 0, 3])
        return L.transpose(L.matmul(xt, yt, transpose_y=True), [2, 3, 0, 1])
    def core(qh, mask):
        ac = einsum_ibnd_jbnd(L.elementwise_add(qh, r_w, 2), k)
        bd = rel_shift(einsum_ibnd_jbnd(L.elementwise_add(qh, r_r, 2), r), T)
        score = (ac + bd) * (1.0 / math.sqrt(D // H))
        score = L.elementwise_sub(score, L.expand(mask, [1, 1, 1, H]) * 1e30)
        p = L.transpose(L.softmax(L.transpose(score, [0, 2, 3, 1])), [1, 2, 0, 3])  # b n i j
        out = L.matmul(p, L.transpose(v, [1, 2, 0, 3]))
        return L.reshape(L.transpose(out, [2, 0, 1, 3]), [T, -1, D])
    def post(x, a, name):
        o = L.fc(a, D, num_flatten_dims=2, bias_attr=False, param_attr=ParamAttr(name=name + '_o', initializer=init))
        x = L.layer_norm(x + o, begin_norm_axis=2, epsilon=1e-12, param_attr=ParamAttr(name='ln_s'), bias_attr=ParamAttr(name='ln_b'))
        f = L.fc(L.fc(x, 32, num_flatten_dims=2, act='gelu', param_attr=ParamAttr(name='ff1'), bias_attr='ff1b'), D, num_flatten_dims=2, param_attr=ParamAttr(name='ff2'), bias_attr='ff2b')
        return L.layer_norm(x + f, begin_norm_axis=2, epsilon=1e-12, param_attr=ParamAttr(name='ln2_s'), bias_attr=ParamAttr(name='ln2_b'))
    eye = L.assign(np.eye(T)[:, :, None, None].astype('float32'))
    content_mask = L.cast(L.greater_than(L.elementwise_sub(perm, L.expand(eye, [1, 1, B, 1])), L.fill_constant([1], 'float32', 0.)), 'float32')
    h2 = post(h, core(proj(h, 'q_w'), content_mask), 'x')
    g2 = post(q, core(proj(q, 'q_w'), perm), 'x')
    w = fluid.default_main_program().global_block().var('model_transformer_word_embedding_lookup_table')
    logits = L.matmul(g2, w, transpose_y=True) + L.create_parameter([V], 'float32', name='lm_bias', is_bias=True)
    loss = L.reduce_mean(L.softmax_with_cross_entropy(logits, lab)) + 0.0 * L.reduce_mean(h2)
    return [loss, L.reduce_mean(L.abs(h2))]
def xl_feed(r):
    T, B = 6, 3
    p = np.zeros((T, T, B, 1), 'float32')
    for b in range(B):
        o = r.permutation(T)
        for i in range(T):
            for j in range(T):
                p[i, j, b] = float(o[j] >= o[i])
    ids = r.randint(0, 19, (T, B, 1)); return {'ids': ids, 'lab': (ids + 1) % 19, 'perm': p}

# --- ELMo bilm with projection and sampled softmax
def elmo():
    V, D, P = 30, 12, 8
    x = L.data('x', [1], dtype='int64', lod_level=1); x_r = L.data('x_r', [1], dtype='int64', lod_level=1); y = L.data('y', [1], dtype='int64', lod_level=1); y_r = L.data('y_r', [1], dtype='int64', lod_level=1)
    emb = lambda z: L.embedding(z, [V, P], is_sparse=False, param_attr=ParamAttr(name='embedding_para', initializer=fluid.initializer.Uniform(-0.5, 0.5)))
    def enc(z, name, custom=True):
        h = z
        for i in range(2):
            fc = L.fc(h, 4 * D, param_attr=ParamAttr(name=name + 'fc%d' % i), bias_attr=False)
            p, c = L.dynamic_lstmp(fc, size=4 * D, proj_size=P, use_peepholes=False, proj_activation='identity', cell_clip=3.0, proj_clip=3.0, bias_attr=ParamAttr(name=name + 'lb%d' % i))
            h = p if i == 0 else h + p
        return h
    def proj_loss(o, t):
        w = L.create_parameter([V, P], 'float32', name='softmax_weight'); b = L.create_parameter([V], 'float32', name='softmax_bias', is_bias=True)
        logits = L.matmul(o, w, transpose_y=True) + b
        full = L.softmax_with_cross_entropy(logits, t)
        samp = L.sampled_softmax_with_cross_entropy(logits, t, num_samples=10, seed=7, use_customized_samples=False)
        return L.reduce_mean(L.sequence_pool(full, 'sum')), L.reduce_mean(samp)
    f, sf = proj_loss(enc(emb(x), 'fw_'), y); b, sb = proj_loss(enc(emb(x_r), 'bw_'), y_r)
    return [(f + b) * 0.5 + 0.0 * sf, f, b]
def elmo_feed(r):
    s = [r.randint(0, 30, r.randint(3, 7)) for _ in range(4)]
    return {'x': pad_lod([a[:-1] for a in s]), 'y': pad_lod([a[1:] for a in s]), 'x_r': pad_lod([a[::-1][:-1] for a in s]), 'y_r': pad_lod([a[::-1][1:] for a in s])}

# --- SR-GNN
def srgnn():
    N, H, D = 20, 8, 8
    n = 5
    items = fluid.data('items', [None, n], 'int64'); last = fluid.data('last', [None, 2], 'int32'); seqi = fluid.data('seqi', [None, n, 2], 'int32')
    ain, aout = fluid.data('ain', [None, n, n]), fluid.data('aout', [None, n, n]); mask = fluid.data('mask', [None, n, 1]); lab = fluid.data('lab', [None, 1], 'int64')
    std = 1.0 / math.sqrt(H); U = fluid.initializer.Uniform(-std, std)
    e = fluid.embedding(items, [N, H], param_attr=ParamAttr(name='emb', initializer=U))
    s_in = L.fc(e, H, num_flatten_dims=2, name='state_in', param_attr=ParamAttr(initializer=U), bias_attr=ParamAttr(initializer=U)); s_out = L.fc(e, H, num_flatten_dims=2, name='state_out', param_attr=ParamAttr(initializer=U))
    a = L.concat([L.matmul(ain, s_in), L.matmul(aout, s_out)], axis=2)
    gx = L.fc(L.reshape(a, [-1, 2 * H]), 3 * H, name='gru_fc', bias_attr=False)
    st, _, _ = L.gru_unit(input=gx, hidden=L.reshape(e, [-1, H]), size=3 * H)
    st = L.reshape(st, [-1, n, H])
    seq = L.gather_nd(st, seqi); lastv = L.gather_nd(st, last)
    q = L.expand(L.unsqueeze(L.fc(lastv, H, bias_attr=False), [1]), [1, n, 1])
    w = L.fc(L.sigmoid(L.fc(seq, H, num_flatten_dims=2) + q), 1, num_flatten_dims=2, bias_attr=False) * mask
    glob = L.reduce_sum(w * seq, dim=1)
    final = L.fc(L.concat([glob, lastv], 1), H, bias_attr=False)
    all_ids = L.create_global_var([N - 1], value=0, dtype='int64', persistable=True, name='all_vocab') if False else L.assign(np.arange(1, N).astype('int64'))
    logits = L.matmul(final, fluid.embedding(all_ids, [N, H], param_attr=ParamAttr(name='emb')), transpose_y=True)
    loss = L.reduce_mean(L.softmax_with_cross_entropy(logits, lab))
    return [loss, L.accuracy(logits, lab, k=5)]
def sr_feed(r):
    B, n = 4, 5
    f = {'items': r.randint(1, 20, (B, n)), 'last': np.stack([np.arange(B), r.randint(0, n, B)], 1).astype('int32'), 'ain': r.rand(B, n, n).astype('float32'), 'aout': r.rand(B, n, n).astype('float32'), 'mask': (r.rand(B, n, 1) < .8).astype('float32'), 'lab': r.randint(0, 19, (B, 1))}
    f['seqi'] = np.stack([np.repeat(np.arange(B), n).reshape(B, n), r.randint(0, n, (B, n))], 2).astype('int32')
    return f

# --- LSTNet
def lstnet():
    m, P, k = 3, 12, 3
    x = fluid.data('x', [None, P, m]); y = fluid.data('y', [None, m])
    c = L.relu(L.conv2d(L.unsqueeze(x, [1]), 6, (k, m), param_attr=ParamAttr(name='cnn'))); c = L.dropout(c, 0.2)
    seq = L.transpose(L.squeeze(c, [3]), [0, 2, 1])
    rnn_in = L.transpose(seq, [1, 0, 2])
    r, rh = L.rnn(L.GRUCell(5), seq)
    sk = L.slice(seq, axes=[1], starts=[-8], ends=[10000]); sk = L.reshape(sk, [-1, 2, 4, 6]); sk = L.reshape(L.transpose(sk, [0, 2, 1, 3]), [-1, 2, 6])
    _, sh = L.rnn(L.GRUCell(4, name='skip'), sk)
    o = L.fc(L.concat([rh, L.reshape(sh, [-1, 16])], 1), m)
    z = L.reshape(L.transpose(L.slice(x, axes=[1], starts=[-4], ends=[P]), [0, 2, 1]), [-1, 4])
    o = o + L.reshape(L.fc(z, 1), [-1, m])
    rel_err = L.reduce_mean(L.abs((o - y) / (y + 1e-3)))
    return [L.reduce_mean(L.smooth_l1(o, y)), rel_err, L.reduce_mean(L.square(o - y))]
def lst_feed(r):
    t = r.rand(5, 1, 1) * 6 + np.arange(13).reshape(1, -1, 1) * .4 + np.arange(3)
    s = np.sin(t).astype('float32'); return {'x': s[:, :12], 'y': s[:, 12]}

# --- DIEN: attention GRU in a DynamicRNN, auxiliary loss
def dien():
    hist = L.data('hist', [1], dtype='int64', lod_level=1); neg = L.data('neg', [1], dtype='int64', lod_level=1); tgt = L.data('tgt', [1], dtype='int64'); lab = L.data('lab', [1], dtype='float32')
    E = lambda z: L.embedding(z, [25, 6], is_sparse=True, param_attr=ParamAttr(name='item', initializer=fluid.initializer.Xavier()))
    h, n, t = E(hist), E(neg), E(tgt)
    g = L.dynamic_gru(L.fc(h, 18), 6)
    target = L.sequence_expand_as(t, g)
    att = L.sequence_softmax(L.fc(L.concat([g, target, g - target, g * target], 1), 1))
    drnn = L.DynamicRNN()
    with drnn.block():
        w = drnn.step_input(g); a = drnn.step_input(att)
        mem = drnn.memory(shape=[6], value=0.0)
        u = L.fc([w, mem], 6, act='sigmoid', bias_attr=ParamAttr(name='ub')) ; r_ = L.fc([w, mem], 6, act='sigmoid')
        cand = L.fc([w, r_ * mem], 6, act='tanh')
        u = L.elementwise_mul(u, a, axis=0)
        new = (1.0 - u) * mem + u * cand
        drnn.update_memory(mem, new); drnn.output(new)
    last = L.sequence_last_step(drnn())
    ones = L.scale(L.slice(g, axes=[1], starts=[0], ends=[1]), scale=0.0, bias=1.0); ones.stop_gradient = True
    zeros = L.zeros_like(ones); zeros.stop_gradient = True
    aux = L.mean(L.sigmoid_cross_entropy_with_logits(L.reduce_sum(g * h, dim=1, keep_dim=True), ones)) + L.mean(L.sigmoid_cross_entropy_with_logits(L.reduce_sum(g * n, dim=1, keep_dim=True), zeros))
    logit = L.fc(L.prelu(L.fc(L.concat([last, t, L.sequence_pool(h, 'sum')], 1), 8), 'channel' if False else 'all'), 1)
    loss = L.mean(L.sigmoid_cross_entropy_with_logits(logit, lab))
    return [loss + 0.5 * aux, aux]
def dien_feed(r):
    s = [r.randint(0, 25, r.randint(2, 6)) for _ in range(5)]
    return {'hist': pad_lod(s), 'neg': pad_lod([r.randint(0, 25, len(x)) for x in s]), 'tgt': r.randint(0, 25, (5, 1)), 'lab': r.randint(0, 2, (5, 1)).astype('float32')}

# --- losses of word models: custom-tree hsigmoid, nce samplers
def treenets():
    w = fluid.data('w', [None, 1], 'int64'); y = fluid.data('y', [None, 1], 'int64'); pt = fluid.data('pt', [None, 4], 'int64'); pc = fluid.data('pc', [None, 4], 'int64')
    e = L.fc(L.embedding(w, [16, 10], param_attr='emb'), 10, act='tanh')
    h1 = L.hsigmoid(e, y, 16, param_attr=ParamAttr(name='hs_w'), bias_attr='hs_b')
    h2 = L.hsigmoid(e, y, 15, path_table=pt, path_code=pc, is_custom=True, is_sparse=True, param_attr=ParamAttr(name='ct_w'), bias_attr=ParamAttr(name='ct_b'))
    n1 = L.nce(e, y, 16, sample_weight=None, num_neg_samples=4, sampler='log_uniform', seed=5, param_attr='nce_w', bias_attr='nce_b')
    n2 = L.nce(e, y, 16, num_neg_samples=3, sampler='custom_dist', custom_dist=[1 / 16.] * 16, seed=9, is_sparse=True, name='cd')
    return [L.mean(h1) + L.mean(h2) + 0.3 * L.mean(n1) + 0.1 * L.mean(n2), L.mean(h1), L.mean(h2), L.mean(n1), L.mean(n2)]
def tree_feed(r):
    y = r.randint(0, 16, (6, 1)); path = lambda c: [((c + 16) >> (b + 1)) - 1 for b in range(4)]
    return {'w': (y + 3) % 16, 'y': y, 'pt': np.array([path(int(c)) for c in y]), 'pc': np.array([[((int(c) + 16) >> b) & 1 for b in range(4)] for c in y])}

# --- MMoE + AutoInt + AFM + FFM in one
def multi():
    F, V, D = 5, 12, 4
    ids = fluid.data('ids', [None, F], 'int64'); val = fluid.data('val', [None, F]); ctr = fluid.data('ctr', [None, 1]); cvr = fluid.data('cvr', [None, 1])
    e = fluid.embedding(ids, [V, D], param_attr=ParamAttr(initializer=fluid.initializer.TruncatedNormalInitializer(0., 0.1), regularizer=fluid.regularizer.L2DecayRegularizer(1e-3)), padding_idx=0)
    e = e * L.unsqueeze(val, [2])
    qkv = [L.fc(e, D, num_flatten_dims=2, bias_attr=False) for _ in range(3)]
    q, k, v = [L.stack(L.split(t, 2, dim=-1)) for t in qkv]
    o = L.matmul(L.softmax(L.matmul(q, k, transpose_y=True)), v); o = L.concat([L.squeeze(t, [0]) for t in L.split(o, 2, dim=0)], -1)
    auto = L.relu(o + L.fc(e, D, num_flatten_dims=2, bias_attr=False))
    row, col = [], []
    for i in range(F - 1):
        for j in range(i + 1, F):
            row.append(i); col.append(j)
    pick = lambda ix: L.transpose(L.gather(L.transpose(e, [1, 0, 2]), L.assign(np.array(ix, 'int32'))), [1, 0, 2])
    inter = pick(row) * pick(col)
    aw = L.softmax(L.fc(L.fc(inter, 3, num_flatten_dims=2, act='relu'), 1, num_flatten_dims=2, bias_attr=False), axis=1)
    afm = L.reduce_sum(aw * inter, dim=1)
    x = L.concat([L.reshape(auto, [-1, F * D]), afm], 1)
    experts = L.stack([L.fc(x, 6, act='relu', name='expert_%d' % i) for i in range(3)], axis=1)
    outs = []
    for t in range(2):
        gate = L.fc(x, 3, act='softmax', name='gate_%d' % t, bias_attr=ParamAttr(learning_rate=1.0, initializer=fluid.initializer.Constant(value=0.1)))
        outs.append(L.fc(L.fc(L.reduce_sum(L.elementwise_mul(experts, gate, axis=0), dim=1), 5, act='relu'), 2, act='softmax'))
    pctr = L.slice(outs[0], axes=[1], starts=[1], ends=[2]); pctcvr = L.elementwise_mul(pctr, L.slice(outs[1], axes=[1], starts=[1], ends=[2]))
    loss = L.mean(L.log_loss(pctr, ctr)) + L.mean(L.log_loss(L.clip(pctcvr, 1e-6, 1 - 1e-6), cvr))
    auc, bauc, _ = L.auc(outs[0], L.cast(ctr, 'int64'), num_thresholds=200)
    return [loss, auc, bauc]
def multi_feed(r):
    ids = r.randint(0, 12, (8, 5)); c = (ids[:, :1] > 5).astype('float32'); return {'ids': ids, 'val': r.rand(8, 5).astype('float32'), 'ctr': c, 'cvr': c * (r.rand(8, 1) < .6)}

def decoder():
    """fluid.contrib.decoder: train, then search with a beam."""
    dict_size, word_dim, hid, beam = 20, 8, 8, 2
    def encoder():
        src = pd.data(name="src_word", shape=[1], dtype='int64', lod_level=1)
        e = pd.embedding(src, size=[dict_size, word_dim], dtype='float32', is_sparse=True, param_attr=ParamAttr(name='vemb'))
        h = pd.dynamic_lstm(pd.fc(e, hid * 4, act='tanh', param_attr=ParamAttr(name='efc'), bias_attr=ParamAttr(name='efb')), hid * 4, param_attr=ParamAttr(name='el'), bias_attr=ParamAttr(name='elb'))[0]
        return pd.sequence_last_step(h)
    def cell_of(context):
        hs = InitState(init=context, need_reorder=True)
        sc = StateCell(inputs={'x': None}, states={'h': hs}, out_state='h')
        @sc.state_updater
        def updater(state_cell):
            cw, ph = state_cell.get_input('x'), state_cell.get_state('h')
            state_cell.set_state('h', pd.fc([ph, cw], hid, act='tanh', param_attr=[ParamAttr(name='sc0'), ParamAttr(name='sc1')], bias_attr=ParamAttr(name='scb')))
        return sc
    main, st = fluid.Program(), fluid.Program(); main.random_seed = st.random_seed = 5
    scope = fluid.Scope(); exe = fluid.Executor(place)
    with fluid.program_guard(main, st), fluid.unique_name.guard(), fluid.scope_guard(scope):
        ctx = encoder(); sc = cell_of(ctx)
        trg = pd.data(name="trg", shape=[1], dtype='int64', lod_level=1); nxt = pd.data(name="nxt", shape=[1], dtype='int64', lod_level=1)
        target = pd.embedding(trg, size=[dict_size, word_dim], dtype='float32', is_sparse=True, param_attr=ParamAttr(name='vemb'))
        dec = TrainingDecoder(sc)
        with dec.block():
            cw = dec.step_input(target)
            dec.state_cell.compute_state(inputs={'x': cw})
            score = pd.fc(dec.state_cell.get_state('h'), dict_size, act='softmax', param_attr=ParamAttr(name='ow'), bias_attr=ParamAttr(name='ob'))
            dec.state_cell.update_states(); dec.output(score)
        loss = pd.mean(pd.cross_entropy(dec(), nxt))
        fluid.optimizer.Adagrad(0.3, regularization=fluid.regularizer.L2DecayRegularizer(1e-4)).minimize(loss)
        exe.run(st); r = np.random.RandomState(2)
        for i in range(14):
            s = [r.randint(3, 20, r.randint(2, 5)) for _ in range(4)]
            l, = exe.run(main, feed={'src_word': pad_lod(s), 'trg': pad_lod([np.r_[0, x] for x in s]), 'nxt': pad_lod([np.r_[x, 1] for x in s])}, fetch_list=[loss])
            print('decoder', i, '%.6f' % l)
    inf, infer_start = fluid.Program(), fluid.Program(); inf.random_seed = infer_start.random_seed = 6
    with fluid.program_guard(inf, infer_start), fluid.unique_name.guard(), fluid.scope_guard(scope):
        ctx = encoder(); sc = cell_of(ctx)
        ii = pd.data(name="init_ids", shape=[1], dtype="int64", lod_level=2); iss = pd.data(name="init_scores", shape=[1], dtype="float32", lod_level=2)
        d = BeamSearchDecoder(state_cell=sc, init_ids=ii, init_scores=iss, target_dict_dim=dict_size, word_dim=word_dim, input_var_dict={}, topk_size=20, sparse_emb=True, max_len=5, beam_size=beam, end_id=1, name=None)
        d.decode(); ids, scores = d()
        exe.run(infer_start)
        s = [[4, 5, 6], [7, 8]]
        a, b = exe.run(inf, feed={'src_word': pad_lod(s), 'init_ids': fluid.create_lod_tensor(np.zeros((2, 1), 'int64'), [[1, 1], [1, 1]], place), 'init_scores': fluid.create_lod_tensor(np.ones((2, 1), 'float32'), [[1, 1], [1, 1]], place)}, fetch_list=[ids, scores], return_numpy=False)
        print(a.recursive_sequence_lengths(), np.array(a).ravel().tolist()); print(' '.join('%.4f' % x for x in np.array(b).ravel()))
        print(sorted(p.name for p in inf.all_parameters()))

def palm():
    """Two tasks share a backbone; one program for each, in turns, with an EMA and a moving best."""
    progs = {}
    st = fluid.Program(); st.random_seed = 1
    for task, n in (('cls', 3), ('match', 2)):
        m = fluid.Program(); m.random_seed = 1
        with fluid.program_guard(m, st), fluid.unique_name.guard(task + '_'):
            x = fluid.data(task + '.x', [None, 6]); y = fluid.data(task + '.y', [None, 1], 'int64')
            h = L.fc(x, 8, act='relu', param_attr=ParamAttr(name='__paddlepalm_backbone.w'), bias_attr=ParamAttr(name='__paddlepalm_backbone.b'))
            with fluid.name_scope(task):
                loss = L.mean(L.softmax_with_cross_entropy(L.fc(h, n, param_attr=ParamAttr(name=task + '.w'), bias_attr=ParamAttr(name=task + '.b')), y))
            progs[task] = (m, loss, m.clone(for_test=True))
            fluid.optimizer.Momentum(0.1, 0.9, use_nesterov=True, regularization=fluid.regularizer.L1Decay(1e-4)).minimize(loss)
    with fluid.scope_guard(fluid.Scope()):
        exe = fluid.Executor(place); exe.run(st); r = np.random.RandomState(3); random.seed(4)
        for i in range(16):
            t = random.choices(['cls', 'match'], weights=[2, 1])[0] if sys.version_info >= (3, 6) else random.choice(['cls', 'match'])
            x = r.randn(8, 6).astype('float32'); y = (np.abs(x[:, :1]) > .6).astype('int64')
            l, = exe.run(progs[t][0], feed={t + '.x': x, t + '.y': y}, fetch_list=[progs[t][1]]); e, = exe.run(progs[t][2], feed={t + '.x': x, t + '.y': y}, fetch_list=[progs[t][1]])
            print('palm', i, t, '%.6f %.6f' % (l, e))

if __name__ == '__main__':
    which = sys.argv[1:] or ['xlnet', 'elmo', 'srgnn', 'lstnet', 'dien', 'treenets', 'multi', 'decoder', 'palm']
    opts = {'dien': lambda: fluid.optimizer.Adagrad(0.05), 'treenets': lambda: fluid.optimizer.SGD(0.1), 'xlnet': lambda: fluid.optimizer.Adam(0.005, grad_clip=fluid.clip.GradientClipByGlobalNorm(1.0)), 'lstnet': lambda: fluid.optimizer.Adadelta(0.5)}
    feeds = dict(xlnet=xl_feed, elmo=elmo_feed, srgnn=sr_feed, lstnet=lst_feed, dien=dien_feed, treenets=tree_feed, multi=multi_feed)
    for w in which:
        if w in feeds:
            Net(w).run(globals()[w], feeds[w], opts.get(w, lambda: None)())
        else:
            globals()[w]()

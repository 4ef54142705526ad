"""ERNIE/BERT style: pretraining of masked words + order, then finetuning on two tasks with parameters loaded by predicate, manual weight decay, layer-wise rates, Recompute, AMP-like loss scaling by hand, early layers frozen, evaluation in chunks."""
from __future__ import print_function
import os, sys, json, math, six, time, collections, argparse, random, re, logging
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.layers as L
CFG = json.loads('{"hidden": 12, "layers": 2, "heads": 2, "vocab": 30, "pos": 16, "types": 2, "drop": 0.0, "init": 0.02, "act": "gelu"}')
def w(n): return fluid.ParamAttr(name=n, initializer=fluid.initializer.TruncatedNormal(scale=CFG['init']))
def block(x, bias, i):
    p = 'encoder_layer_%d' % i; H, n = CFG['hidden'], CFG['heads']
    def proj(t, s): return L.fc(t, H, num_flatten_dims=2, param_attr=w('%s_multi_head_att_%s_fc.w_0' % (p, s)), bias_attr='%s_multi_head_att_%s_fc.b_0' % (p, s))
    def split(t): return L.transpose(L.reshape(t, [0, 0, n, H // n], inplace=True), [0, 2, 1, 3])
    q, k, v = [split(proj(x, s)) for s in ('query', 'key', 'value')]
    a = L.softmax(L.matmul(L.scale(q, (H // n) ** -.5), k, transpose_y=True) + bias); o = L.reshape(L.transpose(L.matmul(a, v), [0, 2, 1, 3]), [0, 0, H])
    norm = lambda t, s: L.layer_norm(t, begin_norm_axis=2, param_attr=fluid.ParamAttr('%s_%s_layer_norm_scale' % (p, s), initializer=fluid.initializer.Constant(1.)), bias_attr=fluid.ParamAttr('%s_%s_layer_norm_bias' % (p, s)))
    x = norm(x + proj(o, 'output'), 'post_att')
    f = L.fc(L.fc(x, H * 2, num_flatten_dims=2, act=CFG['act'], param_attr=w(p + '_ffn_fc_0.w_0'), bias_attr=p + '_ffn_fc_0.b_0'), H, num_flatten_dims=2, param_attr=w(p + '_ffn_fc_1.w_0'), bias_attr=p + '_ffn_fc_1.b_0')
    return norm(x + f, 'post_ffn')
class Model(object):
    def __init__(self, src, pos, sent, mask):
        e = sum([fluid.embedding(i, [n, CFG['hidden']], param_attr=w(s)) for i, n, s in ((src, CFG['vocab'], 'word_embedding'), (pos, CFG['pos'], 'pos_embedding'), (sent, CFG['types'], 'sent_embedding'))])
        m = L.matmul(mask, mask, transpose_y=True); b = L.scale(m, scale=10000., bias=-1., bias_after_scale=False); b = L.stack([b] * CFG['heads'], axis=1); b.stop_gradient = True
        self.points = []; x = e
        for i in range(CFG['layers']): x = block(x, b, i); self.points.append(x)
        self.seq = x
    def pooled(self): return L.fc(L.squeeze(L.slice(self.seq, [1], [0], [1]), [1]), CFG['hidden'], act='tanh', param_attr=w('pooled_fc.w_0'), bias_attr='pooled_fc.b_0')
    def lm(self, mpos, mlab):
        t = L.gather(L.reshape(self.seq, [-1, CFG['hidden']]), L.cast(mpos, 'int32')); t = L.fc(t, CFG['hidden'], act=CFG['act'], param_attr=w('mask_lm_trans_fc.w_0'), bias_attr='mask_lm_trans_fc.b_0')
        o = L.matmul(t, fluid.default_main_program().global_block().var('word_embedding'), transpose_y=True) + L.create_parameter([CFG['vocab']], 'float32', 'mask_lm_out_fc.b_0', is_bias=True)
        return L.mean(L.softmax_with_cross_entropy(o, mlab))
def inputs(): return [fluid.data(n, s, t) for n, s, t in (('src', [None, 10], 'int64'), ('pos', [None, 10], 'int64'), ('sent', [None, 10], 'int64'), ('mask', [None, 10, 1], 'float32'))]
def text(r, n): return [[1] + [int((k * 3 + j * s) % 24) + 6 for j in range(ln)] + [2] for k, s, ln in [(r.randint(24), r.randint(1, 3), r.randint(2, 8)) for _ in range(n)]]
def pad(seqs):
    a = np.zeros((len(seqs), 10), 'int64'); m = np.zeros((len(seqs), 10, 1), 'f'); s = np.zeros_like(a)
    for i, q in enumerate(seqs): a[i, :len(q)] = q; m[i, :len(q)] = 1; s[i, len(q) // 2:len(q)] = 1
    return {'src': a, 'mask': m, 'sent': s, 'pos': np.tile(np.arange(10), (len(seqs), 1))}
def linear_decay(peak, warm, total):
    with fluid.default_main_program()._lr_schedule_guard():
        lr = L.create_global_var([1], 0., 'float32', persistable=True, name='scheduled_learning_rate'); step = L.learning_rate_scheduler._decay_step_counter()
        with L.control_flow.Switch() as sw:
            with sw.case(step < warm): L.assign(peak * (step / float(warm)), lr)
            with sw.default(): L.assign(L.polynomial_decay(peak, total, 0., 1., False), lr)
    return lr
def decay_by_hand(main, opt, lr, loss, rate, skip):
    kept = {}
    for p in main.all_parameters(): kept[p.name] = p * 1.0; kept[p.name].stop_gradient = True
    _, pgs = opt.minimize(loss)
    for p, g in pgs:
        if any(s in p.name for s in skip) or p.name.endswith('b_0'): continue
        with p.block.program._optimized_guard([p, g]), fluid.framework.name_scope('weight_decay'): L.assign(output=p, input=p - kept[p.name] * rate * lr)
def pretrain(exe):
    m, s = fluid.Program(), fluid.Program(); m.random_seed = s.random_seed = 1
    with fluid.program_guard(m, s), fluid.unique_name.guard():
        ins = inputs(); mp, ml, y = fluid.data('mp', [None, 1], 'int64'), fluid.data('ml', [None, 1], 'int64'), fluid.data('y', [None, 1], 'int64')
        net = Model(*ins); lm = net.lm(mp, ml); ce, p = L.softmax_with_cross_entropy(L.fc(net.pooled(), 2, param_attr=w('next_sent_fc.w_0'), bias_attr='next_sent_fc.b_0'), y, return_softmax=True); acc = L.accuracy(p, y); loss = lm + L.mean(ce)
        lr = linear_decay(.02, 5, 30); opt = fluid.optimizer.Adam(lr, epsilon=1e-6, grad_clip=fluid.clip.GradientClipByGlobalNorm(1.)); decay_by_hand(m, opt, lr, loss, .01, ['layer_norm', 'bias'])
    exe.run(s); r = np.random.RandomState(0)
    for i in range(26):
        seqs = text(r, 6); f = pad(seqs); y = r.randint(0, 2, 6); mp, ml = [], []
        for k, q in enumerate(seqs):
            if y[k]: f['src'][k, 1:len(q) - 1] = f['src'][k, 1:len(q) - 1][::-1].copy()
            j = r.randint(1, len(q) - 1); mp.append([k * 10 + j]); ml.append([f['src'][k, j]]); f['src'][k, j] = 3
        f.update(mp=np.array(mp), ml=np.array(ml), y=y.reshape(-1, 1)); o = exe.run(m, feed=f, fetch_list=[loss, lm, acc, lr]); print('pre %d loss %.6f lm %.6f acc %.3f lr %.6f' % ((i,) + tuple(float(v) for v in o)))
    fluid.io.save_persistables(exe, 'pretrained', m); print(len(os.listdir('pretrained')))
def finetune(exe, task, recompute, scale):
    m, s = fluid.Program(), fluid.Program(); m.random_seed = s.random_seed = 2
    with fluid.program_guard(m, s), fluid.unique_name.guard():
        ins = inputs(); net = Model(*ins)
        if task == 'cls': y = fluid.data('y', [None, 1], 'int64'); loss, p = L.softmax_with_cross_entropy(L.fc(L.dropout(net.pooled(), .1, seed=3, dropout_implementation='upscale_in_train'), 3, param_attr=w('cls_out_w'), bias_attr='cls_out_b'), y, return_softmax=True); loss = L.mean(loss); y_ = 'y'
        else: y = fluid.data('y', [None, 10, 1], 'int64'); o = L.fc(net.seq, 3, num_flatten_dims=2, param_attr=w('tag_w'), bias_attr='tag_b'); ce = L.softmax_with_cross_entropy(o, y) * ins[3]; loss = L.reduce_sum(ce) / L.reduce_sum(ins[3]); p = L.softmax(o)
        test = m.clone(for_test=True); scaled = loss * scale
        for prm in m.all_parameters(): prm.trainable = not prm.name.startswith(('word_emb', 'pos_emb')); prm.optimize_attr['learning_rate'] = .5 if 'layer_0' in prm.name else 1.
        opt = fluid.optimizer.SGD(.3 / scale) if scale != 1 else fluid.optimizer.LambOptimizer(.02, exclude_from_weight_decay_fn=lambda q: q.name.endswith('bias'))
        if recompute: opt = fluid.optimizer.RecomputeOptimizer(opt); opt._set_checkpoints(net.points)
        opt.minimize(scaled)
    exe.run(s)
    fluid.io.load_vars(exe, 'pretrained', m, predicate=lambda v: isinstance(v, fluid.framework.Parameter) and os.path.exists(os.path.join('pretrained', v.name)))
    r = np.random.RandomState(7)
    for i in range(14):
        seqs = text(r, 6); f = pad(seqs); f['y'] = np.array([[len(q) % 3] for q in seqs]) if task == 'cls' else (f['src'] % 3)[:, :, None]; print('%s %d %.6f' % (task, i, float(exe.run(m, feed=f, fetch_list=[loss])[0])))
    tot = [exe.run(test, feed=dict(pad(q), y=np.array([[len(t) % 3] for t in q]) if task == 'cls' else (pad(q)['src'] % 3)[:, :, None]), fetch_list=[loss.name, p.name]) for q in (text(np.random.RandomState(k), 5) for k in range(3))]; print('dev %.6f %.5f' % (np.mean([t[0] for t in tot]), sum(t[1].max(-1).sum() for t in tot)))
exe = fluid.Executor(fluid.CPUPlace())
pretrain(exe)
for task, rc, sc in (('cls', False, 1), ('tag', True, 128.)):
    with fluid.scope_guard(fluid.Scope()): finetune(exe, task, rc, sc)

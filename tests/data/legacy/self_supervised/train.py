"""Self-supervised and semi-supervised images: MoCo queue and momentum encoder, Mean Teacher with EMA weights copied by hand, MixUp/CutMix in the reader, random_crop, multi-head test; exe.run with use_program_cache, scopes shared by programs, clone before minimize, lr from a feed."""
import os, sys, copy, time, math, random, functools, itertools, argparse, configparser, tempfile, shutil
import numpy as np
import paddle, paddle.fluid as fluid
from paddle.fluid import layers as L
from paddle.fluid.framework import Program
ini = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation()); ini.read_string('[base]\ndim = 8\n[moco]\ndim = ${base:dim}\nqueue = 24\nm = 0.9\nt = .2\n[mt]\nalpha: 0.8\nramp: 6\n')
rng = np.random.RandomState(2021)
def enc(x, pre, dim, drop=0.):
    a = lambda n, **k: fluid.ParamAttr(name=pre + n, **k)
    h = L.conv2d(x, 6, 3, stride=2, padding=1, param_attr=a('c1'), bias_attr=a('c1b')); h = L.group_norm(h, 3, param_attr=a('g'), bias_attr=a('gb'), act='relu')
    h = L.conv2d(h, 12, 3, stride=2, padding=1, param_attr=a('c2'), bias_attr=False, act='leaky_relu'); h = L.adaptive_pool2d(h, [1, 1], 'avg')
    if drop: h = L.dropout(h, drop, seed=11)
    return L.fc(L.reshape(h, [-1, 12]), dim, param_attr=a('f'), bias_attr=a('fb'))
def images(n, seed):
    r = np.random.RandomState(seed)
    for _ in range(n):
        y = r.randint(3); x = r.rand(1, 8, 8) * .4; x[0, y * 2:y * 2 + 3] += np.linspace(0, 1, 8); yield x.astype('float32'), y
def aug(x, r):
    x = np.roll(x, r.randint(-1, 2), 2) if r.rand() < .7 else x; x = x[:, :, ::-1] if r.rand() < .5 else x; return (x * r.uniform(.8, 1.2) + r.normal(0, .05, x.shape)).astype('float32')
def moco():
    c = ini['moco']; dim, K = c.getint('dim'), c.getint('queue')
    m, s = Program(), Program(); s.random_seed = 3
    with fluid.program_guard(m, s), fluid.unique_name.guard():
        q, k = fluid.data('q', [None, 1, 8, 8]), fluid.data('k', [None, 1, 8, 8])
        zq, zk = L.l2_normalize(enc(q, 'q_', dim), 1), L.l2_normalize(enc(k, 'k_', dim), 1); zk.stop_gradient = True
        queue = L.create_global_var([K, dim], 0., 'float32', persistable=True, name='queue')
        pos = L.reduce_sum(zq * zk, dim=1, keep_dim=True); neg = L.matmul(zq, L.assign(queue), transpose_y=True)
        logits = L.concat([pos, neg], 1) / c.getfloat('t'); lab = L.fill_constant_batch_size_like(logits, [-1, 1], 'int64', 0)
        loss = L.mean(L.softmax_with_cross_entropy(logits, lab)); acc = L.accuracy(L.softmax(logits), lab)
        names = [p.name for p in m.all_parameters()]
        lr = fluid.data('lr', [1]); fluid.optimizer.Momentum(lr, .9, regularization=fluid.regularizer.L2Decay(1e-4)).minimize(loss, parameter_list=[n for n in names if n.startswith('q_')])
        with m._optimized_guard([]) if hasattr(m, '_optimized_guard') else fluid.name_scope('ema'):
            for n in names:
                if n[:2] == 'q_':
                    a, b = m.global_block().var(n), m.global_block().var('k_' + n[2:]); L.assign(b * c.getfloat('m') + a * (1 - c.getfloat('m')), b)
        L.assign(L.concat([zk, L.slice(queue, [0], [0], [K - 6])], 0), queue)
    exe = fluid.Executor(fluid.CPUPlace()); exe.run(s); r = np.random.RandomState(4); data = list(images(30, 1)); sc = fluid.global_scope()
    for n in names:
        if n[:2] == 'k_': sc.find_var(n).get_tensor().set(np.array(sc.find_var('q_' + n[2:]).get_tensor()), fluid.CPUPlace())
    qs = r.normal(size=(K, dim)); sc.find_var('queue').get_tensor().set((qs / np.linalg.norm(qs, axis=1, keepdims=True)).astype('f'), fluid.CPUPlace())
    for i in range(20):
        part = [data[(i * 6 + j) % 30][0] for j in range(6)]; f = {'q': np.array([aug(x, r) for x in part]), 'k': np.array([aug(x, r) for x in part]), 'lr': np.array([.05 * (1 + math.cos(math.pi * i / 20)) / 2], 'float32')}
        l, a = exe.run(m, feed=f, fetch_list=[loss, acc], use_program_cache=True); print('moco %d loss %.6f acc %.3f queue %.5f' % (i, l, a, np.abs(np.array(sc.find_var('queue').get_tensor())).sum()))
    return exe
def mean_teacher():
    c = ini['mt']; m, s, t = Program(), Program(), Program(); m.random_seed = s.random_seed = 8
    with fluid.program_guard(m, s), fluid.unique_name.guard():
        x, xu, y, w = fluid.data('x', [None, 1, 8, 8]), fluid.data('xu', [None, 1, 8, 8]), fluid.data('y', [None, 3]), fluid.data('w', [1])
        tea = fluid.data('tea', [None, 3])
        logit = enc(x, 's_', 3, .2); lu = enc(xu, 's_', 3, .2)
        sup = L.mean(L.softmax_with_cross_entropy(logit, y, soft_label=True)); con = L.mse_loss(L.softmax(lu), tea) if hasattr(L, 'mse_loss') else L.mean(L.square(L.softmax(lu) - tea))
        kl = L.kldiv_loss(L.log_softmax(lu) if hasattr(L, 'log_softmax') else L.log(L.softmax(lu)), tea, 'batchmean'); loss = sup + w * (con + .1 * kl)
        fluid.optimizer.AdamOptimizer(.01, beta2=.99).minimize(loss, no_grad_set={'s_fb'})
    with fluid.program_guard(t, Program()), fluid.unique_name.guard(): x2 = fluid.data('x', [None, 1, 8, 8]); p = L.softmax(enc(x2, 's_', 3))
    exe = fluid.Executor(); stu, tch = fluid.Scope(), fluid.Scope(); exe.run(s, scope=stu)
    def copy_weights(a):
        for p_ in t.all_parameters():
            v = np.array(stu.find_var(p_.name).get_tensor()); o = tch.find_var(p_.name)
            tch.var(p_.name).get_tensor().set(v if o is None else (a * np.array(o.get_tensor()) + (1 - a) * v).astype('f'), fluid.CPUPlace())
    copy_weights(0); lab, unl = list(images(12, 5)), list(images(40, 6)); r = np.random.RandomState(1)
    for i in range(30):
        b = [lab[j] for j in r.permutation(12)[:6]]; u = [unl[j][0] for j in r.permutation(40)[:8]]
        xs, ys = np.array([aug(v, r) for v, _ in b]), np.eye(3, dtype='f')[[k for _, k in b]]
        lam = r.beta(.75, .75); perm = r.permutation(6)
        if i % 3 == 1: xs, ys = lam * xs + (1 - lam) * xs[perm], lam * ys + (1 - lam) * ys[perm]
        elif i % 3 == 2: k = int(8 * math.sqrt(1 - lam)); xs[:, :, :k, :k] = xs[perm][:, :, :k, :k]; ys = ys * (1 - k * k / 64.) + ys[perm] * (k * k / 64.)
        tp, = exe.run(t, feed={'x': np.array([aug(v, r) for v in u])}, fetch_list=[p], scope=tch)
        ramp = math.exp(-5 * (1 - min(i / c.getfloat('ramp'), 1)) ** 2)
        o = exe.run(m, feed={'x': xs.astype('float32'), 'y': ys.astype('float32'), 'xu': np.array(u), 'tea': tp, 'w': np.array([ramp], 'float32')}, fetch_list=[loss, sup, con, kl], scope=stu)
        copy_weights(c.getfloat('alpha')); print('mt %d %s' % (i, ' '.join('%.6f' % float(v) for v in o)))
    test = list(images(20, 9)); pr = exe.run(t, feed={'x': np.array([v for v, _ in test])}, fetch_list=[p], scope=tch)[0]; print('teacher', (pr.argmax(1) == [k for _, k in test]).mean(), '%.6f' % pr[:, 0].sum())
    d = tempfile.mkdtemp()
    with fluid.scope_guard(tch): fluid.io.save_inference_model(d, ['x'], [p], exe, t, params_filename='__params__'); prog, f, o = fluid.io.load_inference_model(d, exe, params_filename='__params__'); print(f, '%.6f' % exe.run(prog, {'x': test[0][0][None]}, o)[0].max())
    shutil.rmtree(d)
moco(); mean_teacher()

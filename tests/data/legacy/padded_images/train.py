# -*- coding: utf-8 -*-
"""Image regression with padded borders, channel shortcuts (option A), mixup, label smoothing, EMA in Python, best model kept."""
from __future__ import print_function, division
import os, sys, math, json, shutil, collections, functools
import numpy as np
import paddle
import paddle.fluid as fluid
from paddle.fluid import layers as L
CFG = collections.OrderedDict([('lr', .05), ('wd', 1e-4), ('epochs', 3), ('bs', 6), ('width', 4), ('mixup', .2)])


def conv_bn(x, c, k, s=1, act=None):
    x = L.pad(x, [0, 0, 0, 0, k // 2, k // 2, k // 2, k // 2]) if k > 1 else x
    x = L.conv2d(x, c, k, stride=s, bias_attr=False, param_attr=fluid.ParamAttr(initializer=fluid.initializer.MSRA(uniform=False)))
    return L.batch_norm(x, act=act, momentum=.8)


def shortcut(x, c, s):
    if s == 1 and x.shape[1] == c:
        return x
    x = L.pool2d(x, 1, 'avg', s)
    d = c - x.shape[1]
    return L.pad(x, [0, 0, d // 2, d - d // 2, 0, 0, 0, 0])


def block(x, c, s):
    y = conv_bn(conv_bn(x, c, 3, s, 'relu'), c, 3)
    return L.relu(L.elementwise_add(y, shortcut(x, c, s)))


def net(x):
    x = conv_bn(x, CFG['width'], 3, act='relu')
    for c, s in ((CFG['width'], 1), (CFG['width'] * 2 + 1, 2), (CFG['width'] * 3, 2)):
        x = block(x, c, s)
    return L.fc(L.pool2d(x, 1, 'avg', global_pooling=True), 4)


def reader(seed, n):
    def f():
        r = np.random.RandomState(seed)
        for _ in range(n):
            k = r.randint(4)
            im = r.rand(3, 13, 13).astype('float32') * .5
            im[k % 3, :, (k * 3):(k * 3 + 4)] += 1.
            yield im, k
    return f


main, start, test = fluid.Program(), fluid.Program(), fluid.Program()
main.random_seed = start.random_seed = 101
with fluid.program_guard(main, start), fluid.unique_name.guard():
    x, ya, yb, lam = L.data('x', [3, 13, 13]), L.data('ya', [1], dtype='int64'), L.data('yb', [1], dtype='int64'), L.data('lam', [1])
    logit = net(x)
    sm = [L.label_smooth(L.one_hot(y, 4), epsilon=.1) for y in (ya, yb)]
    ca, cb = [L.softmax_with_cross_entropy(logit, s, soft_label=True) for s in sm]
    loss = L.mean(lam * ca + (1. - lam) * cb)
    rate = L.linear_lr_warmup(L.cosine_decay(CFG['lr'], 4, CFG['epochs']), 3, 0., CFG['lr'])
    fluid.optimizer.Momentum(rate, .9, regularization=fluid.regularizer.L2Decay(CFG['wd']), use_nesterov=True).minimize(loss)
with fluid.program_guard(test, fluid.Program()), fluid.unique_name.guard():
    tx, ty = L.data('x', [3, 13, 13]), L.data('y', [1], dtype='int64')
    tl = net(tx)
    tc, tp = L.softmax_with_cross_entropy(tl, ty, return_softmax=True)
    tloss, tacc = L.mean(tc), L.accuracy(tp, ty)
test = test.clone(for_test=True)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(start)
names = [p.name for p in main.all_parameters()]
get = lambda n: np.array(fluid.global_scope().find_var(n).get_tensor())
ema = {n: get(n) for n in names}
rng, best = np.random.RandomState(1), (0., None)
for ep in range(CFG['epochs']):
    for i, b in enumerate(paddle.batch(reader(ep, 24), CFG['bs'])()):
        im, lb = np.array([s[0] for s in b]), np.array([s[1] for s in b]).reshape(-1, 1)
        la, perm = float(rng.beta(CFG['mixup'], CFG['mixup'])), rng.permutation(len(b))
        l, q = exe.run(main, feed={'x': (la * im + (1 - la) * im[perm]).astype('float32'), 'ya': lb, 'yb': lb[perm], 'lam': np.full((len(b), 1), la, 'float32')}, fetch_list=[loss, rate])
        for n in names:
            ema[n] = .9 * ema[n] + .1 * get(n)
        print('epoch %d batch %d loss %.5f lr %.5f' % (ep, i, l, q))
    keep = {n: get(n) for n in names}
    res = {}
    for tag, ws in (('raw', keep), ('ema', ema)):
        for n in names:
            fluid.global_scope().find_var(n).get_tensor().set(ws[n].astype('float32'), fluid.CPUPlace())
        out = [exe.run(test, feed={'x': np.array([s[0] for s in b]), 'y': np.array([s[1] for s in b]).reshape(-1, 1)}, fetch_list=[tloss, tacc]) for b in paddle.batch(reader(99, 16), 8)()]
        res[tag] = tuple(np.mean(out, axis=0).ravel())
        print('eval %s loss %.4f acc %.4f' % ((tag,) + res[tag]))
    for n in names:
        fluid.global_scope().find_var(n).get_tensor().set(keep[n], fluid.CPUPlace())
    if res['raw'][1] > best[0]:
        best = (float(res['raw'][1]), ep)
        if os.path.isdir('best'):
            shutil.rmtree('best')
        fluid.io.save_persistables(exe, 'best', main)
print('best %.4f' % best[0], len(os.listdir('best')), json.dumps(CFG))

"""Odd corners that training scripts use, one small network for each; prints losses."""
from __future__ import print_function
import os, sys, math, functools, contextlib
import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.fluid.core as core
import paddle.fluid.layers as layers
from paddle.fluid.initializer import NumpyArrayInitializer, Normal, MSRA, Bilinear, Xavier, TruncatedNormal
from paddle.fluid.regularizer import L1Decay, L2Decay
from paddle.fluid.param_attr import ParamAttr

RNG = np.random.RandomState(0)
X = RNG.randn(6, 8, 10).astype('float32')
Y = (X.sum(2).argmax(1)).reshape(6, 1).astype('int64')


@contextlib.contextmanager
def fresh(seed=7):
    main, start = fluid.Program(), fluid.Program()
    main.random_seed = start.random_seed = seed
    with fluid.program_guard(main, start), fluid.unique_name.guard(), fluid.scope_guard(core.Scope()):
        yield main, start


def loop(name, main, start, loss, feeds, fetch=(), n=4, prog=None):
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(start)
    for i in range(n):
        out = exe.run(prog or main, feed=feeds(i), fetch_list=[loss] + list(fetch))
        print(name, i, ' '.join('%.6f' % float(np.asarray(o).mean()) for o in out))
    names = [p.name for p in main.all_parameters()]
    print(name, len(main.global_block().ops), names[:6])
    return exe


def xy():
    return layers.data('x', [8, 10]), layers.data('y', [1], dtype='int64')


def feed(i):
    return {'x': X * (1 + .1 * i), 'y': Y}


def basic(x):
    return layers.fc(x, 8, act='softmax')


def lr_switch():
    step = layers.autoincreased_step_counter(counter_name='@MY_STEP@', begin=0, step=1)
    step = layers.cast(step, 'float32')
    lr = layers.create_global_var([1], 0.0, 'float32', persistable=True, name='my_lr')
    one, two = layers.fill_constant([1], 'float32', 1.0), layers.fill_constant([1], 'float32', 2.0)
    with layers.Switch() as switch:
        with switch.case(layers.less_than(step, one)):
            layers.assign(layers.fill_constant([1], 'float32', 0.5), lr)
        with switch.case(layers.logical_and(layers.greater_equal(step, one), layers.less_than(step, two))):
            layers.assign(np.array([0.2], 'float32'), lr)
        with switch.default():
            layers.assign(lr * 0.5, lr)
    return lr


def t_switch():
    with fresh() as (m, s):
        x, y = xy()
        loss = layers.mean(layers.cross_entropy(basic(x), y))
        lr = lr_switch()
        fluid.optimizer.Momentum(lr, 0.9, use_nesterov=True, regularization=L1Decay(1e-3)).minimize(loss)
        loop('switch', m, s, loss, feed, [lr])


def t_static_rnn():
    with fresh() as (m, s):
        x, y = xy()
        seq = layers.transpose(x, [1, 0, 2])
        rnn = layers.StaticRNN()
        with rnn.step():
            w = rnn.step_input(seq)
            prev = rnn.memory(shape=[-1, 12], batch_ref=w, init_value=0.1)
            h = layers.fc([w, prev], 12, act='tanh', param_attr=[ParamAttr('wx', initializer=Normal(0, .3), regularizer=L2Decay(.1)), ParamAttr('wh')], bias_attr=ParamAttr('b', learning_rate=3.0))
            rnn.update_memory(prev, h)
            rnn.step_output(h)
            rnn.output(layers.reduce_sum(h, 1, keep_dim=True))
        hs, sums = rnn()
        last = layers.reshape(layers.slice(hs, [0], [7], [8]), [-1, 12])
        loss = layers.mean(layers.softmax_with_cross_entropy(layers.fc(last, 8), y)) + 0.01 * layers.reduce_mean(sums)
        fluid.optimizer.Adadelta(0.5, epsilon=1e-5, rho=0.9).minimize(loss)
        loop('static_rnn', m, s, loss, feed)


def t_ifelse():
    with fresh() as (m, s):
        x, y = xy()
        flat = layers.reshape(x, [-1, 80])
        limit = layers.fill_constant_batch_size_like(x, [-1, 1], 'int64', 4)
        cond = layers.less_than(y, limit)
        ie = layers.IfElse(cond)
        with ie.true_block():
            a = ie.input(flat)
            ie.output(layers.fc(a, 8, act='tanh', name='low'))
        with ie.false_block():
            a = ie.input(flat)
            ie.output(layers.fc(a, 8, act='relu', name='high'))
        out = ie()
        logits = out[0] if isinstance(out, (list, tuple)) else out
        loss = layers.mean(layers.softmax_with_cross_entropy(logits, y))
        fluid.optimizer.DecayedAdagrad(0.1).minimize(loss)
        loop('ifelse', m, s, loss, feed)


def t_while():
    with fresh() as (m, s):
        x, y = xy()
        i = layers.fill_constant([1], 'int64', 0)
        n = layers.fill_constant([1], 'int64', 3)
        i.stop_gradient = n.stop_gradient = True
        h0 = layers.fc(layers.reshape(x, [-1, 80]), 8, act='tanh')
        arr = layers.array_write(h0, i)
        cond = layers.less_than(i, n)
        w = layers.While(cond)
        with w.block():
            prev = layers.array_read(arr, i)
            nxt = layers.fc(prev, 8, act='tanh', param_attr='shared_w', bias_attr='shared_b')
            layers.increment(i, 1, in_place=True)
            layers.array_write(nxt, i, arr)
            layers.less_than(i, n, cond=cond)
        last = layers.array_read(arr, n)
        loss = layers.mean(layers.softmax_with_cross_entropy(last, y))
        fluid.optimizer.RMSProp(0.05, centered=True, momentum=0.5).minimize(loss)
        loop('while', m, s, loss, feed, [layers.array_length(arr)])


def t_py_func():
    with fresh() as (m, s):
        x, y = xy()
        h = layers.fc(x, 8)
        out = m.current_block().create_var(name='pyout', dtype='float32', shape=[-1, 8])
        def fwd(a): return np.tanh(np.array(a))
        def bwd(a, o, do): return np.array(do) * (1 - np.square(np.array(o)))
        layers.py_func(func=fwd, x=h, out=out, backward_func=bwd)
        def show(a): print('debug', np.array(a).shape)
        layers.py_func(func=show, x=out, out=None)
        loss = layers.mean(layers.softmax_with_cross_entropy(out, y))
        fluid.optimizer.Adamax(0.1).minimize(loss)
        loop('py_func', m, s, loss, feed)


def t_clip_param():
    with fresh() as (m, s):
        x, y = xy()
        h = layers.fc(x, 16, act='relu', param_attr=ParamAttr('c1'), bias_attr=ParamAttr())
        p = layers.fc(h, 8, act='softmax', param_attr=ParamAttr('c2', initializer=NumpyArrayInitializer(np.linspace(-1, 1, 128).reshape(16, 8).astype('f')), trainable=True), bias_attr=ParamAttr('c2b', trainable=False))
        ce = layers.cross_entropy(p, y)
        ce_e = fluid.clip.ErrorClipByValue(1e-3)
        m.global_block().var(h.name).error_clip = ce_e
        loss = layers.mean(ce)
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(.1), param_list=['c2'])
        fluid.optimizer.LarsMomentum(.5, .9, lars_coeff=.01).minimize(loss, parameter_list=['c1', 'c2'])
        loop('clip_param', m, s, loss, feed)


def t_ma():
    with fresh() as (m, s):
        x, y = xy()
        p = basic(x)
        loss = layers.mean(layers.cross_entropy(p, y))
        test = m.clone(for_test=True)
        fluid.optimizer.SGD(layers.inverse_time_decay(.5, 2, .5, staircase=True)).minimize(loss)
        ma = fluid.optimizer.ModelAverage(.3, min_average_window=2, max_average_window=3)
        exe = loop('ma', m, s, loss, feed, n=5)
        with ma.apply(exe, need_restore=False):
            print('ma test %.6f' % exe.run(test, feed=feed(0), fetch_list=[loss])[0])
        ma.restore(exe)
        print('ma back %.6f' % exe.run(test, feed=feed(0), fetch_list=[loss])[0])


def t_two_optim():
    with fresh() as (m, s):
        x, y = xy()
        a = layers.fc(x, 8, param_attr='g.w', bias_attr='g.b', act='tanh')
        d = layers.fc(a, 8, param_attr='d.w', bias_attr='d.b')
        g_loss = layers.mean(layers.softmax_with_cross_entropy(d, y))
        d_loss = layers.mean(layers.sigmoid_cross_entropy_with_logits(d, layers.one_hot(y, 8), ignore_index=-1, normalize=True))
        gp = m.clone()
        with fluid.program_guard(gp, s):
            fluid.optimizer.Adam(.02, beta1=.5, name='net_G').minimize(gp.global_block().var(g_loss.name), parameter_list=['g.w', 'g.b'])
        dp = m.clone()
        with fluid.program_guard(dp, s):
            fluid.optimizer.Adam(.02, beta1=.5, name='net_D').minimize(dp.global_block().var(d_loss.name), parameter_list=['d.w', 'd.b'])
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(s)
        for i in range(4):
            print('gan %.6f %.6f' % (exe.run(gp, feed=feed(i), fetch_list=[g_loss.name])[0], exe.run(dp, feed=feed(i), fetch_list=[d_loss.name])[0]))
        print(sorted(v.name for v in gp.list_vars() if v.persistable), sorted(v.name for v in s.list_vars()))


def t_detect():
    with fresh() as (m, s):
        img = layers.data('img', [3, 24, 24])
        gt = layers.data('gt', [4, 4], append_batch_size=True)
        gl = layers.data('gl', [4], dtype='int32')
        f = layers.conv2d(img, 3 * 8, 3, stride=8, padding=1, param_attr=ParamAttr(initializer=Normal(0, .1)))
        loss = layers.mean(layers.yolov3_loss(f, gt, gl, [4, 6, 8, 9, 12, 10], [0, 1, 2], 3, .7, 8, use_label_smooth=False))
        size = layers.data('size', [2], dtype='int32')
        boxes, scores = layers.yolo_box(f, size, [4, 6, 8, 9, 12, 10], 3, .01, 8)
        pred = layers.multiclass_nms(boxes, layers.transpose(scores, [0, 2, 1]), .01, 20, 5, .4, True, background_label=-1)
        test = m.clone(for_test=True)
        fluid.optimizer.Momentum(layers.piecewise_decay([2, 4], [.01, .005, .001]), .9, regularization=L2Decay(5e-4)).minimize(loss)
        r = np.random.RandomState(3)
        fd = {'img': r.rand(2, 3, 24, 24).astype('f'), 'gt': r.uniform(.2, .6, (2, 4, 4)).astype('f'), 'gl': r.randint(0, 3, (2, 4)).astype('i4'), 'size': np.array([[24, 24], [30, 20]], 'i4')}
        exe = loop('yolo', m, s, loss, lambda i: fd)
        o, = exe.run(test, feed=fd, fetch_list=[pred], return_numpy=False)
        print(o.lod(), o.shape(), '%.4f' % np.array(o).sum())


def t_aux():
    with fresh() as (m, s):
        x, y = xy()
        p = basic(x)
        loss = layers.mean(layers.cross_entropy(p, y))
        acc1, acc5 = layers.accuracy(p, y, k=1), layers.accuracy(p, y, k=5)
        auc, batch_auc, states = layers.auc(layers.concat([1 - layers.reduce_max(p, 1, keep_dim=True), layers.reduce_max(p, 1, keep_dim=True)], 1), layers.cast(layers.less_than(y, layers.fill_constant_batch_size_like(y, [-1, 1], 'int64', 4)), 'int64'), num_thresholds=200, slide_steps=2)
        fluid.optimizer.Ftrl(.1, l1=.01, l2=.02).minimize(loss)
        exe = loop('aux', m, s, loss, feed, [acc1, acc5, auc, batch_auc])
        for v in states:
            core_t = fluid.global_scope().find_var(v.name).get_tensor()
            core_t.set(np.zeros(core_t.shape(), 'int64'), fluid.CPUPlace())
        print('auc again %.5f' % exe.run(m, feed=feed(0), fetch_list=[auc])[0])


def t_amp():
    with fresh() as (m, s):
        x, y = xy()
        loss = layers.mean(layers.cross_entropy(basic(x), y))
        opt = fluid.optimizer.Lamb(.01, lamb_weight_decay=.01, exclude_from_weight_decay_fn=lambda p: p.name.endswith('b_0'))
        opt.minimize(loss)
        loop('lamb', m, s, loss, feed)


def t_slots():
    with fresh() as (m, s):
        ids = [layers.data('s%d' % i, [1], dtype='int64', lod_level=1) for i in range(3)]
        y = layers.data('y', [1], dtype='int64')
        embs = [layers.sequence_pool(fluid.input.embedding(layers.reshape(i, [-1, 1]), [50, 6], is_sparse=True, param_attr='emb') if False else layers.embedding(i, [50, 6], is_sparse=True, padding_idx=0, param_attr='emb'), 'sqrt') for i in ids]
        deep = layers.concat(embs, 1)
        for k in range(2):
            deep = layers.fc(deep, 8, act='relu', param_attr=ParamAttr(initializer=Normal(scale=1 / math.sqrt(deep.shape[1]))))
        pair = layers.sums([layers.elementwise_mul(embs[a], embs[b]) for a in range(3) for b in range(a)])
        p = layers.fc([deep, pair], 2, act='softmax')
        loss = layers.mean(layers.cross_entropy(p, y))
        fluid.optimizer.Adam(.05, lazy_mode=True).minimize(loss)
        r = np.random.RandomState(1)
        feeder = fluid.DataFeeder(ids + [y], fluid.CPUPlace())
        data = [[[int(v) for v in r.randint(0, 50, r.randint(1, 5))] for _ in range(3)] + [int(r.randint(2))] for _ in range(12)]
        loop('slots', m, s, loss, lambda i: feeder.feed(data[i * 3:i * 3 + 6]))


for name, f in sorted(list(globals().items())):
    if name.startswith('t_'):
        f()

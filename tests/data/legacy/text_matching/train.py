#!/usr/bin/env python
# -*- coding: utf-8 -*-
"""A notebook of 2019: pandas, sklearn-free split, jieba-free tokens, VisualDL-free logging, image-free text matching."""
from __future__ import print_function
import os, sys, json, time, random, argparse, collections, itertools, math, multiprocessing, pickle, shutil, codecs, re
from collections import OrderedDict, defaultdict, namedtuple
import numpy as np
import six
from six.moves import xrange, zip, map, range, cPickle
import paddle
import paddle.fluid as fluid
from paddle.fluid.layers import *
import paddle.fluid.layers.nn as nn
import paddle.fluid.layers.tensor as T
import paddle.fluid.layers.control_flow as cf
from paddle.fluid.initializer import NumpyArrayInitializer, UniformInitializer, MSRAInitializer
from paddle.fluid.framework import Program, default_main_program, default_startup_program, program_guard
from paddle.fluid.executor import global_scope
from paddle.fluid.regularizer import L2Decay
from paddle.fluid.metrics import CompositeMetric, Precision, Recall, Accuracy, Auc
try:
    from paddle.fluid.contrib.slim.quantization import QuantizationTransformPass
except ImportError:
    pass
reload_ok = True
reader_tool = paddle.reader

def tokenize(s):
    return [w for w in re.split(r'(\W+)?', s) if w and w.strip()] if sys.version_info[0] == 2 else [w for w in re.split(r'\W+', s) if w]

def load_corpus(path):
    data = []
    with codecs.open(path, 'r', 'utf-8') as f:
        for line in f:
            cols = line.rstrip(u'\r\n').split(u'\t')
            assert len(cols) == 3, line
            data.append((tokenize(cols[0]), tokenize(cols[1]), int(cols[2])))
    return data

def make(path, n):
    random.seed(8)
    words = u'how what is the best way to learn python java quickly money a 学 习 好'.split()
    with codecs.open(path, 'w', 'utf-8') as f:
        for i in xrange(n):
            a = [random.choice(words) for _ in xrange(random.randint(3, 7))]
            l = i % 2
            b = list(a) if l else [random.choice(words) for _ in xrange(random.randint(3, 7))]
            random.shuffle(b)
            f.write(u' '.join(a) + u'\t' + u' '.join(b) + u'\t%d\n' % l)

class Config(object):
    emb, hid, lr, epochs, bs = 10, 12, 0.01, 3, 10
    def __str__(self):
        return json.dumps(OrderedDict(sorted((k, v) for k, v in Config.__dict__.items() if not k.startswith('_'))))

def cdssm(q, t, V, emb_init):
    def enc(x):
        e = embedding(x, size=[V, Config.emb], param_attr=fluid.ParamAttr(name='emb.w', initializer=NumpyArrayInitializer(emb_init), trainable=True))
        c = fluid.nets.sequence_conv_pool(input=e, num_filters=Config.hid, filter_size=3, act='tanh', pool_type='max', param_attr='conv.w', bias_attr='conv.b')
        return fc(c, Config.hid, act='tanh', param_attr='fc.w', bias_attr='fc.b')
    return enc(q), enc(t)

def infersent(q, t, V, emb_init):
    def enc(x):
        e = embedding(x, size=[V, Config.emb], param_attr=fluid.ParamAttr(name='emb.w', initializer=NumpyArrayInitializer(emb_init)))
        p = fc(e, Config.hid * 4, param_attr='pf.w', bias_attr=False); r = fc(e, Config.hid * 4, param_attr='pr.w', bias_attr=False)
        f_, _ = dynamic_lstm(p, Config.hid * 4, use_peepholes=True, param_attr=fluid.ParamAttr(name='lf.w'), bias_attr=fluid.ParamAttr(name='lf.b'))
        b_, _ = dynamic_lstm(r, Config.hid * 4, is_reverse=True, use_peepholes=True, param_attr=fluid.ParamAttr(name='lb.w'), bias_attr=fluid.ParamAttr(name='lb.b'))
        return sequence_pool(concat([f_, b_], axis=1), 'max')
    return enc(q), enc(t)

def decomposable(q, t, V, emb_init):
    def e(x):
        x = embedding(x, size=[V, Config.emb], param_attr=fluid.ParamAttr(name='emb.w', initializer=NumpyArrayInitializer(emb_init)))
        return fc(x, Config.hid, param_attr='proj.w', bias_attr=False)
    a, b = e(q), e(t)
    att = fluid.nets.scaled_dot_product_attention
    pad = fluid.layers.assign(np.zeros(1, dtype='float32'))
    pa, la = sequence_pad(a, pad, maxlen=8); pb, lb = sequence_pad(b, pad, maxlen=8)
    beta = att(pa, pb, pb, num_heads=1); alpha = att(pb, pa, pa, num_heads=1)
    va = sequence_pool(sequence_unpad(concat([pa, beta], 2), la), 'sum'); vb = sequence_pool(sequence_unpad(concat([pb, alpha], 2), lb), 'sum')
    return va, vb

def main():
    if not os.path.exists('work'):
        os.makedirs('work')
    make('work/all.txt', 90)
    data = load_corpus('work/all.txt')
    vocab = defaultdict(int)
    for a, b, _ in data:
        for w in itertools.chain(a, b):
            vocab[w] += 1
    vocab = dict((w, i) for i, (w, _) in enumerate(sorted(vocab.items(), key=lambda kv: (-kv[1], kv[0]))))
    with open('work/vocab.pkl', 'wb') as f:
        cPickle.dump(vocab, f, protocol=2)
    vocab = cPickle.load(open('work/vocab.pkl', 'rb'))
    data = [([[vocab[w]] for w in a], [[vocab[w]] for w in b], [l]) for a, b, l in data]
    train, test = data[:70], data[70:]
    print(Config(), len(vocab))
    emb_init = np.random.RandomState(0).uniform(-0.2, 0.2, (len(vocab), Config.emb)).astype(np.float32)
    for name, encoder in (('cdssm', cdssm), ('infersent', infersent), ('dec_att', decomposable)):
        prog, start = Program(), Program()
        prog.random_seed, start.random_seed = 17, 17
        with program_guard(prog, start), fluid.unique_name.guard():
            q = fluid.layers.data('q', [1], dtype='int64', lod_level=1); t = fluid.layers.data('t', [1], dtype='int64', lod_level=1); y = fluid.layers.data('y', [1], dtype='int64')
            a, b = encoder(q, t, len(vocab), emb_init)
            feat = concat([a, b, fluid.layers.abs(elementwise_sub(a, b)), elementwise_mul(a, b)], axis=1)
            h = dropout(fc(feat, 16, act='relu', param_attr=fluid.ParamAttr(initializer=MSRAInitializer(uniform=False))), 0.1)
            pred = fc(h, 2, act='softmax')
            cost = fluid.layers.mean(cross_entropy(pred, y)); acc = accuracy(pred, y)
            cs = fluid.layers.mean(cos_sim(a, b))
            test_prog = prog.clone(for_test=True)
            lr = exponential_decay(Config.lr, 10, 0.9) if name != 'infersent' else cosine_decay(Config.lr, 7, 3)
            opt = fluid.optimizer.Adam(lr, regularization=L2Decay(1e-4)) if name != 'dec_att' else fluid.optimizer.LarsMomentum(0.1, 0.9)
            opt.minimize(cost)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(start)
        feeder = fluid.DataFeeder(feed_list=['q', 't', 'y'], program=prog, place=fluid.CPUPlace())
        metric = CompositeMetric(); p_, r_ = Precision(), Recall(); metric.add_metric(p_); metric.add_metric(r_)
        auc = Auc('auc', num_thresholds=100); accm = Accuracy()
        best = 0
        for epoch in xrange(Config.epochs):
            losses = []
            for batch in paddle.batch(paddle.reader.buffered(lambda: iter(train), 20), Config.bs)():
                l, ac, c, cur = exe.run(prog, feed=feeder.feed(batch), fetch_list=[cost, acc, cs, lr if name != 'dec_att' else cost])
                losses.append(l[0])
            for m in (p_, r_, auc, accm): m.reset()
            for batch in paddle.batch(lambda: iter(test), 7, drop_last=False)():
                pr, ac = exe.run(test_prog, feed=feeder.feed(batch), fetch_list=[pred, acc])
                lab = np.array([d[2] for d in batch]); metric.update(np.round(pr[:, 1:2]), lab); auc.update(preds=pr, labels=lab); accm.update(value=ac, weight=len(batch))
            pp, rr = metric.eval()
            print('%s epoch %d loss %.6f last acc %.4f cos %.5f lr %.7f P %.4f R %.4f auc %.5f acc %.5f' % (name, epoch, np.mean(losses), ac, c, cur, pp, rr, auc.eval(), accm.eval()))
            if accm.eval() >= best:
                best = accm.eval()
                fluid.io.save_inference_model('work/' + name, ['q', 't'], [pred], exe, main_program=prog, params_filename='params', export_for_deployment=True)
        with fluid.scope_guard(fluid.Scope()):
            [ip, names, targets] = fluid.io.load_inference_model('work/' + name, exe, params_filename='params')
            out = exe.run(ip, feed=dict(zip(names, [feeder.feed(test[:4])[n] for n in names])), fetch_list=targets)[0]
            print(name, names, ' '.join('%.5f' % v for v in out.ravel()))

if __name__ == '__main__':
    main()

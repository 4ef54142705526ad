#!/usr/bin/env python
# -*- coding: utf-8 -*-
import sys
reload(sys)
sys.setdefaultencoding('utf-8')
import os, random, cPickle as pickle, cStringIO, itertools, time, operator, traceback, getopt, warnings
import numpy as np
import paddle, paddle.fluid as fluid
from paddle.fluid import layers as L
from config import Config
import utils

class NoDataError(Exception):
    def __init__(self, fn, n=0):
        self.fn = fn; self.n = n
    def __str__(self):
        return 'no data in ' + self.fn + ' ' + `self.n`

def gen(fn, n, seed):
    random.seed(seed)
    pos = u'喜欢 好看 精彩 感人'.split(); neg = u'难看 无聊 失望 糟糕'.split(); neu = [u'电影', u'演员', u'故事', u'the', u'一个', u'3D']
    with open(fn, 'w') as f:
        for i in range(n):
            y = random.randrange(2)
            ws = [random.choice((neg, pos)[y]) for _ in range(random.randint(1, 3))] + random.sample(neu, 3)
            random.shuffle(ws)
            s = u'，'.join(ws) + u'。'
            f.write(('%d\t%s\n' % (y, s)).encode('utf-8'))

def reader_creator(fn, wd, shuffle=False):
    unk = wd[u'<unk>']
    def reader():
        data = open(fn).read().split('\n')
        data.pop()
        if shuffle:
            random.Random(9).shuffle(data)
        for ln in data:
            y, s = ln.split('\t')
            ids = map(lambda w: wd.get(w, unk), utils.tokenize(s))
            yield ids, map(lambda c: ord(c[-1]) % 64, utils.chars(s.decode('utf8'))), int(y)
    return reader

def net(words, chs, label, cfg, n):
    e = L.embedding(words, [n, cfg.emb], is_sparse=True, param_attr=fluid.ParamAttr(u'emb_w', learning_rate=2.0))
    c = L.embedding(chs, [64, cfg['emb'] / 2])
    fw = L.dynamic_gru(L.fc(e, cfg.hid / 2 * 3, bias_attr=False), cfg.hid / 2)
    bw = L.dynamic_gru(L.fc(e, cfg.hid / 2 * 3), cfg.hid / 2, is_reverse=True, origin_mode=True)
    cc = fluid.nets.sequence_conv_pool(c, 8, 3, act='relu', pool_type='max')
    h = L.concat(map(lambda x: L.sequence_pool(x, 'max'), [fw, bw]) + [cc], 1)
    h = L.layer_norm(L.fc(h, cfg.hid, act='tanh'))
    return L.fc(h, 2)

def usage():
    print >> sys.stderr, 'usage: train.py [-h] [-p N]'

def main(argv):
    try:
        opts, rest = getopt.getopt(argv, 'hp:', ['help', 'passes='])
    except getopt.GetoptError, err:
        print >> sys.stderr, str(err); usage(); sys.exit(2)
    with open('net.cfg', 'w') as f:
        f.write('[net]\nhid: 16\nlr = 0.02\n; comment\nname = 影评\n')
    cfg = Config('net.cfg')
    print cfg
    for o, a in opts:
        if o in ('-p', '--passes'): cfg.passes = int(a)
    gen('train.txt', 120, 3); gen('test.txt', 30, 4)
    wd = utils.build_dict('train.txt')
    utils.save_dict(wd, 'dict.txt')
    back = utils.load_dict('dict.txt')
    assert back == dict(wd), 'dict differs'
    print 'dict', len(wd), u'/'.join(wd.keys()[:6]), repr(wd.keys()[3]), max(len(w) for w in wd), max([len(w.encode('utf8')) for w in wd])
    print '%-10s|%5.1f|%05d|%s|%r|%x' % (u'影评'.encode('utf-8'), 7 / 2, 42, [u'好', '好'], '好', 255)
    print u'%s=%s' % ('分类', u'器'), '影评' + u'集', '%s' % u'x', len('影评' + u'集'), cmp('a', 'b'), (1, 'a') < (1, u'b')
    try:
        raise NoDataError, ('dev.txt', 3)
    except (NoDataError, IOError), e:
        print 'caught', e
    try:
        open('/nonexistent/x')
    except IOError as (errno, msg):
        print 'io', errno, msg
    buf = cStringIO.StringIO(); pickle.dump((wd, cfg), buf, pickle.HIGHEST_PROTOCOL)
    wd, cfg = pickle.loads(buf.getvalue())
    main_prog, startup = fluid.Program(), fluid.Program()
    main_prog.random_seed = startup.random_seed = 1000
    with fluid.program_guard(main_prog, startup):
        words = L.data('words', [1], dtype='int64', lod_level=1); chs = L.data('chars', [1], dtype='int64', lod_level=1); label = L.data('label', [1], dtype='int64')
        logit = net(words, chs, label, cfg, len(wd))
        loss = L.mean(L.softmax_with_cross_entropy(logit, label)); acc = L.accuracy(L.softmax(logit), label)
        test_prog = main_prog.clone(for_test=True)
        lr = L.noam_decay(cfg.hid, 20) * float(cfg.lr) * 20
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByNorm(2.))
        fluid.optimizer.AdamOptimizer(lr, regularization=fluid.regularizer.L2Decay(1e-4)).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace()); exe.run(startup)
    feeder = fluid.DataFeeder([words, chs, label], fluid.CPUPlace(), program=main_prog)
    train = paddle.batch(reader_creator('train.txt', wd, True), batch_size=120 / 10)
    test = paddle.batch(reader_creator('test.txt', wd), batch_size=10)
    step = 0
    for p in xrange(cfg.passes + 2):
        for b, data in enumerate(train()):
            l, a, r = exe.run(main_prog, feed=feeder.feed(data), fetch_list=[loss, acc, lr])
            step += 1
            print "pass %d batch %d loss %f acc %s lr %.6f" % (p, b, l, a, r)
        res = [map(float, exe.run(test_prog, feed=feeder.feed(d), fetch_list=[loss.name, acc.name])) for d in test()]
        tl, ta = map(lambda x: sum(x) / len(x), zip(*res))
        print 'test', p, '%.5f' % tl, round(ta, 3), `step`
        if p % 2 == 0:
            fluid.io.save_persistables(exe, 'ckpt/%d' % p, main_prog)
    names = filter(lambda n: not n.startswith('learning'), sorted(os.listdir('ckpt/0')))
    print len(names), [n for n in names if 'fc' in n][:4], [n for n in names if 'emb' in n]
    w = np.array(fluid.global_scope().find_var('emb_w').get_tensor())
    print w.shape, '%.6f' % w.sum(), os.path.getsize('ckpt/0/emb_w')
    before = reduce(operator.add, [float(np.abs(np.array(fluid.global_scope().find_var(v.name).get_tensor())).sum()) for v in main_prog.list_vars() if fluid.io.is_parameter(v)])
    print 'params %.4f' % before
    fluid.io.load_persistables(exe, 'ckpt/2', main_prog)
    print 'back %.5f' % np.mean([exe.run(test_prog, feed=feeder.feed(d), fetch_list=[loss])[0] for d in test()])
    z = map(None, [1, 2, 3], ['a', 'b']); print z, zip(*[iter('abcdef')] * 3), apply(max, (3, 9 / 2)), intern('abc'), coerce(1, 2.), buffer('abc', 1, 1), 2 ** 40, sys.maxint

if __name__ == '__main__':
    main(sys.argv[1:])

# -*- coding: utf-8 -*-
"""Semantic roles with eight features and a CRF (Python 2)."""
import ConfigParser, StringIO, cPickle as pickle, commands, itertools, math, os, string, sys, time, urllib2, types, threading, Queue
from collections import defaultdict
import numpy as np
import paddle
import paddle.fluid as fluid
reload(sys)
sys.setdefaultencoding('utf-8')

CONF = u"""[net]
word_dim = 6
mark_dim = 3
hidden_dim = 12
depth = 4
[train]
passes = 5
batch = 6
lr = 0.03
names = 甲,乙,丙
""".encode('utf8')
cfg = ConfigParser.RawConfigParser()
cfg.readfp(StringIO.StringIO(CONF))
hid, depth = cfg.getint('net', 'hidden_dim'), cfg.getint('net', 'depth')
WORDS = dict([(w, i) for i, w in enumerate(sorted([a + b for a in 'abcdef' for b in string.lowercase[:6]]))])
LABELS = ['B-A0', 'I-A0', 'B-V', 'O']
VERBS = dict(zip(string.uppercase[:5], xrange(5)))

def sentences(n, seed):
    rnd = np.random.RandomState(seed)
    for i in xrange(n):
        k = rnd.randint(3, 8)
        ws = [sorted(WORDS.keys())[j] for j in rnd.randint(0, len(WORDS), k)]
        v = rnd.randint(k)
        labels = ['O'] * k
        labels[v] = 'B-V'
        if v >= 1:
            labels[0] = 'B-A0'
            labels[1:v / 2 + 1] = ['I-A0'] * (v / 2)
        labels[v] = 'B-V'
        yield ws, v, labels, string.uppercase[rnd.randint(5)]

def reader_creator(n, seed):
    def reader():
        for ws, v, labels, verb in sentences(n, seed):
            k = len(ws)
            ctx = lambda o: ws[v + o] if 0 <= v + o < k else ('bos' if o < 0 else 'eos')
            mark = [int(abs(i - v) <= 1) for i in range(k)]
            idx = [WORDS.get(w, 0) for w in ws]
            yield [idx] + [[WORDS.get(ctx(o), len(WORDS))] * k for o in (-2, -1, 0, 1, 2)] + [[VERBS[verb]] * k, mark, map(LABELS.index, labels)]
    return reader

def db_lstm(feats, predicate, mark):
    pe = fluid.layers.embedding(input=predicate, size=[len(VERBS), 6], dtype='float32', is_sparse=False, param_attr='vemb')
    me = fluid.layers.embedding(input=mark, size=[2, cfg.getint('net', 'mark_dim')], dtype='float32')
    embs = [fluid.layers.embedding(size=[len(WORDS) + 1, cfg.getint('net', 'word_dim')], input=x, param_attr=fluid.ParamAttr(name='emb', trainable=False)) for x in feats] + [pe, me]
    hidden0 = fluid.layers.sums(input=[fluid.layers.fc(input=e, size=hid, act='tanh') for e in embs])
    lstm0 = fluid.layers.dynamic_lstm(input=hidden0, size=hid, candidate_activation='relu', gate_activation='sigmoid', cell_activation='sigmoid')
    tmp = [hidden0, lstm0]
    for i in range(1, depth):
        mix = fluid.layers.sums(input=[fluid.layers.fc(input=tmp[0], size=hid, act='tanh'), fluid.layers.fc(input=tmp[1], size=hid, act='tanh')])
        tmp = [mix, fluid.layers.dynamic_lstm(input=mix, size=hid, candidate_activation='relu', gate_activation='sigmoid', cell_activation='sigmoid', is_reverse=(i % 2) == 1)]
    return fluid.layers.sums(input=[fluid.layers.fc(input=t, size=len(LABELS), act='tanh') for t in tmp])

def load_parameter(h, w): return np.array([math.sin(i * .7) * .3 for i in xrange(h * w)], dtype=np.float32).reshape(h, w)

def main():
    print 'sizes', cfg.get('train', 'names').decode('utf8').split(u',')[0].encode('utf8'), len(cfg.get('train', 'names')) / 2, 7 / 2.0
    names = ['word_data', 'ctx_n2_data', 'ctx_n1_data', 'ctx_0_data', 'ctx_p1_data', 'ctx_p2_data', 'verb_data', 'mark_data', 'target']
    v = dict((n, fluid.layers.data(name=n, shape=[1], dtype='int64', lod_level=1)) for n in names)
    fluid.default_startup_program().random_seed = 31
    fluid.default_main_program().random_seed = 31
    out = db_lstm([v[n] for n in names[:6]], v['verb_data'], v['mark_data'])
    crf = fluid.layers.linear_chain_crf(input=out, label=v['target'], param_attr=fluid.ParamAttr(name='crfw', learning_rate=0.1))
    cost = fluid.layers.mean(crf)
    sgd = fluid.optimizer.SGD(learning_rate=fluid.layers.exponential_decay(learning_rate=cfg.getfloat('train', 'lr'), decay_steps=1000, decay_rate=0.5, staircase=True))
    sgd.minimize(cost)
    dec = fluid.layers.crf_decoding(input=out, param_attr=fluid.ParamAttr(name='crfw'))
    (prec, rec, f1, ni, nl, nc) = fluid.layers.chunk_eval(input=dec, label=v['target'], chunk_scheme="IOB", num_chunk_types=int(math.ceil((len(LABELS) - 1) / 2.0)))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    fluid.global_scope().find_var('emb').get_tensor().set(load_parameter(len(WORDS) + 1, 6), fluid.CPUPlace())
    feeder = fluid.DataFeeder(feed_list=[v[n] for n in names], place=fluid.CPUPlace())
    metric = fluid.metrics.ChunkEvaluator()
    it = 0
    q = Queue.Queue(4)
    def fill():
        for b in paddle.batch(paddle.reader.buffered(reader_creator(66, 1), 20), cfg.getint('train', 'batch'))(): q.put(b)
        q.put(None)
    for p in xrange(cfg.getint('train', 'passes')):
        t = threading.Thread(target=fill)
        t.daemon = True
        t.start()
        metric.reset()
        for b in iter(q.get, None):
            c, a, bb, d = exe.run(feed=feeder.feed(b), fetch_list=[cost, ni, nl, nc])
            metric.update(a, bb, d)
            it += 1
            print 'batch %d cost %.6f f1 %.5f' % (it, c[0], metric.eval()[2])
        print >>sys.stdout, "pass", p, "%.4f %.4f %.4f" % tuple(metric.eval())
    fluid.io.save_inference_model('srl', names[:8], [dec], exe)
    files = filter(lambda f: f.startswith('fc'), sorted(os.listdir('srl')))
    print len(files), files[:2], len(files) / 2, 1.5
    prog, feeds, fetch = fluid.io.load_inference_model('srl', exe)
    rows = list(reader_creator(3, 8)())
    lens = [[len(r[0]) for r in rows]]
    f = dict((n, fluid.create_lod_tensor(np.array(sum([r[i] for r in rows], [])).reshape(-1, 1).astype('int64'), lens, fluid.CPUPlace())) for i, n in enumerate(feeds))
    o, = exe.run(prog, feed=f, fetch_list=fetch, return_numpy=False)
    tags = np.array(o).ravel()
    print string.join([LABELS[i] for i in tags], ' '), '%.1f' % tags.sum()
    d = defaultdict(int)
    for ws, _, ls, _ in sentences(40, 5):
        for l in ls: d[l] += 1
    print sorted(d.items(), cmp=lambda a, b: cmp(b[1], a[1])), float(sum(d.values())) / len(d), repr(u'\u7532'), `1.50`, 0.1 + 0.2, 1e16, str(1 / 3.), round(2.5)
    exec "z = 3 / 2" in globals()
    print z, 010, 0xFFl, -7 / 2, 3L, u'x' 'y', 5 <> 4, 1.25

if __name__ == '__main__': main()

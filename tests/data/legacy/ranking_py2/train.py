# -*- coding: gbk -*-
"""LETOR ranking (pairwise, listwise) and item2vec with negative sampling; gbk source, Python 2"""
import sys, os, re, math, random, operator, string, itertools, time, traceback, codecs, cPickle, bz2, zipfile, StringIO, locale, textwrap, difflib, hashlib, base64, binascii, shlex, warnings
import numpy as np, paddle, paddle.fluid as fluid
from paddle.fluid import layers

NAME = '排序'
UNAME = u'排序'
print len(NAME), len(UNAME), NAME.decode('gbk') == UNAME, repr(UNAME), binascii.hexlify(NAME), base64.b64encode(NAME)

class Query:
    def __init__(self, qid, docs): self.qid, self.docs = qid, docs
    def __len__(self): return len(self.docs)
    def __getitem__(self, i): return self.docs[i]
    def __cmp__(self, other): return cmp(self.qid, other.qid)
    def __hash__(self): return hash(self.qid)
    def pairs(self):
        for a, b in itertools.combinations(self, 2):
            if a[0] <> b[0]: yield (a, b) if a[0] > b[0] else (b, a)

def write(fn, nq, seed):
    r = random.Random(seed); z = zipfile.ZipFile(fn, 'w', zipfile.ZIP_DEFLATED); lines = []
    for q in range(nq):
        for d in range(r.randint(3, 6)):
            f = [r.uniform(-1, 1) for _ in xrange(6)]
            rel = max(0, min(2, int(round(f[0] + f[1] * f[2] + .5 + .5))))
            lines.append('%d qid:%d %s # doc%d %s' % (rel, q, ' '.join('%d:%.6f' % (i + 1, v) for i, v in enumerate(f)), d, NAME))
    z.writestr('fold1/train.txt', '\r\n'.join(lines)); z.writestr('readme', NAME); z.close()

PAT = re.compile(r'^(?P<rel>\d) qid:(\d+) ((?:\d+:\S+ ?)+)# (.*)$')
def load(fn):
    z = zipfile.ZipFile(fn); qs = {}
    assert z.read('readme') == NAME
    for line in z.read('fold1/train.txt').splitlines():
        m = PAT.match(line)
        if m is None: print >> sys.stderr, 'skip', line; continue
        rel, qid, feats, note = m.groups()
        v = dict([(int(k), float(x)) for k, x in [p.split(':') for p in feats.split()]])
        qs.setdefault(int(qid), []).append((int(rel), map(v.get, range(1, 7)), note.split()[0]))
    return sorted([Query(k, v) for k, v in qs.iteritems()])

def tower(x, name):
    h = layers.fc(x, 10, act='relu', param_attr='%s_w1' % name, bias_attr='%s_b1' % name)
    return layers.fc(h, 1, param_attr='%s_w2' % name, bias_attr='%s_b2' % name)
def pairwise():
    a, b, lab = layers.data('a', [6]), layers.data('b', [6]), layers.data('lab', [1])
    return layers.mean(layers.rank_loss(lab, tower(a, 'r'), tower(b, 'r'))), 'a b lab'.split()
def hinge():
    a, b = layers.data('a', [6]), layers.data('b', [6]); one = layers.fill_constant_batch_size_like(a, [-1, 1], 'float32', 1)
    return layers.mean(layers.margin_rank_loss(one, tower(a, 'r'), tower(b, 'r'), margin=.3)), ['a', 'b']
def listwise():
    x = layers.data('x', [6], lod_level=1); y = layers.data('y', [1], lod_level=1)
    p = layers.sequence_softmax(tower(x, 'r')); t = layers.sequence_softmax(y); t.stop_gradient = True
    return layers.mean(layers.sequence_pool(layers.cross_entropy(layers.concat([p, 1 - p], 1), layers.concat([t, 1 - t], 1), soft_label=True), 'sum')), ['x', 'y']

def feeds(qs, kind):
    if kind == 'listwise':
        for k in range(0, len(qs), 4):
            part = qs[k:k + 4]; lens = [map(len, part)]
            yield {'x': fluid.create_lod_tensor(np.array([d[1] for q in part for d in q], 'float32'), lens, fluid.CPUPlace()),
                   'y': fluid.create_lod_tensor(np.array([[d[0]] for q in part for d in q], 'float32'), lens, fluid.CPUPlace())}
    else:
        ps = reduce(operator.add, [list(q.pairs()) for q in qs]); random.Random(1).shuffle(ps)
        while ps:
            part, ps = ps[:16], ps[16:]
            f = {'a': np.array([p[0][1] for p in part], 'f'), 'b': np.array([p[1][1] for p in part], 'f'), 'lab': np.ones((len(part), 1), 'f')}
            if kind == 'hinge': del f['lab']
            yield f

def ndcg(qs, score, k=3):
    tot = 0
    for q in qs:
        s = score(np.array([d[1] for d in q], 'f'))
        order = sorted(range(len(q)), lambda i, j: cmp(s[j], s[i]))
        dcg = lambda rels: sum((2 ** r - 1) / math.log(i + 2, 2) for i, r in enumerate(rels[:k]))
        best = dcg(sorted([d[0] for d in q], reverse=True)); tot += dcg([q[i][0] for i in order]) / best if best else 1
    return tot / len(qs)

def rank():
    write('mq.zip', 16, 4); qs = load('mq.zip')
    print len(qs), sum(map(len, qs)), qs[0][0][2], '%.4f' % sum(sum(d[1]) for q in qs for d in q), [q.qid for q in qs if q > qs[11]]
    for kind, make in sorted(dict(pairwise=pairwise, hinge=hinge, listwise=listwise).items()):
        main, start = fluid.Program(), fluid.Program(); start.random_seed = 31
        with fluid.program_guard(main, start), fluid.scope_guard(fluid.Scope()):
            loss, names = make()
            infer = fluid.Program()
            with fluid.program_guard(infer, fluid.Program()): s = tower(layers.data('f', [6]), 'r')
            {'h': fluid.optimizer.RMSProp(.01), 'l': fluid.optimizer.Adamax(.02), 'p': fluid.optimizer.AdadeltaOptimizer(1.0, rho=.9)}[kind[0]].minimize(loss)
            exe = fluid.Executor(fluid.CPUPlace()); exe.run(start); n = 0
            for ep in range(5):
                for f in feeds(qs, kind):
                    l, = exe.run(main, feed=f, fetch_list=[loss]); n += 1
                    if n % 2: print kind, n, 'loss', round(l, 5)
                print kind, 'ndcg %.5f' % ndcg(qs, lambda x: exe.run(infer, feed={'f': x}, fetch_list=[s])[0].ravel().tolist())
            path = os.path.join('models', kind); fluid.io.save_params(exe, path, main)
            print {True: 'saved', False: 'lost'}[os.path.exists(path)], ','.join(sorted(os.listdir(path)))

def item2vec():
    r = random.Random(9); sessions = [[(s * 3 + r.choice([0, 1, 1, 2, 5])) % 23 for _ in xrange(6)] for s in xrange(20)]
    f = bz2.BZ2File('s.bz2', 'w'); f.writelines([' '.join(map(str, s)) + '\n' for s in sessions]); f.close()
    freq = {}
    for l in bz2.BZ2File('s.bz2'):
        for w in l.split(): freq[w] = freq.get(w, 0) + 1
    vocab = dict((w, i) for i, (w, c) in enumerate(sorted(freq.iteritems(), key=lambda (w, c): (-c, int(w)))))
    counts = [freq[w] for w in sorted(vocab, key=vocab.get)]
    center, ctx = layers.data('center', [1], dtype='int64'), layers.data('ctx', [1], dtype='int64')
    main = fluid.default_main_program(); main.random_seed = fluid.default_startup_program().random_seed = 17
    emb = layers.embedding(center, [len(vocab), 8], is_sparse=True, param_attr=fluid.ParamAttr('item', initializer=fluid.initializer.Uniform(-.5 / 8, .5 / 8)))
    cost = layers.nce(emb, ctx, len(vocab), num_neg_samples=4, sampler='custom_dist', custom_dist=[c * 1. / sum(counts) for c in counts], param_attr='nce_w', bias_attr='nce_b', seed=3)
    hs = layers.hsigmoid(emb, ctx, len(vocab), param_attr='hs_w')
    loss = layers.mean(cost) + layers.mean(hs) / 2
    fluid.optimizer.SGD(layers.natural_exp_decay(.5, 10, .1)).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace()); exe.run(fluid.default_startup_program())
    def batches():
        for l in bz2.BZ2File('s.bz2'):
            ids = [vocab[w] for w in l.split()]
            for i, c in enumerate(ids):
                for j in range(max(0, i - 2), min(len(ids), i + 3)):
                    if i <> j: yield c, ids[j]
    feeder = fluid.DataFeeder([center, ctx], fluid.CPUPlace())
    for ep in range(2):
        for b, d in enumerate(paddle.batch(batches, 24)()):
            h, l = exe.run(feed=feeder.feed(d), fetch_list=[hs, loss])
            if b % 3 == 0: print 'item2vec', ep, b, '%.5f' % h.mean(), l.shape
if __name__ == '__main__':
    rank(); item2vec()

"""Knowledge graph embeddings: TransE/TransH/TransR/DistMult/RotatE; generator threads, hits@k, early stop, checkpoints."""
from __future__ import print_function, division, unicode_literals
import argparse, io, os, sys, threading, abc, six, collections, itertools, contextlib
from six.moves import queue, range, zip, cPickle as pickle
import numpy as np
import paddle, paddle.fluid as fluid
import paddle.fluid.layers as L

parser = argparse.ArgumentParser('kge', fromfile_prefix_chars='@', formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument('--models', nargs='+', default=['TransE', 'TransH', 'TransR', 'DistMult', 'RotatE'])
parser.add_argument('--dim', type=int, default=8); parser.add_argument('--margin', type=float, default=2.); parser.add_argument('--epochs', type=int, default=4)
parser.add_argument('--no_filter', dest='filtered', action='store_false')
args = parser.parse_args(['@args.txt'] + sys.argv[1:])

class Graph(object):
    def __init__(self, n_ent=17, n_rel=3, seed=5):
        rng = np.random.RandomState(seed); self.n_ent, self.n_rel = n_ent, n_rel
        t = sorted({(int(h), int(r), int((h * (r + 2) + 3) % n_ent)) for h in range(n_ent) for r in range(n_rel)})
        rng.shuffle(t); self.triples = np.array(t, dtype=np.int64); self.train, self.valid = self.triples[:42], self.triples[42:]
        self.seen = collections.defaultdict(set)
        for h, r, x in t: self.seen[h, r].add(x)
    def batches(self, size, seed):
        rng = np.random.RandomState(seed)
        def gen():
            order = rng.permutation(len(self.train))
            for i in range(0, len(order), size):
                pos = self.train[order[i:i + size]]; neg = pos.copy()
                side = rng.rand(len(pos)) < .5; fake = rng.randint(0, self.n_ent, len(pos))
                neg[side, 0], neg[~side, 2] = fake[side], fake[~side]
                yield pos, neg
        return gen

def background(gen, n=3):
    def reader():
        q = queue.Queue(n); done = object()
        def work():
            for x in gen(): q.put(x)
            q.put(done)
        t = threading.Thread(target=work, name='bg'); t.daemon = True; t.start()
        for x in iter(q.get, done): yield x
    return reader

@six.add_metaclass(abc.ABCMeta)
class Model(object):
    def __init__(self, g, dim): self.g, self.dim = g, dim; self._tables = {}
    def table(self, name, n, d, ids):
        attr = fluid.ParamAttr(name='%s_%s' % (type(self).__name__.lower(), name), initializer=fluid.initializer.Xavier(uniform=True))
        return L.reshape(fluid.embedding(ids, [n, d], is_sparse=name == 'ent' and type(self).__name__ not in ('DistMult', 'RotatE'), param_attr=attr), [-1, d])
    def parts(self, tri): return [L.reshape(L.slice(tri, axes=[1], starts=[i], ends=[i + 1]), [-1]) for i in range(3)]
    @abc.abstractmethod
    def score(self, h, r, t): pass
    def forward(self, tri):
        h, r, t = self.parts(tri)
        return self.score(self.table('ent', self.g.n_ent, self.dim, h), r, self.table('ent', self.g.n_ent, self.dim, t))
    def loss(self, pos, neg): return L.reduce_mean(L.relu(self.forward(pos) - self.forward(neg) + args.margin))
class TransE(Model):
    def score(self, h, r, t):
        n = lambda x: L.l2_normalize(x, axis=-1)
        return L.reduce_sum(L.abs(n(h) + n(self.table('rel', self.g.n_rel, self.dim, r)) - n(t)), dim=-1)
class TransH(Model):
    def score(self, h, r, t):
        w = L.l2_normalize(self.table('norm', self.g.n_rel, self.dim, r), axis=-1)
        proj = lambda x: x - L.reduce_sum(x * w, dim=-1, keep_dim=True) * w
        return L.sqrt(L.reduce_sum(L.square(proj(h) + self.table('rel', self.g.n_rel, self.dim, r) - proj(t)), dim=-1) + 1e-9)
class TransR(Model):
    def score(self, h, r, t):
        m = L.reshape(self.table('mat', self.g.n_rel, self.dim * self.dim, r), [-1, self.dim, self.dim])
        to = lambda x: L.squeeze(L.matmul(L.unsqueeze(x, [1]), m), [1])
        return L.reduce_sum(L.square(to(h) + self.table('rel', self.g.n_rel, self.dim, r) - to(t)), dim=-1)
class DistMult(Model):
    def score(self, h, r, t): return -L.reduce_sum(h * t * self.table('rel', self.g.n_rel, self.dim, r), dim=-1)
    def loss(self, pos, neg): return L.mean(L.softplus(self.forward(pos))) + L.mean(L.softplus(-1. * self.forward(neg)))
class RotatE(Model):
    def score(self, h, r, t):
        phase = self.table('rel', self.g.n_rel, self.dim // 2, r) * 3.14159
        hr, hi = L.split(h, 2, dim=-1); tr, ti = L.split(t, 2, dim=-1); c, s = L.cos(phase), L.sin(phase)
        d = L.stack([hr * c - hi * s - tr, hr * s + hi * c - ti], axis=0)
        return L.reduce_sum(L.pow(L.reduce_sum(L.pow(d, 2.0), dim=0) + 1e-9, 0.5), dim=-1)
    def loss(self, pos, neg):
        p, n = args.margin - self.forward(pos), args.margin - self.forward(neg)
        w = L.softmax(L.unsqueeze(n, [0])); w.stop_gradient = True
        return -1 * (L.mean(L.logsigmoid(p)) + L.reduce_sum(w * L.logsigmoid(L.unsqueeze(-1 * n, [0])))) / 2

def rank(exe, prog, tri, score, g, which):
    rs = []
    for h, r, t in which:
        cand = np.stack([np.full(g.n_ent, h), np.full(g.n_ent, r), np.arange(g.n_ent)], 1).astype('int64')
        s, = exe.run(prog, feed={tri.name: cand}, fetch_list=[score.name])
        if args.filtered: s = np.where([e in g.seen[h, r] and e != t for e in range(g.n_ent)], 1e9, s)
        rs.append(int((s < s[t] - 1e-6).sum()) + 1)
    rs = np.array(rs); return rs.mean(), (rs <= 3).mean(), (1. / rs).mean()

@contextlib.contextmanager
def fresh(seed):
    m, s = fluid.Program(), fluid.Program(); m.random_seed = s.random_seed = seed
    with fluid.program_guard(m, s), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()): yield m, s

OPT = {'TransE': lambda: fluid.optimizer.SGD(.1), 'TransH': lambda: fluid.optimizer.Adam(.02, lazy_mode=True), 'TransR': lambda: fluid.optimizer.AdagradOptimizer(.1), 'DistMult': lambda: fluid.optimizer.FtrlOptimizer(.2, l2=.01), 'RotatE': lambda: fluid.optimizer.DecayedAdagradOptimizer(.05)}
def run(name, g):
    with fresh(8) as (m, s):
        pos, neg = fluid.data('pos', [-1, 3], 'int64'), fluid.data('neg', [-1, 3], 'int64')
        reader = fluid.io.PyReader(feed_list=[pos, neg], capacity=2, iterable=True, return_list=name == 'TransR')
        model = globals()[name](g, args.dim); loss = model.loss(pos, neg)
        ev = fluid.Program()
        with fluid.program_guard(ev, s), fluid.unique_name.guard():
            tri = fluid.data('tri', [None, 3], 'int64'); score = model.forward(tri)
        OPT[name]().minimize(loss)
        reader.decorate_batch_generator(background(g.batches(9, 1)), places=fluid.CPUPlace())
        exe = fluid.Executor(); exe.run(s)
        best, bad = None, 0
        for ep in range(args.epochs):
            tot = []
            for d in reader():
                if isinstance(d, list) and not isinstance(d[0], dict): d = dict(zip(['pos', 'neg'], d[0] if isinstance(d[0], list) else d))
                tot.append(exe.run(m, feed=d, fetch_list=[loss])[0])
            mr, h3, mrr = rank(exe, ev, tri, score, g, g.valid)
            print('%-8s epoch %d loss %s valid mr %.3f hits %.4f mrr %.4f' % (name, ep, ' '.join('%.5f' % v for v in tot), mr, h3, mrr))
            if best is None or mrr > best[0]:
                best, bad = (mrr, ep), 0
                fluid.io.save_vars(exe, os.path.join('ckpt', name), m, vars=[v for v in m.list_vars() if v.persistable and not v.name.endswith('_reader')])
            else:
                bad += 1
                if bad > 2: break
        fluid.io.load_vars(exe, os.path.join('ckpt', name), m, vars=[v for v in m.list_vars() if v.persistable])
        print(name, 'best of epoch', best[1], 'again %.4f' % rank(exe, ev, tri, score, g, g.train)[2], len(os.listdir('ckpt/' + name)), sum(len(b.ops) for b in m.blocks))
if __name__ == '__main__':
    g = Graph(); print(args.dim, args.margin, len(g.triples), sum(map(len, g.seen.values())))
    for n in args.models: run(n, g)

#!/usr/bin/env python
# encoding: utf-8
"""End-to-end memory network on toy stories; Python 2 habits: print, xrange, has_key, iteritems, string formatting."""
import sys
import random
import cPickle as pickle
from itertools import izip
import numpy as np
import paddle
import paddle.fluid as fluid

PLACES = ['kitchen', 'garden', 'office', 'hall']
NAMES = ['mary', 'john', 'dan']
random.seed(12)


def story():
    at, lines = {}, []
    for _ in xrange(5):
        n, p = random.choice(NAMES), random.choice(PLACES)
        at[n] = p
        lines.append('%s went to the %s' % (n, p))
    q = random.choice(sorted(at.keys()))
    return lines, 'where is %s' % q, at[q]


def build_dict(stories):
    freq = {}
    for lines, q, a in stories:
        for w in ' '.join(lines + [q, a]).split():
            if not freq.has_key(w):
                freq[w] = 0
            freq[w] += 1
    ws = sorted(freq.iteritems(), key=lambda t: (-t[1], t[0]))
    return dict(zip([w for w, _ in ws], xrange(1, len(ws) + 1)))


stories = [story() for _ in xrange(40)]
word_idx = build_dict(stories)
with open('dict.pkl', 'wb') as f:
    pickle.dump(word_idx, f, protocol=2)
word_idx = pickle.load(open('dict.pkl', 'rb'))
V, S, W, D, HOPS = len(word_idx) + 1, 5, 5, 8, 2
print 'vocab size: %d' % V


def encode(line):
    ids = map(lambda w: word_idx[w], line.split())
    return ids + [0] * (W - len(ids))


def reader():
    for lines, q, a in stories:
        yield [encode(l) for l in lines], encode(q), word_idx[a]


def position():
    pe = np.ones((W, D), dtype=np.float32)
    for j in xrange(W):
        for k in xrange(D):
            pe[j, k] = (1 - (j + 1.) / W) - (k + 1.) / D * (1 - 2. * (j + 1) / W)
    return pe


story_in = fluid.layers.data(name='story', shape=[S, W, 1], dtype='int64')
query = fluid.layers.data(name='query', shape=[W, 1], dtype='int64')
answer = fluid.layers.data(name='answer', shape=[1], dtype='int64')
fluid.default_startup_program().random_seed = 5
pe = fluid.layers.assign(position())


def embed(x, name):
    e = fluid.layers.embedding(x, size=[V, D], padding_idx=0, param_attr=fluid.ParamAttr(name=name, initializer=fluid.initializer.Normal(0, 0.3)))
    return fluid.layers.reduce_sum(fluid.layers.elementwise_mul(e, pe, axis=-1 if len(e.shape) == 2 else len(e.shape) - 2), dim=-2)


u = embed(query, 'B')
for hop in range(HOPS):
    m = embed(story_in, 'A%d' % hop)
    c = embed(story_in, 'A%d' % (hop + 1))
    p = fluid.layers.softmax(fluid.layers.reduce_sum(fluid.layers.elementwise_mul(m, fluid.layers.unsqueeze(u, [1])), dim=-1))
    o = fluid.layers.reduce_sum(fluid.layers.elementwise_mul(c, p, axis=0), dim=1)
    u = fluid.layers.fc(u, size=D, param_attr='H', bias_attr=False) + o
predict = fluid.layers.fc(u, size=V, act='softmax', bias_attr=False)
cost = fluid.layers.mean(fluid.layers.cross_entropy(input=predict, label=answer))
acc = fluid.layers.accuracy(input=predict, label=answer)
fluid.clip.set_gradient_clip(fluid.clip.GradientClipByNorm(clip_norm=4.0))
fluid.optimizer.Adam(learning_rate=0.02).minimize(cost)
place = fluid.CPUPlace()
exe = fluid.Executor(place)
feeder = fluid.DataFeeder(feed_list=[story_in, query, answer], place=place)
exe.run(fluid.default_startup_program())
train_reader = paddle.batch(reader, batch_size=8)
for pass_id in xrange(4):
    costs, accs = [], []
    for batch_id, data in enumerate(train_reader()):
        data = [(np.array(s).reshape(S, W, 1), np.array(q).reshape(W, 1), a) for s, q, a in data]
        c, a = exe.run(feed=feeder.feed(data), fetch_list=[cost, acc])
        costs.append(c[0])
        accs.append(a[0])
        if batch_id % 2 == 0:
            print 'Pass %d, Batch %d, Cost %f, Acc %f' % (pass_id, batch_id, c[0], a[0])
            sys.stdout.flush()
    print >>sys.stdout, 'pass', pass_id, 'mean cost %.5f' % (sum(costs) / len(costs)), 'acc %.4f' % np.mean(accs)
    best = sorted(izip(costs, xrange(len(costs))))[0]
    print 'best batch %d: %.5f' % (best[1], best[0]), 7 / 2

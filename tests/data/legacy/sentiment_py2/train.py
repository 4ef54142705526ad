#!/usr/bin/env python
# -*- coding: utf-8 -*-
# 情感分类, Python 2.7, 2018
import sys, os, re, random, codecs, collections, cPickle, itertools, time, string
reload(sys)
sys.setdefaultencoding('utf-8')
import numpy as np
import paddle
import paddle.fluid as fluid

random.seed(2018)
POS = '好 棒 喜欢 满意 不错 推荐 漂亮'.split()
NEG = '差 烂 讨厌 失望 糟糕 退货 难看'.split()
NEU = '酒店 房间 服务 价格 手机 屏幕 快递 the a of 3 10'.split()

def make_corpus(path):
    f = open(path, 'w')
    for i in xrange(120):
        label = i % 2
        n = 3 + random.randint(0, 6)
        words = [random.choice(POS if label else NEG) if random.random() < 0.4 else random.choice(NEU) for _ in range(n)]
        print >> f, '%d\t%s' % (label, ' '.join(words))
    f.close()

class Vocab(object):
    def __init__(self): self.w2i, self.freq = {}, collections.defaultdict(int)
    def add(self, text):
        for w in text.split(): self.freq[w] += 1
    def build(self, cutoff):
        items = filter(lambda (w, c): c > cutoff, self.freq.iteritems())
        items.sort(cmp=lambda a, b: cmp(b[1], a[1]) or cmp(a[0], b[0]))
        self.w2i = dict(zip([w for w, _ in items], xrange(len(items)))); self.w2i['<unk>'] = len(self.w2i)
        return self
    def __len__(self): return len(self.w2i)
    def __nonzero__(self): return True
    def ids(self, words): return map(lambda w: self.w2i.get(w, self.w2i['<unk>']), words)
    def __cmp__(self, other): return cmp(len(self), len(other))

def reader_creator(path, vocab, begin, end):
    lines = open(path).readlines()
    random.shuffle(lines)
    lines = lines[begin * len(lines) / 10:end * len(lines) / 10]
    def reader():
        for line in lines:
            label, text = line.strip().split('\t')
            chars = [c for c in text.decode('utf-8') if c.strip()]
            yield vocab.ids(text.split()), [len(text) % 7], [ord(c) % 50 for c in chars], int(label)
    return reader

def net(word, length, char, dict_dim):
    emb = fluid.layers.embedding(input=word, size=[dict_dim, 16]); cemb = fluid.layers.embedding(input=char, size=[50, 8])
    conv = fluid.nets.sequence_conv_pool(input=emb, num_filters=16 / 2, filter_size=3, act='tanh', pool_type='sqrt'); cp = fluid.layers.sequence_pool(cemb, 'average')
    l = fluid.layers.embedding(length, size=[7, 4]); l = fluid.layers.reshape(l, [-1, 4])
    return fluid.layers.fc(input=[conv, cp, l], size=2, act='softmax')

def main():
    make_corpus('corpus.txt'); vocab = Vocab()
    for line in open('corpus.txt'): vocab.add(line.split('\t')[1])
    vocab.build(1)
    print '词典大小', len(vocab), '平均', sum(len(l) for l in open('corpus.txt')) / 120, sum(len(l) for l in open('corpus.txt')) / 120.
    with open('vocab.pkl', 'wb') as f: cPickle.dump(vocab.w2i, f)
    vocab.w2i = cPickle.load(open('vocab.pkl', 'rb'))
    for w, i in sorted(vocab.w2i.items(), key=lambda x: x[1])[:6]: print w, i, len(w), len(w.decode('utf8')), [w]
    fluid.default_startup_program().random_seed = fluid.default_main_program().random_seed = 5
    word = fluid.layers.data('words', [1], dtype='int64', lod_level=1); length = fluid.layers.data('len', [1], dtype='int64'); char = fluid.layers.data('chars', [1], dtype='int64', lod_level=1); label = fluid.layers.data('label', [1], dtype='int64')
    pred = net(word, length, char, len(vocab)); cost = fluid.layers.mean(fluid.layers.cross_entropy(pred, label)); acc = fluid.layers.accuracy(pred, label)
    test = fluid.default_main_program().clone(for_test=True); fluid.optimizer.Adagrad(0.05).minimize(cost)
    place = fluid.CPUPlace(); exe = fluid.Executor(place); exe.run(fluid.default_startup_program())
    train_reader = paddle.batch(paddle.reader.shuffle(reader_creator('corpus.txt', vocab, 0, 8), buf_size=50), batch_size=100 / 6); test_reader = paddle.batch(reader_creator('corpus.txt', vocab, 8, 10), 8)
    feeder = fluid.DataFeeder([word, length, char, label], place); best = None
    for pass_id in xrange(3):
        total, n = 0, 0
        for i, data in enumerate(train_reader()):
            c, a = exe.run(feed=feeder.feed(data), fetch_list=[cost, acc]); total += float(c); n += 1
            if i % 3 == 0: print 'pass %d batch %d cost %f acc %s' % (pass_id, i, c, a[0])
        res = [exe.run(test, feed=feeder.feed(d), fetch_list=[cost, acc]) for d in test_reader()]
        tc = sum([float(r[0]) for r in res]) / len(res)
        if best < tc: print 'first best', best
        if best is None or tc < best: best = tc
        print 'pass', pass_id, 'train', total / n, 'test', tc, 'best', best, '%s' % (total / n)
    try: raise ValueError, ('结束', 3)
    except ValueError, e: print e.args[0], e.args[1], e
    print sorted([3, None, "a", (1,)]), round(2.5), 7 / 2, oct(8), `0.1 + 0.2`, 0.1 + 0.2, random.sample(xrange(1000), 5), hash("paddle") % 97
main()

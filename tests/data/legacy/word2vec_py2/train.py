# -*- coding: utf-8 -*-
# Word vectors as the book of 2018 trained them, in Python 2.
import cPickle
import math
import os
import sys
import string
from itertools import izip
import Queue
import numpy
import paddle
import paddle.fluid as fluid

reload(sys)
sys.setdefaultencoding('utf-8')

EMB, HID, N, BATCH = 32 / 4, 64 / 4, 5, 100 / 20
PASS_NUM = 5


def write_corpus(path):
    state = 7
    out = open(path, 'wb')
    for i in xrange(60):
        words = []
        for j in xrange(3 + i % 4):
            state = (state * 37 + 11) % 101
            words.append(string.lowercase[state / 4] if state / 4 < 26 else 'unk')
        out.write(' '.join(words) + '\n')
    out.close()


def build_dict(path, min_freq=1):
    freq = {}
    with open(path, 'rb') as f:
        for l in f:
            for w in l.strip().split(' '):
                if freq.has_key(w):
                    freq[w] += 1
                else:
                    freq[w] = 1
    freq = filter(lambda x: x[1] > min_freq, freq.items())
    freq.sort(lambda a, b: cmp(b[1], a[1]) or cmp(a[0], b[0]))
    words, _ = list(zip(*freq))
    word_idx = dict(izip(words, xrange(len(words))))
    word_idx['<unk>'] = len(words)
    cPickle.dump(word_idx, open('dict.pkl', 'w'))
    return cPickle.load(open('dict.pkl'))


def reader_creator(path, word_idx, n):
    def reader():
        UNK = word_idx['<unk>']
        with open(path) as f:
            for l in f:
                l = ['<s>'] + l.strip().split() + ['<e>']
                if len(l) >= n:
                    l = map(lambda w: word_idx.get(w, UNK), l)
                    for i in range(n, len(l) + 1):
                        yield tuple(l[i - n:i])
    return reader


def inference_program(words, is_sparse, dict_size):
    embeds = map(lambda w: fluid.layers.embedding(input=w, size=[dict_size, EMB], dtype='float32',
                                                  is_sparse=is_sparse, param_attr='shared_w'), words)
    concat_embed = fluid.layers.concat(input=embeds, axis=1)
    hidden1 = fluid.layers.fc(input=concat_embed, size=HID, act='sigmoid')
    return fluid.layers.fc(input=hidden1, size=dict_size, act='softmax')


def train(save_dirname):
    write_corpus('corpus.txt')
    word_idx = build_dict('corpus.txt')
    dict_size = len(word_idx)
    print 'dict', dict_size, 'emb', EMB, 'batch', BATCH
    fluid.default_startup_program().random_seed = 1
    names = ['firstw', 'secondw', 'thirdw', 'fourthw']
    words = [fluid.layers.data(name=n, shape=[1], dtype='int64') for n in names]
    predict_word = inference_program(words, True, dict_size)
    next_word = fluid.layers.data(name='nextw', shape=[1], dtype='int64')
    avg_cost = fluid.layers.mean(fluid.layers.cross_entropy(input=predict_word, label=next_word))
    test_program = fluid.default_main_program().clone(for_test=True)
    sgd = fluid.optimizer.AdagradOptimizer(learning_rate=3e-3 * 10,
                                           regularization=fluid.regularizer.L2DecayRegularizer(8e-4))
    sgd.minimize(avg_cost)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder(feed_list=words + [next_word], place=place)
    train_reader = paddle.batch(reader_creator('corpus.txt', word_idx, N), BATCH)
    waiting = Queue.Queue()
    step = 0
    for pass_id in range(PASS_NUM):
        for data in train_reader():
            loss = exe.run(feed=feeder.feed(data), fetch_list=[avg_cost])[0]
            waiting.put(loss)
            step += 1
            if step % (20 / 4) == 0:
                recent = [waiting.get() for _ in xrange(waiting.qsize())]
                print "Step %d: Average Cost %f" % (step, sum(recent) / len(recent))
    outs = []
    for data in paddle.batch(reader_creator('corpus.txt', word_idx, N), 7)():
        outs.append(exe.run(test_program, feed=feeder.feed(data), fetch_list=[avg_cost])[0])
    print 'test cost %.5f of %d batches, half %d, rounded %s' % (numpy.mean(outs), len(outs), len(outs) / 2,
                                                                round(numpy.mean(outs), 2))
    fluid.io.save_inference_model(save_dirname, names, [predict_word], exe)
    infer_prog, feed_names, targets = fluid.io.load_inference_model(save_dirname, exe)
    feeds = dict(zip(feed_names, [fluid.create_lod_tensor([[i + 1]], [[1]], place) for i in range(4)]))
    result = exe.run(infer_prog, feed=feeds, fetch_list=targets, return_numpy=False)
    order = numpy.argsort(numpy.array(result[0])[0])[::-1][:3]
    names_of = dict([(v, k) for k, v in word_idx.iteritems()])
    print 'next', ' '.join([names_of[i].encode('utf-8') for i in order]), `len(names_of)`


if __name__ == '__main__':
    train('word2vec.model')

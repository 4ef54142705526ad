#!/usr/bin/env python
# -*- coding: utf-8 -*-
"""paddle.dataset on mirrors of its files, paddle.reader decorators, a network for each; Python 2"""
import os, sys, gzip, struct, tarfile, cStringIO, cPickle, zipfile, random, string, itertools, re, tempfile, shutil
import numpy as np
import paddle, paddle.fluid as fluid
import paddle.dataset.common as common
from paddle.dataset import mnist, cifar, imdb, imikolov, uci_housing, movielens, conll05, wmt14
from paddle.reader import shuffle, buffered, compose, chain, map_readers, firstn, xmap_readers, cache, ComposeNotAligned

HOME = tempfile.mkdtemp(); rnd = random.Random(6); random.seed(11)
def path(*p):
    f = os.path.join(HOME, *p)
    if not os.path.isdir(os.path.dirname(f)): os.makedirs(os.path.dirname(f))
    return f
def fake_download(url, module_name, md5sum, save_name=None): return path(module_name, save_name or url.split('/')[-1])
common.download = fake_download

def put(t, name, body):
    info = tarfile.TarInfo(name); info.size = len(body); t.addfile(info, cStringIO.StringIO(body))
def make():
    n = 40
    y = [rnd.randrange(10) for _ in range(n)]
    img = ''.join(''.join(chr(min(255, (p % 28 / 3 == k) * 200 + rnd.randint(0, 40))) for p in xrange(784)) for k in y)
    for f, head, body in (('train-images-idx3-ubyte.gz', struct.pack('>IIII', 2051, n, 28, 28), img), ('train-labels-idx1-ubyte.gz', struct.pack('>II', 2049, n), ''.join(map(chr, y)))):
        g = gzip.open(path('mnist', f), 'wb'); g.write(head + body); g.close()
    t = tarfile.open(path('cifar', 'cifar-10-python.tar.gz'), 'w:gz')
    for k in (1, 2):
        d = {'data': np.array([[(c * 25 + p % 7 + rnd.randint(0, 9)) % 256 for p in xrange(3072)] for c in range(8)], np.uint8), 'labels': range(8)}
        put(t, 'cifar-10-batches-py/data_batch_%d' % k, cPickle.dumps(d, 2))
    t.close()
    t = tarfile.open(path('imdb', imdb.URL.split('/')[-1]), 'w:gz')
    for part in 'train', 'test':
        for lab, words in (('pos', 'good great fun'), ('neg', 'bad awful dull')):
            for i in range(8): put(t, 'aclImdb/%s/%s/%d_7.txt' % (part, lab, i), 'The movie, is ' + ' '.join([rnd.choice(words.split()) for _ in range(rnd.randint(2, 5))]) + '!')
    t.close()
    t = tarfile.open(path('imikolov', imikolov.URL.split('/')[-1]), 'w:gz')
    for part in 'train', 'valid': put(t, './simple-examples/data/ptb.%s.txt' % part, '\n'.join(' '.join(rnd.choice('a b c d e'.split()) for _ in range(rnd.randint(3, 9))) for _ in range(30)) + '\n')
    t.close()
    f = open(path('uci_housing', uci_housing.URL.split('/')[-1]), 'w')
    for i in range(60):
        v = [rnd.uniform(0, 10) for _ in range(13)]; f.write(' '.join('%.4f' % x for x in v + [sum(v[:4]) - v[5] + rnd.gauss(0, .1)]) + '\n')
    f.close()
    z = zipfile.ZipFile(path('movielens', movielens.URL.split('/')[-1]), 'w')
    z.writestr('ml-1m/movies.dat', u'\n'.join(u'%d::Film %s (19%02d)::%s' % (i, 'ab'[i % 2], 60 + i, u'|'.join(rnd.sample([u'Drama', u'Comedy', u'War'], 2))) for i in range(1, 13)).encode('latin1') + '\n')
    z.writestr('ml-1m/users.dat', '\n'.join('%d::%s::%d::%d::0' % (i, 'MF'[i % 2], [1, 18, 25, 56][i % 4], i % 5) for i in range(1, 10)) + '\n')
    z.writestr('ml-1m/ratings.dat', '\n'.join('%d::%d::%d::0' % (rnd.randint(1, 9), rnd.randint(1, 12), rnd.randint(1, 5)) for _ in range(80)) + '\n'); z.close()

def loop(name, build, reader, batch, feeds, opt, passes=3):
    m, s = fluid.Program(), fluid.Program(); m.random_seed = s.random_seed = 5
    with fluid.program_guard(m, s), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        vs = [fluid.layers.data(n, sh, dtype=t, lod_level=l) for n, sh, t, l in feeds]
        loss = build(*vs); opt.minimize(loss); exe = fluid.Executor(fluid.CPUPlace()); exe.run(s)
        fd = fluid.DataFeeder(place=fluid.CPUPlace(), feed_list=[f[0] for f in feeds], program=m)
        for p in range(passes):
            for i, b in enumerate(paddle.batch(reader, batch)()): print '%s %d %d %.6f' % (name, p, i, exe.run(m, feed=fd.feed(b), fetch_list=[loss])[0])
L = fluid.layers
make()
tr = mnist.reader_creator(path('mnist', 'train-images-idx3-ubyte.gz'), path('mnist', 'train-labels-idx1-ubyte.gz'), 10)
x, y = tr().next(); print x.dtype, x.shape, '%.5f' % x.mean(), type(y).__name__
loop('mnist', lambda i, l: L.mean(L.cross_entropy(L.fc(fluid.nets.simple_img_conv_pool(L.reshape(i, [-1, 1, 28, 28]), 4, 5, 2, 2, act='relu'), 10, act='softmax'), l)), shuffle(tr, 1), 10, [('i', [784], 'float32', 0), ('l', [1], 'int64', 0)], fluid.optimizer.Adam(.01))
ci = cifar.train10(); print [l for _, l in ci()][:10], '%.5f' % ci().next()[0].sum()
loop('cifar', lambda i, l: L.mean(L.cross_entropy(L.fc(fluid.nets.img_conv_group(L.reshape(i, [-1, 3, 32, 32]), [4, 4], 2, conv_padding=1, conv_act='relu', conv_with_batchnorm=True, conv_batchnorm_drop_rate=0., pool_stride=2), 10, act='softmax'), l)), ci, 8, [('i', [3072], 'float32', 0), ('l', [1], 'int64', 0)], fluid.optimizer.Momentum(.01, .9), 2)
wd = imdb.build_dict(re.compile(r'aclImdb/((train)|(test))/((pos)|(neg))/.*\.txt$'), 2); print len(wd), sorted(wd.iteritems(), key=lambda kv: kv[1])[:3]
loop('imdb', lambda w, l: L.mean(L.cross_entropy(L.fc(fluid.nets.sequence_conv_pool(L.embedding(w, [len(wd), 8]), 6, 3, act='tanh', pool_type='max'), 2, act='softmax'), l)), imdb.train(wd), 6, [('w', [1], 'int64', 1), ('l', [1], 'int64', 0)], fluid.optimizer.Adagrad(.05), 3)
wi = imikolov.build_dict(5); print sorted(wi)[:3], 'a' in wi, wd.get('the'), '<unk>' in wi, sorted(wi.values()) == range(len(wi)), len(wi), wi['<unk>']
def ngram(*ws): return L.mean(L.cross_entropy(L.fc(L.concat([L.embedding(w, [len(wi), 6], param_attr='e') for w in ws[:3]], 1), len(wi), act='softmax'), ws[3]))
loop('ptb', ngram, firstn(imikolov.train(wi, 4), 60), 20, [('w%d' % i, [1], 'int64', 0) for i in range(4)], fluid.optimizer.SGD(.5), 3)
print list(firstn(imikolov.test(wi, -1, imikolov.DataType.SEQ), 1)())
uci_housing.UCI_TRAIN_DATA = None; uci_housing.feature_range = lambda hi, lo: None; print uci_housing.feature_names[:3] if hasattr(uci_housing, 'feature_names') else '', len(list(uci_housing.test()()))
loop('housing', lambda a, b: L.mean(L.square_error_cost(L.fc(a, 1), b)), shuffle(uci_housing.train(), 3), 16, [('a', [13], 'float32', 0), ('b', [1], 'float32', 0)], fluid.optimizer.SGD(.05), 3)
print movielens.max_user_id(), movielens.max_movie_id(), movielens.max_job_id(), len(movielens.movie_categories()), len(movielens.get_movie_title_dict()), movielens.age_table
rows = list(movielens.train()()); print len(rows), len(list(movielens.test()())), rows[0][:4], movielens.movie_info()[3].index, movielens.movie_info()[3].title
def movie(u, g, a, j, mi, r): return L.mean(L.square_error_cost(L.scale(L.cos_sim(L.fc([L.reshape(L.embedding(v, [60, 6]), [-1, 6]) for v in (u, g, a, j)], 8), L.fc(L.reshape(L.embedding(mi, [60, 6]), [-1, 6]), 8)), 5.), r))
loop('movielens', movie, lambda: (v[:5] + v[7:] for v in rows), 24, [(n, [1], 'int64', 0) for n in 'u g a j m'.split()] + [('r', [1], 'float32', 0)], fluid.optimizer.Adamax(.02), 2)
os.chdir(HOME); common.split(lambda: iter(xrange(25)), 10, suffix='%05d.pickle'); print sorted(f for f in os.listdir('.') if f.endswith('pickle')), common.md5file(path('uci_housing', 'housing.data')) == __import__('hashlib').md5(open(path('uci_housing', 'housing.data'), 'rb').read()).hexdigest()
a, b = (lambda: iter(range(4))), (lambda: iter('wxyz'))
print list(compose(a, b)()), list(chain(a, b)()), list(map_readers(lambda p, q: `p` + q, a, b)()), sorted(xmap_readers(lambda v: v * v, a, 3, 2)()), list(cache(firstn(a, 2))()), sum(buffered(a, 1)())
try: list(compose(a, firstn(b, 2))())
except ComposeNotAligned, e: print 'not aligned', isinstance(e, ValueError)
shutil.rmtree(HOME)

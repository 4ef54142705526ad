# -*- coding: utf-8 -*-
import sys, os, gzip, struct, random, math, string, Queue, threading, itertools, ConfigParser, StringIO, json, csv, optparse, hashlib, urllib, collections
import numpy as np, paddle, paddle.fluid as fluid
from utils import CriteoDataset, ImageReader, to_str
parser = optparse.OptionParser(); parser.add_option('--hash_dim', type='int', default=1000 + 1); parser.add_option('--passes', type='int', default=2); (opts, _) = parser.parse_args()
random.seed(7)
def write_raw(path):
    with open(path, 'wb') as f:
        for i in xrange(90):
            dense = [str(random.randint(0, 50)) if random.random() > .1 else '' for _ in range(3)]
            cat = [hashlib.md5('%d_%d' % (j, random.randint(0, 9))).hexdigest()[:8] if random.random() > .1 else '' for j in range(4)]
            f.write('\t'.join([str(i % 3 / 2)] + dense + cat) + '\n')
def write_images(path):
    f = gzip.open(path, 'wb'); f.write(struct.pack('>IIII', 2051, 20, 6, 6))
    for i in range(20): f.write(''.join(chr((i * 7 + k * (i % 2 + 1)) % 256) for k in xrange(36)))
    f.close()
write_raw('raw.txt'); write_images('img.gz')
ds = CriteoDataset(opts.hash_dim); cfg = ConfigParser.SafeConfigParser(); cfg.readfp(StringIO.StringIO('[net]\nemb = 8\nlr = 0.05\nname = 点击率\n'))
def producer(q, r):
    for s in r(): q.put(s)
    q.put(None)
def threaded(r):
    def reader():
        q = Queue.Queue(16); t = threading.Thread(target=producer, args=(q, r)); t.setDaemon(True); t.start()
        while True:
            s = q.get()
            if s is None: break
            yield s
    return reader
for s in itertools.islice(ds.train(['raw.txt'], 2, 0)(), 3): print s
fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 3
dense = fluid.layers.data('dense', [3]); ids = [fluid.layers.data('C%d' % i, [1], dtype='int64') for i in range(4)]; label = fluid.layers.data('label', [1], dtype='int64'); img = fluid.layers.data('img', [1, 6, 6])
E = cfg.getint('net', 'emb'); emb = map(lambda v: fluid.layers.embedding(v, [opts.hash_dim, E], is_sparse=True, param_attr='SparseFeatFactors'), ids)
x = fluid.layers.concat(emb + [dense], 1); conv = fluid.layers.fc(fluid.layers.conv2d(img, 2, 3, act='relu'), 4)
for k in (16, 16 / 2): x = fluid.layers.fc(x, k, act='relu', param_attr=fluid.ParamAttr(initializer=fluid.initializer.Normal(scale=1 / math.sqrt(x.shape[1]))))
p = fluid.layers.fc([x, conv], 2, act='softmax'); cost = fluid.layers.mean(fluid.layers.cross_entropy(p, label)); auc, bauc, st = fluid.layers.auc(p, label, num_thresholds=2 ** 12 - 1)
fluid.optimizer.Adam(cfg.getfloat('net', 'lr')).minimize(cost); exe = fluid.Executor(fluid.CPUPlace()); exe.run(fluid.default_startup_program())
images = ImageReader('img.gz').images(); print images.shape, images.mean(), images.dtype, images[3, 0, 1]
reader = paddle.batch(threaded(ds.train(['raw.txt'], 1, 0)), 30); best = None
for pid in range(opts.passes):
    for b, data in enumerate(reader()):
        feed = {'dense': np.array([d[0] for d in data], 'float32'), 'label': np.array([[d[-1]] for d in data], 'int64'), 'img': images[[i % 20 for i in range(len(data))]]}
        for i in range(4): feed['C%d' % i] = np.array([[d[1][i]] for d in data], 'int64')
        c, a = exe.run(feed=feed, fetch_list=[cost, auc]); c = float(c)
        print 'pass', pid, 'batch', b, 'cost', c, 'auc %.5f' % a, 'best', best
        best = c if best is None else min(best, c)
    logs = {'pass': pid, 'cost': round(c, 4), 'name': cfg.get('net', 'name')}
    print json.dumps(logs, sort_keys=True), json.dumps(logs, ensure_ascii=False, sort_keys=True), len(cfg.get('net', 'name'))
    with open('log.csv', 'ab') as f: csv.writer(f).writerow([pid, c, cfg.get('net', 'name')])
print open('log.csv').read().count('\n'), [len(r[2]) for r in csv.reader(open('log.csv'))], urllib.quote(cfg.get('net', 'name')), hashlib.md5(open('raw.txt', 'rb').read()).hexdigest(), hashlib.sha1(gzip.open('img.gz').read()).hexdigest()
print to_str(u'\u70b9'), to_str('点') == '点', hash('a'), hash(u'点'), hash((1, 'a')), hash(1.5), hash(2 ** 70), ' '.join(map(str, [1.5, 1 / 3., 2])), '%r %s' % (0.1, u'x'), string.upper('abc'), 'a,b'.split(',')[::-1], sum(map(ord, '点'))

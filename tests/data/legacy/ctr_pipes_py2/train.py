# -*- coding: utf-8 -*-
"""CTR with the data set API and a pipe command, wide & deep + FM, AUC by hand, Python 2"""
import os, sys, subprocess, random, json, bisect, heapq, collections, tempfile, shutil, fnmatch, copy, urlparse, string, types, shelve, csv, time, UserDict
from urllib import urlencode, unquote
import numpy as np
import paddle
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base.role_maker import UserDefinedRoleMaker

class Opt(UserDict.UserDict):
    def __getattr__(self, k):
        if k.startswith('__'): raise AttributeError, k
        try: return self.data[k]
        except KeyError: raise AttributeError, 'no option %r' % k

opt = Opt(json.loads('{"dim": 101, "k": 4, "layers": [16, 8], "lr": 0.02, "name": "宽"}'), batch=20)

def raw(path, n, seed):
    rnd = random.Random(seed)
    fo = open(path, 'w')
    w = csv.writer(fo, delimiter='\t', lineterminator='\n')
    for _ in xrange(n):
        dense = [rnd.choice([rnd.randint(0, 9), '']) for _ in range(3)]
        cats = [''.join(rnd.sample(string.lowercase[:6], 2)) for _ in range(4)]
        y = int(sum([d or 0 for d in dense]) + (cats[0] < 'c') * 4 > 9)
        w.writerow([y] + dense + cats)
    fo.close()
    return path

def by_hand(scores, labels):
    pairs = sorted(zip(scores, labels), cmp=lambda a, b: cmp(a[0], b[0]))
    pos = sum(labels); neg = len(labels) - pos; rank = 0
    for i, (s, l) in enumerate(pairs):
        if l: rank += i + 1
    return (rank - pos * (pos + 1) / 2) * 1.0 / (pos * neg) if pos and neg else .5

class Model:
    def __init__(self, dense, cats, label):
        self.dense, self.cats, self.label = dense, cats, label
        self.__dict__.update(locals())
    def net(self, is_infer=False):
        init = fluid.initializer.TruncatedNormalInitializer(scale=1.0 / opt.k)
        first = [fluid.layers.embedding(c, size=[opt.dim, 1], is_sparse=True, param_attr=fluid.ParamAttr(name='w1', initializer=fluid.initializer.Constant(0.))) for c in self.cats]
        second = [fluid.embedding(c, size=[opt.dim, opt.k], is_sparse=True, param_attr=fluid.ParamAttr(name='w2', initializer=init)) for c in self.cats]
        second = map(lambda e: fluid.layers.reshape(e, [-1, opt.k]), second)
        first = map(lambda e: fluid.layers.reshape(e, [-1, 1]), first)
        s = fluid.layers.sums(second)
        sq = fluid.layers.sums([fluid.layers.square(e) for e in second])
        fm = 0.5 * fluid.layers.reduce_sum(fluid.layers.square(s) - sq, dim=1, keep_dim=True)
        x = fluid.layers.concat(second + [self.dense], axis=1)
        for i, n in enumerate(opt['layers']):
            x = fluid.layers.fc(x, n, act='relu', name='fc%d' % i, param_attr=fluid.ParamAttr(initializer=fluid.initializer.Normal(scale=1.0 / np.sqrt(x.shape[1]))))
        y = fluid.layers.fc([x, self.dense], 1, name='out') + fluid.layers.sums(first) + fm
        self.predict = fluid.layers.sigmoid(y)
        cost = fluid.layers.sigmoid_cross_entropy_with_logits(y, fluid.layers.cast(self.label, 'float32'))
        self.cost = fluid.layers.reduce_mean(cost)
        two = fluid.layers.concat([1 - self.predict, self.predict], 1)
        self.auc, _, self.states = fluid.layers.auc(two, self.label, num_thresholds=2 ** 12)
        return self.cost

def main():
    tmp = tempfile.mkdtemp(prefix='ctr')
    try:
        files = [raw(os.path.join(tmp, 'part-%02d' % i), 60, i) for i in range(3)]
        print [os.path.basename(f) for f in fnmatch.filter(files, '*-0[12]')], opt.name.encode('utf-8'), opt.has_key('lr'), opt.get('nothing'), len(opt)
        p = subprocess.Popen('cat %s | %s dataset_generator.py' % (files[0], 'python'), shell=True, stdout=subprocess.PIPE)
        out, _ = p.communicate()
        print p.returncode, out.splitlines()[0], len(out.split('\n'))
        u = urlparse.urlparse('http://a.b/c?%s' % urlencode([('名', '值'), ('n', 3)]))
        print u.query, unquote(u.query), dict(urlparse.parse_qsl(u.query))['n']
        fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 21
        dense = fluid.layers.data('dense', [3]); label = fluid.layers.data('label', [1], dtype='int64')
        cats = [fluid.layers.data('c%d' % i, [1], dtype='int64', lod_level=0) for i in range(4)]
        m = Model(dense, cats, label); cost = m.net()
        test = fluid.default_main_program().clone(for_test=True)
        fluid.optimizer.Adagrad(opt.lr, initial_accumulator_value=.1).minimize(cost)
        exe = fluid.Executor(fluid.CPUPlace()); exe.run(fluid.default_startup_program())
        ds = fluid.DatasetFactory().create_dataset('QueueDataset')
        ds.set_use_var([dense] + cats + [label]); ds.set_pipe_command('python dataset_generator.py'); ds.set_batch_size(opt.batch); ds.set_thread(1); ds.set_filelist(files[:2])
        for ep in range(3):
            exe.train_from_dataset(fluid.default_main_program(), ds)
            w = [float(np.abs(np.array(fluid.global_scope().find_var(n).get_tensor())).sum()) for n in ('w1', 'w2', 'fc0.w_0')]
            print 'epoch', ep, ' '.join(map(lambda v: '%.5f' % v, w))
        mem = fluid.DatasetFactory().create_dataset('InMemoryDataset')
        mem.set_use_var([dense] + cats + [label]); mem.set_pipe_command('python dataset_generator.py'); mem.set_batch_size(15); mem.set_thread(1); mem.set_filelist(files[2:])
        mem.load_into_memory(); print 'memory', mem.get_memory_data_size()
        exe.train_from_dataset(fluid.default_main_program(), mem)
        import dataset_generator
        rows = [r for f in files for r in dataset_generator.G().lines(open(f))]
        random.seed(5); random.shuffle(rows)
        scores, labels, n = [], [], 0
        for i in range(0, len(rows), 25):
            part = rows[i:i + 25]
            feed = {'dense': np.array([r[0] for r in part], 'float32'), 'label': np.array([[r[2]] for r in part])}
            for j in range(4): feed['c%d' % j] = np.array([r[1][j] for r in part]).reshape(-1, 1)
            c, a, pr = exe.run(test, feed=feed, fetch_list=[cost, m.auc, m.predict])
            scores.extend(pr[:, 0].tolist()); labels += [r[2] for r in part]; n += 1
            print 'test %d cost %s auc %s' % (n, c, round(a, 4))
        top = heapq.nlargest(3, zip(scores, labels)); print 'by hand %.5f' % by_hand(scores, labels), map(lambda (s, l): (round(s, 4), l), top), bisect.bisect(sorted(scores), .5)
        for it in xrange(40):
            part = [rows[(it * 7 + k) % len(rows)] for k in range(10)]
            feed = {'dense': np.array([r[0] for r in part], 'float32'), 'label': np.array([[r[2]] for r in part])}
            for j in range(4): feed['c%d' % j] = np.array([r[1][j] for r in part]).reshape(-1, 1)
            print 'step', it, exe.run(feed=feed, fetch_list=[cost])[0][0]
        db = shelve.open(os.path.join(tmp, 'best')); db['w'] = {'auc': by_hand(scores, labels), 'ids': set([1, 2])}; db.close()
        db = shelve.open(os.path.join(tmp, 'best')); print sorted(db['w'].items())[1], db.keys(); db.close()
        inf = fluid.default_main_program().clone(for_test=True)
        fluid.io.save_inference_model('ctr', ['dense'] + ['c%d' % i for i in range(4)], [m.predict], exe)
        cfg = fluid.core.AnalysisConfig('ctr'); cfg.disable_gpu(); cfg.switch_use_feed_fetch_ops(False)
        pred = fluid.core.create_paddle_predictor(cfg)
        for nme in pred.get_input_names():
            t = pred.get_input_tensor(nme); v = feed[nme]; t.reshape(list(v.shape)); t.copy_from_cpu(v)
        pred.zero_copy_run(); print 'predict %.6f' % pred.get_output_tensor(pred.get_output_names()[0]).copy_to_cpu().sum()
    finally:
        shutil.rmtree(tmp)
    print os.path.exists(tmp)
main()

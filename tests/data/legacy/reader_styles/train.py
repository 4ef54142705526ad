"""All styles of readers around one network; its test program shares parameters through unique_name.guard."""
from __future__ import print_function
import os
import functools
os.environ['CPU_NUM'] = '2'
import numpy as np
import paddle
import paddle.fluid as fluid
from paddle.fluid.io import multiprocess_reader


def sample(n=20, seed=1):
    def r():
        rng = np.random.RandomState(seed)
        for _ in range(n):
            x = rng.randn(8).astype('float32')
            yield x, int(x.sum() > 0)
    return r


def lists(seed):
    for x, y in sample(3, seed)():
        yield [float(v) for v in x], y


def model(x, y, drop=0.2, is_test=False):
    h = fluid.layers.fc(x, 16, act='relu')
    h = fluid.layers.batch_norm(h, is_test=is_test)
    h = fluid.layers.dropout(h, drop, seed=9, is_test=is_test)
    p = fluid.layers.fc(h, 2, act='softmax')
    return fluid.layers.mean(fluid.layers.cross_entropy(p, y)), fluid.layers.accuracy(p, y)


def shapes():
    return dict(shapes=[(-1, 8), (-1, 1)], dtypes=['float32', 'int64'], lod_levels=[0, 0])


def build(kind, main, start, is_test=False):
    with fluid.program_guard(main, start), fluid.unique_name.guard():
        if kind == 'py_reader':
            reader = fluid.layers.py_reader(capacity=4, name='train_reader' + str(is_test), **shapes())
            x, y = fluid.layers.read_file(reader)
        elif kind == 'by_data':
            x, y = fluid.layers.data('x', [8]), fluid.layers.data('y', [1], dtype='int64')
            reader = fluid.layers.create_py_reader_by_data(capacity=4, feed_list=[x, y], name='bydata' + str(is_test))
            x, y = fluid.layers.read_file(reader)
        elif kind == 'PyReader':
            x, y = fluid.layers.data('x', [8]), fluid.layers.data('y', [1], dtype='int64')
            reader = fluid.io.PyReader(feed_list=[x, y], capacity=4, iterable=False)
        else:
            x, y = fluid.layers.data('x', [8]), fluid.layers.data('y', [1], dtype='int64')
            reader = fluid.io.DataLoader.from_generator(feed_list=[x, y], capacity=4, iterable=False, use_multiprocess=False)
        loss, acc = model(x, y, is_test=is_test)
        if not is_test:
            opt = fluid.optimizer.Momentum(fluid.layers.cosine_decay(.1, 5, 3), .9)
            opt.minimize(loss)
    return reader, loss, acc


exe = fluid.Executor(fluid.CPUPlace())
for kind, setter in [('py_reader', 'decorate_paddle_reader'), ('py_reader', 'decorate_tensor_provider'), ('by_data', 'decorate_paddle_reader'), ('PyReader', 'decorate_sample_list_generator'), ('PyReader', 'decorate_batch_generator'), ('PyReader', 'decorate_sample_generator'), ('loader', 'set_sample_generator'), ('loader', 'set_batch_generator')]:
    with fluid.scope_guard(fluid.Scope()):
        main, start, test = fluid.Program(), fluid.Program(), fluid.Program()
        start.random_seed = 5
        reader, loss, acc = build(kind, main, start)
        treader, tloss, tacc = build(kind, test, start, True)
        test = test.clone(for_test=True)
        exe.run(start)
        batches = paddle.batch(paddle.reader.shuffle(paddle.reader.buffered(sample(), 3), 1), 4)
        for r, src in ((reader, batches), (treader, paddle.batch(sample(7, 2), 4))):
            if 'tensor' in setter or 'batch_generator' in setter:
                getattr(r, setter)(functools.partial(lambda s: ((np.stack([d[0] for d in b]), np.array([[d[1]] for d in b], 'int64')) for b in s()), src))
            elif setter.endswith('sample_generator'):
                getattr(r, setter)(sample() if r is reader else sample(7, 2), batch_size=4, drop_last=r is reader, places=fluid.CPUPlace())
            else:
                getattr(r, setter)(src)
        for epoch in range(2):
            reader.start()
            n = 0
            try:
                while True:
                    l, a = exe.run(main, fetch_list=[loss, acc])
                    n += 1
                    print('%s %s %d loss %.6f acc %.3f' % (kind, setter, epoch, l, a))
            except fluid.core.EOFException:
                reader.reset()
            treader.start()
            tot = []
            while 1:
                try:
                    tot.append(exe.run(test, fetch_list=[tloss.name, tacc.name]))
                except fluid.core.EOFException:
                    treader.reset()
                    break
            print('test %d %.6f' % (len(tot), np.mean([t[0] for t in tot])))
# data parallel over two CPU places, uneven sources, per place feeds
with fluid.scope_guard(fluid.Scope()):
    main, start = fluid.Program(), fluid.Program()
    start.random_seed = 5
    with fluid.program_guard(main, start), fluid.unique_name.guard():
        x, y = fluid.layers.data('x', [8]), fluid.layers.data('y', [1], dtype='int64')
        loader = fluid.io.DataLoader.from_generator([x, y], 4, iterable=True)
        loss, acc = model(x, y, 0.)
        fluid.optimizer.SGD(.1).minimize(loss)
    loader.set_sample_list_generator(paddle.batch(sample(), 4), places=fluid.cpu_places(2))
    exe.run(start)
    bs = fluid.BuildStrategy()
    bs.gradient_scale_strategy = fluid.BuildStrategy.GradientScaleStrategy.CoeffNumDevice
    bs.fuse_all_optimizer_ops = True
    prog = fluid.CompiledProgram(main).with_data_parallel(loss.name, build_strategy=bs, places=fluid.cpu_places(2))
    for epoch in range(2):
        for d in loader():
            l, = exe.run(prog, feed=d, fetch_list=[loss.name])
            print('parallel', len(d), l.shape, '%.6f' % l.mean())
    data = list(sample(8)())
    fx, fy = np.stack([d[0] for d in data]), np.array([[d[1]] for d in data], 'int64')
    l, = exe.run(prog, feed={'x': fx, 'y': fy}, fetch_list=[loss])
    print('split %s' % ' '.join('%.6f' % v for v in l))
    l, = exe.run(prog, feed=[{'x': fx[:2], 'y': fy[:2]}, {'x': fx[2:], 'y': fy[2:]}], fetch_list=[loss], return_merged=False)
    print('feeds', len(l), '%.6f' % np.asarray(l).mean())
for name, r in [('compose', paddle.reader.compose(sample(3), sample(3, 4))), ('chain', paddle.reader.chain(sample(2), sample(2, 4))), ('map', paddle.reader.map_readers(lambda a, b: (a[1], b[1]), sample(4), sample(4, 7))), ('firstn', paddle.reader.firstn(sample(), 2)), ('xmap', paddle.reader.xmap_readers(lambda s: (s[0] * 2, s[1]), sample(5), 2, 4, order=True)), ('cache', paddle.reader.cache(sample(2)))]:
    print(name, '%.5f' % sum(float(np.sum(np.asarray(v, dtype='float64'))) for s in r() for v in s))
mp = multiprocess_reader([functools.partial(lists, s) for s in (1, 4)], use_pipe=True)
print('mp %.5f' % sum(sum(s[0]) for s in mp()))

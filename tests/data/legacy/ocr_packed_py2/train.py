from __future__ import with_statement
import argparse, distutils.util, functools, os, sys, random, time, shutil, commands, string
import numpy as np
import paddle.fluid as fluid, paddle.fluid.layers as layers, paddle
import data

parser = argparse.ArgumentParser(description=__doc__)
add = functools.partial(lambda name, type, default, help, p=parser: p.add_argument('--' + name, default=default, type=distutils.util.strtobool if type == bool else type, help=help + ' Default: %(default)s.'))
add('batch_size', int, 8, 'Minibatch size.')
add('passes', int, 8, 'Passes.')
add('lr', float, 5e-3, 'Rate.')
add('parallel', bool, False, 'Use ParallelExecutor.')

def conv_bn_pool(x, group, out_ch, act='relu', param=None, bias=None, param_0=None):
    tmp = x
    for i in xrange(group):
        tmp = layers.conv2d(tmp, out_ch[i], 3, padding=1, param_attr=param if param_0 is None else param_0, bias_attr=False, act=None)
        tmp = layers.batch_norm(tmp, act=act, param_attr=param, bias_attr=bias, momentum=.9)
    return layers.pool2d(tmp, pool_size=2, pool_type='max', pool_stride=2, ceil_mode=True)

def ctc_net(images, label, classes):
    reg = fluid.regularizer.L2Decay(4e-4)
    w1 = fluid.ParamAttr(regularizer=reg, initializer=fluid.initializer.Normal(0.0, 0.05))
    b1 = fluid.ParamAttr(regularizer=reg, initializer=fluid.initializer.Normal(0.0, 0.0))
    t = conv_bn_pool(images, 2, (6, 6), param=w1, bias=b1)
    t = conv_bn_pool(t, 1, [12], param=w1, bias=b1)
    seq = layers.im2sequence(t, stride=[1, 1], filter_size=[t.shape[2], 1])
    f1, f2 = [layers.fc(seq, 3 * 10, param_attr=w1, bias_attr=b1) for _ in range(2)]
    g1 = layers.dynamic_gru(f1, 10, param_attr=w1, bias_attr=b1, candidate_activation='relu')
    g2 = layers.dynamic_gru(f2, 10, is_reverse=True, param_attr=w1, bias_attr=b1, candidate_activation='relu')
    return layers.fc([g1, g2], classes + 1, param_attr=w1, bias_attr=b1)

def to_lodtensor(items, place):
    lens = map(len, items)
    lod = reduce(lambda acc, n: acc + [acc[-1] + n], lens, [0])
    t = fluid.LoDTensor()
    t.set(np.concatenate(items, axis=0).astype('int32').reshape(-1, 1), place)
    t.set_lod([lod])
    return t

def feed_of(batch, place):
    width = max(map(lambda b: b[0].shape[2], batch))
    imgs = np.zeros((len(batch), 1, 12, width), 'float32')
    for i, (im, _) in enumerate(batch):
        imgs[i, :, :, :im.shape[2]] = im
    return {'pixel': imgs, 'label': to_lodtensor([b[1] for b in batch], place)}

def main():
    args = parser.parse_args()
    print '-----------  Configuration Arguments -----------'
    for a, v in sorted(vars(args).iteritems()): print '%s: %s' % (a, v)
    rnd = random.Random(11)
    os.path.isdir('set') or os.mkdir('set', 0755)
    for i in range(3): data.pack('set/part-%03d.bin' % i, 16, rnd)
    with open('set/z.bad', 'w') as f: f.write('nothing')
    try:
        list(data.reader('set/z.*')())
    except data.BadFile, e:
        print 'bad:', e
    print commands.getoutput('ls set | wc -l').strip(), string.join(sorted(os.listdir('set')), ':')
    random.seed(3)
    batches = paddle.batch(paddle.reader.shuffle(data.reader('set/part*'), 100), args.batch_size)
    fluid.default_startup_program().random_seed = 90
    pixel = layers.data('pixel', shape=[1, 12, 24], dtype='float32')
    label = layers.data('label', shape=[1], dtype='int32', lod_level=1)
    out = ctc_net(pixel, label, len(data.FONT))
    cost = layers.reduce_sum(layers.warpctc(out, label, blank=len(data.FONT), norm_by_times=True))
    dec = layers.ctc_greedy_decoder(out, blank=len(data.FONT))
    ev = fluid.evaluator.EditDistance(dec, layers.cast(label, 'int64'))
    infer = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Momentum(args.lr, 0.9).minimize(cost)
    avg = fluid.optimizer.ModelAverage(0.2, min_average_window=4, max_average_window=8)
    place = fluid.CPUPlace(); exe = fluid.Executor(place); exe.run(fluid.default_startup_program())
    it = 0
    for p in range(args.passes):
        ev.reset(exe)
        tot = []
        for b in batches():
            l = exe.run(feed=feed_of(b, place), fetch_list=[cost] + ev.metrics)
            tot.append(float(l[0])); it += 1
            print 'iter %d loss %.5f dist %s err %s' % (it, l[0] / len(b), ' '.join(map('{:.1f}'.format, np.array(l[1]).ravel())) if it % 5 == 0 else '-', l[2][0])
        d, e = ev.eval(exe)
        print 'pass', p, 'avg', round(sum(tot) / len(tot), 3), 'distance %.4f error %.4f' % (d[0], e[0])
    with avg.apply(exe):
        fluid.io.save_inference_model('ocr_model', ['pixel'], [dec], exe, model_filename='__model__', params_filename='params')
        l = [exe.run(infer, feed=feed_of(b, place), fetch_list=[cost.name])[0] for b in paddle.batch(data.reader('set/part-002*'), 16)()]
        print 'averaged %.5f' % np.array(l).ravel()[0]
    prog, feeds, fetches = fluid.io.load_inference_model('ocr_model', exe, '__model__', 'params')
    for im, lab in itertools_take(data.reader('set/part-000.bin')(), 4):
        r, = exe.run(prog, feed={feeds[0]: im[None]}, fetch_list=fetches, return_numpy=False)
        print ''.join(map(str, lab)), '->', ''.join(`int(v)` for v in np.array(r).ravel()), map(len, r.lod())
    st = os.stat('ocr_model/params')
    print st.st_size, oct(0644), '%o' % 0755, len(open('ocr_model/__model__', 'rb').read()) > 1000L

def itertools_take(it, n):
    try:
        while n:
            yield it.next()
            n -= 1
    except StopIteration:
        pass

main()

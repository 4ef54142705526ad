"""A small MobileNet-SSD trained by RMSProp, with DetectionMAP on a test program."""
from __future__ import print_function
import argparse
import numpy as np
import paddle.fluid as fluid
from mobilenet_ssd import build_mobilenet_ssd

parser = argparse.ArgumentParser()
parser.add_argument('--opt', default='rmsprop')
parser.add_argument('--seed', type=int, default=6)
parser.add_argument('--steps', type=int, default=16)
args = parser.parse_args()


def data(seed, n=12, bs=4):
    r = np.random.RandomState(seed)
    for _ in range(n):
        out = []
        for _ in range(bs):
            k = r.randint(1, 4)
            c = r.uniform(0, .5, (k, 2)); s = r.uniform(.2, .45, (k, 2))
            img = r.uniform(-1, 1, (3, 64, 64)).astype('float32')
            out.append((img, np.concatenate([c, c + s], 1).astype('float32'), r.randint(1, 5, k).astype('int32'), (r.rand(k) < .1).astype('int32')))
        yield out


def build(main, startup, is_train):
    with fluid.program_guard(main, startup):
        image = fluid.layers.data('image', [3, 64, 64])
        box = fluid.layers.data('gt_box', [4], lod_level=1)
        label = fluid.layers.data('gt_label', [1], dtype='int32', lod_level=1)
        diff = fluid.layers.data('gt_difficult', [1], dtype='int32', lod_level=1)
        with fluid.unique_name.guard("base"):
            locs, confs, b, bv = build_mobilenet_ssd(image, 5, (3, 64, 64), is_train)
        if is_train:
            with fluid.unique_name.guard("train"):
                loss = fluid.layers.reduce_sum(fluid.layers.ssd_loss(locs, confs, box, label, b, bv))
                lr = fluid.layers.piecewise_decay([6, 9], [.001, .0005, .00025])
                opt = {'rmsprop': lambda: fluid.optimizer.RMSProp(learning_rate=lr, regularization=fluid.regularizer.L2Decay(0.00005)),
                       'momentum': lambda: fluid.optimizer.Momentum(lr, .9, regularization=fluid.regularizer.L2Decay(0.0005))}[args.opt]()
                opt.minimize(loss)
            return [image, box, label, diff], loss
        with fluid.unique_name.guard("inference"):
            nmsed = fluid.layers.detection_output(locs, confs, b, bv, nms_threshold=0.45)
            map_eval = fluid.metrics.DetectionMAP(nmsed, label, box, diff, class_num=5, overlap_threshold=.5, evaluate_difficult=False, ap_version='11point')
            return [image, box, label, diff], map_eval, nmsed


train, test, startup = fluid.Program(), fluid.Program(), fluid.Program()
startup.random_seed = args.seed
feeds, loss = build(train, startup, True)
feeds2, map_eval, nmsed = build(test, startup, False)
test = test.clone(for_test=True)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(startup)
feeder = fluid.DataFeeder(feeds, fluid.CPUPlace())
f2 = fluid.DataFeeder(feeds2, fluid.CPUPlace())
batches = list(data(1))
for i in range(args.steps):
    l, = exe.run(train, feed=feeder.feed(batches[i % len(batches)]), fetch_list=[loss])
    print('Pass 0, batch %d, loss %.6f' % (i, l[0] if l.shape else l))
cur, acc = map_eval.get_map_var()
map_eval.reset(exe)
for b in data(2, 3):
    c, a = exe.run(test, feed=f2.feed(b), fetch_list=[cur, acc])
    print('map %.5f %.5f' % (c[0], a[0]))

"""A spatial transformer in front of a digit classifier, images warped on the fly; logs with logging."""
import argparse, logging, math
import numpy as np
import paddle, paddle.fluid as fluid
from paddle.fluid import layers as L

logging.basicConfig(level=logging.INFO, format='%(levelname)s %(message)s')
log = logging.getLogger(__name__)
ap = argparse.ArgumentParser()
ap.add_argument('--lr', type=float, default=.01)
ap.add_argument('--epochs', type=int, default=2)
ap.add_argument('--use_gpu', type=eval, default=False)
args = ap.parse_args()


def reader(n, seed):
    def gen():
        r = np.random.RandomState(seed)
        for _ in range(n):
            k = r.randint(0, 4)
            im = np.zeros((1, 12, 12), 'float32')
            im[0, 3 * (k // 2) + 1:3 * (k // 2) + 5, 5 * (k % 2):5 * (k % 2) + 6] = 1
            yield im + .1 * r.randn(1, 12, 12).astype('float32'), int(k)
    return gen


def net(img):
    loc = L.pool2d(L.conv2d(img, 4, 5, act='relu', padding=2), 2, 'avg', 2)
    theta = L.fc(loc, 6, param_attr=fluid.ParamAttr('loc.w', initializer=fluid.initializer.Constant(0.01)),
                 bias_attr=fluid.ParamAttr('loc.b', initializer=fluid.initializer.NumpyArrayInitializer(np.array([1, 0, 0, 0, 1, 0], 'float32'))))
    theta = L.reshape(theta, [-1, 2, 3])
    grid = L.affine_grid(theta, out_shape=[8, 1, 12, 12])
    img = L.assign(img)
    warped = L.grid_sampler(img, grid)
    warped = L.crop_tensor(warped, [8, 1, 10, 10], [0, 0, 1, 1])
    warped = L.add_position_encoding(L.reshape(warped, [-1, 10, 10]), alpha=1., beta=.1)
    warped = L.pad_constant_like(img, L.unsqueeze(warped, [1]), 0.)
    short = L.image_resize_short(warped, 6)
    f = L.concat([L.reshape(warped, [-1, 144]), L.reshape(short, [-1, 36])], 1)
    f = L.bilinear_tensor_product(L.fc(f, 8, act='selu'), L.fc(f, 6, act='swish'), 7, act='tanh')
    return L.fc(f, 4), theta


main, start = fluid.Program(), fluid.Program()
main.random_seed = start.random_seed = 90
with fluid.program_guard(main, start):
    img = fluid.data('img', [8, 1, 12, 12], 'float32')
    lab = fluid.data('lab', [8, 1], 'int64')
    logit, theta = net(img)
    cost, prob = L.softmax_with_cross_entropy(logit, lab, return_softmax=True)
    loss = L.mean(cost)
    acc = L.accuracy(prob, lab)
    test = main.clone(for_test=True)
    fluid.optimizer.Adamax(args.lr).minimize(loss)
place = fluid.CUDAPlace(0) if args.use_gpu else fluid.CPUPlace()
exe = fluid.Executor(place)
exe.run(start)
feeder = fluid.DataFeeder([img, lab], place, program=main)
tr = paddle.batch(paddle.reader.shuffle(reader(40, 1), 1), 8, drop_last=True)
for ep in range(args.epochs):
    for i, data in enumerate(tr()):
        l, a, th = exe.run(main, feed=feeder.feed(data), fetch_list=[loss.name, acc.name, theta.name])
        print('Epoch {0}, batch {1}, loss {2:.6f} acc {3:.3f} theta {4}'.format(ep, i, float(l), float(a), np.round(th[0].ravel().astype('float64'), 4).tolist()))
    res = [exe.run(test, feed=feeder.feed(d), fetch_list=[loss, acc]) for d in paddle.batch(reader(16, 9), 8)()]
    print('Test %.5f %.5f' % tuple(np.mean(np.array(res), axis=0).ravel()))
log.info('done')

from __future__ import print_function
import argparse
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.param_attr import ParamAttr
from paddle.fluid.initializer import Normal
from paddle.fluid.regularizer import L2Decay

parser = argparse.ArgumentParser()
parser.add_argument('--steps', type=int, default=20)
args = parser.parse_args()
rng = np.random.RandomState(4)
L = fluid.layers
fluid.default_startup_program().random_seed = fluid.default_main_program().random_seed = 77


def run(loss, feed, fetch=(), steps=args.steps, opt=None, test=None):
    (opt or fluid.optimizer.Momentum(L.piecewise_decay([10], [.005, .001]), 0.9, regularization=L2Decay(5e-4))).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    for i in range(steps):
        r = exe.run(feed=feed(), fetch_list=[loss] + list(fetch))
        print('step %d ' % i + ' '.join('%.5f' % np.mean(np.array(v).astype('float64')) for v in r))
    if test:
        prog, vars = test
        for i in range(2):
            r = exe.run(prog, feed=feed(), fetch_list=vars, return_numpy=False)
            print('test', [(np.array(v).shape, v.lod()) for v in r], ' '.join('%.5f' % np.mean(np.array(v).astype('float64')) for v in r))
    return exe


def crowd():
    image = fluid.layers.data('image', [-1, 3, -1, -1], append_batch_size=False); gt = fluid.layers.data('gt', [-1, 1, -1, -1], append_batch_size=False)
    x = L.relu(L.conv2d(image, 8, 5, padding='SAME', param_attr=ParamAttr(initializer=fluid.initializer.MSRA(uniform=False, fan_in=75))))
    x = L.pool2d(x, 2, 'max', 2, pool_padding='VALID')
    a = L.conv2d(x, 4, 3, padding=2, dilation=2, act='relu'); b = L.conv2d(x, 4, [1, 3], padding=[0, 1], act='relu'); c = L.prelu(L.conv2d(x, 4, 3, padding=[[0, 0], [0, 0], [1, 1], [1, 1]]), mode='channel')
    x = L.concat([a, b, c], axis=1)
    sp = [L.pool2d(x, global_pooling=True, pool_type='avg'), L.adaptive_pool2d(x, [2, 2], 'max')]
    hw = L.slice(L.shape(x), [0], [2], [4])
    x = L.concat([x] + [L.resize_bilinear(v, out_shape=hw, align_corners=False, align_mode=0) for v in sp], 1)
    den = L.conv2d(x, 4, 1, act='relu')
    den = L.pixel_shuffle(den, 2)
    loss = L.reduce_mean(L.square_error_cost(den, gt)) + 0.01 * L.reduce_mean(L.abs(L.reduce_sum(den, dim=[1, 2, 3]) - L.reduce_sum(gt, dim=[1, 2, 3])))
    ssim = L.reduce_mean(L.pool2d(den, 3, 'avg', 1, 1, exclusive=False))
    def feed():
        h, w = rng.choice([16, 20, 24], 2)
        return {'image': rng.rand(2, 3, h, w).astype('float32'), 'gt': rng.rand(2, 1, h, w).astype('float32') * .1}
    run(loss, feed, [ssim, hw], opt=fluid.optimizer.Adam(1e-3, regularization=fluid.regularizer.L1Decay(1e-4)))


if __name__ == '__main__':
    crowd()

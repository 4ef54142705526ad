from __future__ import print_function
import argparse
import math
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


def conv_bn(input, filter, ksize, stride=1, padding=0, act='relu', bias_attr=False):
    p_attr = ParamAttr(learning_rate=1., regularizer=L2Decay(0.))
    b_attr = ParamAttr(learning_rate=0., regularizer=L2Decay(0.))
    conv = L.conv2d(input=input, filter_size=ksize, num_filters=filter, stride=stride, padding=padding, act=None, bias_attr=bias_attr)
    return L.batch_norm(input=conv, act=act, epsilon=0.001, momentum=0.999, param_attr=p_attr, bias_attr=b_attr)


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


def metric():
    image = L.data('image', [3, 16, 16]); label = L.data('label', [1], dtype='int64')
    x = conv_bn(image, 8, 3, 2, 1)
    emb = L.fc(L.pool2d(x, pool_type='avg', global_pooling=True), 8, param_attr=ParamAttr(name='emb_w'), bias_attr=False)
    emb_n = L.l2_normalize(emb, axis=1)
    # triplet
    f = L.reshape(emb_n, [-1, 3, 8])
    a, p, n = L.split(f, num_or_sections=3, dim=1)
    d1 = L.reduce_sum(L.square(a - p), dim=2); d2 = L.reduce_sum(L.square(a - n), dim=2)
    tri = L.mean(L.relu(d1 - d2 + 0.5))
    # quadruplet by matmul
    sim = L.matmul(emb_n, emb_n, transpose_y=True)
    same = L.cast(L.equal(L.expand(label, [1, 12]), L.transpose(L.expand(label, [1, 12]), [1, 0])), 'float32')
    same.stop_gradient = True
    hard = L.reduce_max(L.elementwise_mul(1. - sim, same), dim=1) - L.reduce_min((1. - sim) + same * 1e3, dim=1)
    quad = L.mean(L.softplus(hard))
    npair = L.npair_loss(L.reshape(L.slice(emb, [0], [0], [6]), [6, 8]), L.reshape(L.slice(emb, [0], [6], [12]), [6, 8]), L.reshape(L.cast(L.slice(label, [0], [0], [6]), 'float32'), [6]), l2_reg=0.002)
    # arcmargin
    w = L.create_parameter([8, 5], 'float32', name='arc_w', default_initializer=Normal(0., .3))
    wn = L.sqrt(L.reduce_sum(L.square(w), dim=0)); wn = L.elementwise_div(w, wn, axis=1)
    cos = L.mul(emb_n, wn)
    m, s = 0.3, 8.
    sin = L.sqrt(1.0 - L.square(cos) + 1e-6)
    phi = cos * math.cos(m) - sin * math.sin(m)
    th = math.cos(math.pi - m)
    phi = L.elementwise_add(L.elementwise_mul(L.cast(x=cos > th, dtype='float32'), phi), L.elementwise_mul(L.cast(x=cos <= th, dtype='float32'), cos - math.sin(math.pi - m) * m))
    one = L.one_hot(label, 5)
    out = (L.elementwise_mul(one, phi) + L.elementwise_mul((1.0 - one), cos)) * s
    arc = L.mean(L.softmax_with_cross_entropy(out, label))
    center = L.mean(L.center_loss(emb, label, 5, 0.1, param_attr=fluid.ParamAttr(name='centers'), update_center=True))
    loss = tri + quad + 0.1 * npair + arc + 0.01 * center
    def feed():
        y = rng.randint(0, 5, (12, 1)).astype('int64')
        return {'image': (rng.randn(12, 3, 16, 16) + y.reshape(-1, 1, 1, 1) * .3).astype('float32'), 'label': y}
    exe = run(loss, feed, [tri, quad, npair, arc, center])
    print('%.5f' % np.array(fluid.global_scope().find_var('centers').get_tensor()).mean())


if __name__ == '__main__':
    metric()

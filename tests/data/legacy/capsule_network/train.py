"""A capsule network with routing by agreement, margin loss and a decoder."""
from __future__ import division
import numpy as np
import paddle, paddle.fluid as fluid
from paddle.fluid import layers as L


def squash(s, dim=-1):
    n = L.reduce_sum(L.square(s), dim=dim, keep_dim=True)
    return L.elementwise_mul(s, n / (1. + n) / L.sqrt(n + 1e-8))


def routing(u, caps, rounds=3):
    # u: [N, in, out, d]
    b = L.fill_constant_batch_size_like(u, [-1, u.shape[1], caps, 1], 'float32', 0.)
    hold = L.assign(u)
    hold.stop_gradient = True
    for i in range(rounds):
        c = L.softmax(b, axis=2)
        if i < rounds - 1:
            v = squash(L.reduce_sum(L.elementwise_mul(hold, c, axis=0), dim=1, keep_dim=True))
            b = b + L.reduce_sum(L.elementwise_mul(hold, v), dim=-1, keep_dim=True)
            b.stop_gradient = True
        else:
            v = squash(L.reduce_sum(L.elementwise_mul(u, c), dim=1))
    return v


main, start = fluid.Program(), fluid.Program()
main.random_seed = start.random_seed = 31
with fluid.program_guard(main, start):
    img, lab = L.data('img', [1, 12, 12]), L.data('lab', [1], dtype='int64')
    f = L.conv2d(img, 8, 5, act='relu')
    p = L.conv2d(f, 8, 3, stride=2)
    prim = squash(L.reshape(L.transpose(p, [0, 2, 3, 1]), [-1, 18, 4]))
    w = L.create_parameter([18, 4, 3 * 6], 'float32', attr=fluid.ParamAttr('route', initializer=fluid.initializer.Normal(0., .3)))
    u = L.transpose(L.matmul(L.transpose(prim, [1, 0, 2]), w), [1, 0, 2])
    u = L.reshape(u, [-1, 18, 3, 6])
    v = routing(u, 3)
    length = L.sqrt(L.reduce_sum(L.square(v), -1) + 1e-8)
    t = L.one_hot(lab, 3)
    margin = t * L.square(L.relu(.9 - length)) + .5 * (1. - t) * L.square(L.relu(length - .1))
    masked = L.reshape(L.elementwise_mul(v, L.unsqueeze(t, [2])), [-1, 18])
    rec = L.fc(L.fc(masked, 20, act='relu'), 144, act='sigmoid')
    rl = L.reduce_mean(L.square(rec - L.reshape(img, [-1, 144])))
    loss = L.reduce_mean(L.reduce_sum(margin, 1)) + .05 * rl
    acc = L.accuracy(L.softmax(length), lab)
    test = main.clone(for_test=True)
    fluid.optimizer.Adam(L.exponential_decay(.01, 10, .9)).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(start)
r = np.random.RandomState(0)
for i in range(14):
    y = r.randint(0, 3, (10, 1))
    x = .2 * r.rand(10, 1, 12, 12)
    for j, k in enumerate(y[:, 0]):
        x[j, 0, 4 * k:4 * k + 3, 2:10] = 1
    l, a, m = exe.run(main, feed={'img': x.astype('f'), 'lab': y}, fetch_list=[loss, acc, length])
    print('step %d loss %.6f acc %.2f len %.5f' % (i, l, a, m.mean()))
print('test loss %.6f acc %.2f' % tuple(float(q) for q in exe.run(test, feed={'img': x.astype('f'), 'lab': y}, fetch_list=[loss, acc])))

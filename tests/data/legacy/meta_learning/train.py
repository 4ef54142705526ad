"""MAML on sine waves: an inner step by gradients of the loss, an outer one through it; weights passed as variables."""
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.layers as L
r = np.random.RandomState(2)
SIZES = [(1, 16), (16, 16), (16, 1)]


def forward(x, ws):
    h = x
    for i in range(len(SIZES)):
        h = L.elementwise_add(L.matmul(h, ws[2 * i]), ws[2 * i + 1])
        if i + 1 < len(SIZES):
            h = L.tanh(h)
    return h


def mse(a, b):
    return L.reduce_mean(L.square(a - b))


main, start = fluid.Program(), fluid.Program()
main.random_seed = start.random_seed = 10
with fluid.program_guard(main, start):
    ws = []
    for i, (a, b) in enumerate(SIZES):
        ws.append(L.create_parameter([a, b], 'float32', name='w%d' % i, default_initializer=fluid.initializer.Normal(0., .5)))
        ws.append(L.create_parameter([b], 'float32', name='b%d' % i, is_bias=True))
    total, before = [], []
    for t in range(3):
        sx, sy = fluid.data('sx%d' % t, [5, 1]), fluid.data('sy%d' % t, [5, 1])
        qx, qy = fluid.data('qx%d' % t, [7, 1]), fluid.data('qy%d' % t, [7, 1])
        fast = ws
        for step in range(2):
            inner = mse(forward(sx, fast), sy)
            grads = fluid.gradients(inner, fast)
            fast = [w - .05 * g for w, g in zip(fast, grads)]
        before.append(mse(forward(qx, ws), qy))
        total.append(mse(forward(qx, fast), qy))
    loss = L.scale(L.sums(total), 1. / 3)
    test = main.clone(for_test=True)
    opt = fluid.optimizer.Adam(.01)
    _, pg = opt.minimize(loss, parameter_list=[w.name for w in ws])
exe = fluid.Executor(fluid.CPUPlace())
exe.run(start)
for it in range(12):
    feed = {}
    for t in range(3):
        a, p = r.uniform(.5, 2), r.uniform(0, 3)
        for n, k in (('s', 5), ('q', 7)):
            x = r.uniform(-3, 3, (k, 1)).astype('f')
            feed['%sx%d' % (n, t)], feed['%sy%d' % (n, t)] = x, (a * np.sin(x + p)).astype('f')
    o = exe.run(main, feed=feed, fetch_list=[loss] + before + total + [g for _, g in pg])
    print('iter %d meta %.6f before %.6f after %.6f grads %s' % (it, o[0][0], np.mean([v[0] for v in o[1:4]]), np.mean([v[0] for v in o[4:7]]), ['%.5f' % np.abs(g).sum() for g in o[7:]]))
print('test %.6f' % exe.run(test, feed=feed, fetch_list=[loss.name])[0][0], len(main.global_block().ops) > 100)

"""Metric learning with a queue of keys, gradient reversal by py_func, stop_gradient, learnable loss weights, two learning rates."""
import numpy as np
import paddle.fluid as fluid
from paddle.fluid import layers as L
r = np.random.RandomState(8)


def reverse_forward(x):
    return np.array(x)


def reverse_backward(x, y, dy):
    return -.3 * np.array(dy)


def grad_reverse(x):
    out = fluid.default_main_program().current_block().create_var(name=fluid.unique_name.generate('reversed'), dtype='float32', shape=x.shape)
    return L.py_func(func=reverse_forward, x=x, out=out, backward_func=reverse_backward)


main, start = fluid.Program(), fluid.Program()
main.random_seed = start.random_seed = 44
with fluid.program_guard(main, start):
    x, y, dom = L.data('x', [7]), L.data('y', [1], dtype='int64'), L.data('dom', [1])
    h = L.fc(x, 10, act='tanh', param_attr=fluid.ParamAttr('f.w', learning_rate=.5))
    emb = L.l2_normalize(L.fc(h, 6, name='emb'), axis=1)
    bank = L.create_global_var([9, 6], .1, 'float32', persistable=True, name='bank')
    ptr = L.create_global_var([1], 0, 'int64', persistable=True, name='ptr')
    sim = L.matmul(emb, bank, transpose_y=True, alpha=5.)
    cls = L.softmax_with_cross_entropy(sim, y)
    dlogit = L.fc(grad_reverse(h), 1, name='dom')
    dl = L.sigmoid_cross_entropy_with_logits(dlogit, dom)
    npair = L.npair_loss(L.reshape(emb, [8, 6]), L.fc(h, 6, name='pos'), L.reshape(L.cast(y, 'float32'), [8]), l2_reg=.01)
    center = L.center_loss(emb, y, 9, .1, fluid.ParamAttr('centers', initializer=fluid.initializer.Constant(0.)), update_center=True)
    rank = L.margin_rank_loss(L.ones([4, 1], 'float32'), L.reduce_sum(L.slice(L.reshape(emb, [8, 6]), [0], [0], [4]), 1, keep_dim=True), L.reduce_sum(L.slice(L.reshape(emb, [8, 6]), [0], [4], [8]), 1, keep_dim=True), .2)
    s = [L.create_parameter([1], 'float32', name='s%d' % i, default_initializer=fluid.initializer.Constant(.1 * i)) for i in range(3)]
    parts = [L.mean(cls), L.mean(dl), npair]
    loss = L.sums([L.exp(-1. * a) * p + a for a, p in zip(s, parts)]) + .1 * L.mean(center) + .1 * L.mean(rank)
    fast = fluid.optimizer.Adam(.01, name='fast')
    fast.minimize(loss, parameter_list=[p.name for p in main.all_parameters() if not p.name.startswith('s') and p.trainable and p.name != 'centers'], no_grad_set=set(['bank', 'ptr']))
    key = L.reduce_mean(emb, 0, keep_dim=True)
    key.stop_gradient = True
    new = L.scatter(bank, ptr, key)
    L.assign(new, bank)
    L.assign(L.elementwise_mod(L.increment(ptr, 1, in_place=False), L.fill_constant([1], 'int64', 9)), ptr)
slow = main.clone()
with fluid.program_guard(slow, start):
    fluid.optimizer.SGD(.05).minimize(slow.global_block().var(loss.name), parameter_list=['s0', 's1', 's2'])
exe = fluid.Executor(fluid.CPUPlace())
exe.run(start)
for i in range(12):
    f = {'x': r.randn(8, 7).astype('f'), 'y': r.randint(0, 9, (8, 1)), 'dom': r.randint(0, 2, (8, 1)).astype('f')}
    o = exe.run(slow if i % 3 == 2 else main, feed=f, fetch_list=[v.name for v in [loss] + parts + [bank, ptr] + s])
    print('%d loss %.5f parts %s bank %.5f ptr %d s %s' % (i, o[0], ['%.5f' % v for v in o[1:4]], o[4].sum(), o[5], ['%.4f' % v for v in o[6:]]))
print('centers %.5f' % np.abs(np.array(fluid.global_scope().find_var('centers').get_tensor())).sum())

"""A VAE whose noise is drawn in the graph from seeds, an annealed KL, importance weights, and samples decoded from a second program."""
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.layers as L
from paddle.fluid.layers import distributions as D
r = np.random.RandomState(3)
DATA = (r.rand(60, 12) < np.where(np.arange(60)[:, None] % 2, .8, .2)).astype('float32')
K, Z = 4, 3


def encode(x):
    h = L.fc(x, 16, act='tanh', param_attr='e0.w', bias_attr='e0.b')
    return L.fc(h, Z, param_attr='mu.w', bias_attr='mu.b'), L.clip(L.fc(h, Z, param_attr='ls.w', bias_attr='ls.b'), -5., 2.)


def decode(z):
    return L.fc(L.fc(z, 16, act='tanh', param_attr='d0.w', bias_attr='d0.b'), 12, param_attr='d1.w', bias_attr='d1.b')


main, start = fluid.Program(), fluid.Program()
main.random_seed = start.random_seed = 9
with fluid.program_guard(main, start):
    x, beta = fluid.data('x', [10, 12]), fluid.data('beta', [1])
    mu, ls = encode(x)
    q = D.Normal(mu, L.exp(ls))
    p = D.Normal(L.zeros([10, Z], 'float32'), L.ones([10, Z], 'float32'))
    kl = L.reduce_sum(q.kl_divergence(p), 1)
    logw = []
    for k in range(K):
        eps = L.gaussian_random([10, Z], seed=k + 1)
        z = mu + L.exp(ls) * eps
        rec = -1. * L.reduce_sum(L.sigmoid_cross_entropy_with_logits(decode(z), x), 1)
        logw.append(rec + L.reduce_sum(p.log_prob(z) - q.log_prob(z), 1))
    w = L.stack(logw, 1)
    bound = L.reduce_mean(L.logsumexp(w, dim=[1]) - float(np.log(K)))
    ent = L.reduce_mean(q.entropy())
    loss = -1. * bound + beta * L.reduce_mean(kl) * .1 - .001 * ent
    ness = L.reduce_mean(1. / L.reduce_sum(L.square(L.softmax(w)), 1))
    opt = fluid.optimizer.Adam(.02, regularization=fluid.regularizer.L1Decay(1e-4))
    pg = opt.backward(loss)
    pg = [(a, g * 1.0) for a, g in pg]
    opt.apply_gradients(pg)
gen = fluid.Program()
with fluid.program_guard(gen, fluid.Program()):
    zz = fluid.data('z', [None, Z])
    img = L.sigmoid(decode(zz))
exe = fluid.Executor(fluid.CPUPlace())
exe.run(start)
for i in range(14):
    b = DATA[r.permutation(60)[:10]]
    o = exe.run(main, feed={'x': b, 'beta': np.array([min(1., i / 8.)], 'float32')}, fetch_list=[loss, bound, kl, ness, ent, eps])
    print('%d loss %.5f bound %.5f kl %.5f ess %.5f ent %.5f eps %.4f' % (i, o[0][0], o[1][0], o[2].mean(), o[3][0], o[4][0], o[5].sum()))
print('sample', np.round(exe.run(gen, feed={'z': np.eye(3, dtype='float32')}, fetch_list=[img])[0].sum(1).astype('float64'), 4).tolist())
c = D.Categorical(L.assign(np.array([[.2, .5, .3]], 'float32')))
u = D.Uniform([0.], [2.])
mv = D.MultivariateNormalDiag(L.assign(np.zeros(2, 'float32')), L.assign(np.eye(2).astype('float32') * 2))
print('others', ['%.5f' % float(np.ravel(v)[0]) for v in exe.run(fetch_list=[c.entropy(), c.kl_divergence(D.Categorical(L.assign(np.array([[.1, .1, .8]], 'float32')))), u.entropy(), u.log_prob(L.assign(np.array([.5], 'float32'))), mv.entropy()])])

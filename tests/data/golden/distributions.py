"""layers.Normal, Uniform, Categorical and MultivariateNormalDiag: entropies, log probabilities, divergences, samples."""
import numpy as np
import paddle.fluid as fluid
from goldenlib import wave, Log, finish

L = fluid.layers
log = Log()
main, startup = fluid.Program(), fluid.Program()
with fluid.program_guard(main, startup), fluid.unique_name.guard():
    value = fluid.data('value', [2], dtype='float32')
    logits = fluid.data('logits', [2, 3], dtype='float32')
    others = fluid.data('others', [2, 3], dtype='float32')
    n, m, p = L.Normal([0.5, 1.0], [1.5, 0.5]), L.Normal([0.1, 2.0], [1.0, 0.8]), L.Normal(0.5, 2.0)
    u = L.Uniform([0.0, 0.5], [3.0, 2.0])
    c, d = L.Categorical(logits), L.Categorical(others)
    a = L.MultivariateNormalDiag(np.array([0.3, 0.5], 'float32'), np.array([[0.4, 0], [0, 0.5]], 'float32'))
    outs = [
        ('normal_entropy', n.entropy()), ('normal_log_prob', n.log_prob(value)), ('normal_kl', n.kl_divergence(m)),
        ('normal_sample', n.sample([3], seed=4)), ('plain_sample', p.sample([4], seed=5)),
        ('uniform_entropy', u.entropy()), ('uniform_log_prob', u.log_prob(value)),
        ('categorical_entropy', c.entropy()), ('categorical_kl', c.kl_divergence(d)),
        ('diag_entropy', a.entropy()),
    ]
exe = fluid.Executor(fluid.CPUPlace())
exe.run(startup)
feed = {'value': np.array([0.8, 1.1], 'float32'), 'logits': wave([2, 3]), 'others': wave([2, 3], 0.9, 1.0)}
got = exe.run(main, feed=feed, fetch_list=[v for _, v in outs])
for (tag, _), array in zip(outs, got):
    log.put(tag, array)
finish(__file__, __doc__, log, {}, rtol=2e-5, atol=2e-6)

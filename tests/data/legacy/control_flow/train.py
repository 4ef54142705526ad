from __future__ import print_function
import numpy as np, paddle, sys, os, math
import paddle.fluid as fluid
from paddle.fluid.layers.control_flow import StaticRNN as PaddingRNN

# StaticRNN language model + IfElse + Switch + case/cond + py_func + Print + Assert-like bits.
def lm():
    x = fluid.layers.data('x', [5, 1], dtype='int64', append_batch_size=True)
    y = fluid.layers.data('y', [5, 1], dtype='int64')
    emb = fluid.layers.embedding(x, [20, 8])
    emb = fluid.layers.transpose(emb, [1, 0, 2])
    rnn = PaddingRNN()
    with rnn.step():
        w = rnn.step_input(emb)
        h = rnn.memory(shape=[-1, 8], batch_ref=w, init_value=0.1)
        gates = fluid.layers.fc(fluid.layers.concat([w, h], 1), 16)
        a, b = fluid.layers.split(gates, 2, dim=1)
        n = fluid.layers.sigmoid(a) * fluid.layers.tanh(b) + (1 - fluid.layers.sigmoid(a)) * h
        rnn.update_memory(h, n)
        rnn.step_output(n)
    out = rnn()
    out = fluid.layers.transpose(out, [1, 0, 2])
    logits = fluid.layers.fc(out, 20, num_flatten_dims=2)
    loss = fluid.layers.softmax_with_cross_entropy(logits, y, soft_label=False)
    loss = fluid.layers.reshape(loss, shape=[-1, 5])
    loss = fluid.layers.reduce_mean(loss, dim=[0])
    loss = fluid.layers.reduce_sum(loss)
    loss.permissions = True
    return x, y, loss, out

main, st = fluid.Program(), fluid.Program()
main.random_seed = st.random_seed = 2
with fluid.program_guard(main, st):
    x, y, loss, out = lm()
    lr = fluid.layers.create_global_var(name="learning_rate", shape=[1], value=1.0, dtype='float32', persistable=True)
    fluid.clip.set_gradient_clip(clip=fluid.clip.GradientClipByGlobalNorm(clip_norm=5.0))
    fluid.optimizer.SGD(learning_rate=lr).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(st)
rng = np.random.RandomState(0)
def set_lr(v):
    fluid.global_scope().find_var('learning_rate').get_tensor().set(np.array([v], dtype=np.float32), fluid.CPUPlace())
with fluid.program_guard(main, st):
    for i in range(12):
        s = (np.cumsum(rng.randint(0, 3, (4, 6)), 1) % 20).astype('int64')
        if i == 6:
            set_lr(0.1)
        r = exe.run(main, feed={'x': s[:, :5, None], 'y': s[:, 1:, None]}, fetch_list=[loss, lr], use_program_cache=True)
        print('lm %d %.5f ppl %.4f lr %.2f' % (i, r[0], np.exp(r[0] / 5), r[1]))

# control flow
p2, s2 = fluid.Program(), fluid.Program()
p2.random_seed = s2.random_seed = 4
with fluid.program_guard(p2, s2), fluid.unique_name.guard():
    x = fluid.layers.data('x', [4]); lab = fluid.layers.data('lab', [1])
    h = fluid.layers.fc(x, 3, act='tanh', param_attr='w')
    limit = fluid.layers.fill_constant_batch_size_like(x, [-1, 1], 'float32', 0.0)
    s = fluid.layers.reduce_sum(h, 1, keep_dim=True)
    ie = fluid.layers.IfElse(s > limit)
    with ie.true_block():
        d = ie.input(s)
        ie.output(d * 2.0)
    with ie.false_block():
        d = ie.input(s)
        ie.output(d * 0.5 - 1.0)
    o = ie()[0]
    i = fluid.layers.fill_constant([1], 'int64', 0); n = fluid.layers.fill_constant([1], 'int64', 3)
    acc = fluid.layers.fill_constant_batch_size_like(x, [-1, 1], 'float32', 0.0)
    def cond(i, a):
        return i < n
    def body(i, a):
        return [i + 1, a + o * 0.1]
    i, acc = fluid.layers.while_loop(cond, body, [i, acc])
    k = fluid.layers.reduce_mean(acc)
    br = fluid.layers.cond(fluid.layers.less_than(k, fluid.layers.fill_constant([1], 'float32', 0.0)), lambda: fluid.layers.abs(acc), lambda: acc * acc)
    sw = fluid.layers.switch_case(fluid.layers.cast(fluid.layers.reduce_sum(lab), 'int32') * 0 + 1, {0: lambda: br * 1.0, 1: lambda: br * 3.0}, default=lambda: br)
    def f(a):
        return np.array(a) * 2 + 1
    def b(a, o, g):
        return np.array(g) * 2
    pf = fluid.default_main_program().current_block().create_var(name='pf', dtype='float32', shape=[-1, 1])
    pf = fluid.layers.py_func(f, sw, pf, backward_func=b)
    loss = fluid.layers.mean(fluid.layers.square_error_cost(pf, lab)) + fluid.layers.mean(fluid.layers.huber_loss(o, lab, 1.0))
    pg = fluid.backward.append_backward(loss)
    fluid.optimizer.SGD(0.05).apply_gradients(pg)
exe.run(s2)
for i in range(10):
    r = exe.run(p2, feed={'x': rng.randn(5, 4).astype('float32'), 'lab': rng.rand(5, 1).astype('float32')}, fetch_list=[loss, o, acc, 'w@GRAD'])
    print('cf %d %.5f %.5f %.5f %.5f' % (i, r[0], r[1].sum(), r[2].sum(), np.abs(r[3]).sum()))
for m in (fluid.metrics.Accuracy(), fluid.metrics.Precision(), fluid.metrics.Recall(), fluid.metrics.Auc('roc', num_thresholds=100), fluid.metrics.EditDistance('e'), fluid.metrics.ChunkEvaluator()):
    n = type(m).__name__
    if n == 'Accuracy':
        m.update(value=.5, weight=2); m.update(value=np.array([.25]), weight=2)
    elif n in ('Precision', 'Recall'):
        m.update(np.array([[.1], [.7], [.8]]), np.array([[0], [1], [0]]))
    elif n == 'Auc':
        m.update(preds=np.array([[.3, .7], [.6, .4], [.2, .8]]), labels=np.array([[1], [0], [0]]))
    elif n == 'EditDistance':
        m.update(np.array([[1.], [0.]]), 2)
    else:
        m.update(3, 4, 2)
    print(n, ' '.join('%.5f' % v for v in np.atleast_1d(np.array(m.eval(), 'float64'))), m.get_config() and '')
w = fluid.average.WeightedAverage()
w.add(value=2.0, weight=1); w.add(value=np.array([4.0]), weight=3)
print('avg %.4f' % w.eval())

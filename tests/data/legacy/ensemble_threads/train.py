"""Several threads, scopes and programs at once: an ensemble that trains in threads, averages its weights and predicts."""
import threading, time, sys
try:
    import Queue as queue
except ImportError:
    import queue
import numpy as np
import paddle.fluid as fluid
K = 3
r = np.random.RandomState(1)
X = r.randn(30, 6).astype('float32')
Y = (X[:, :1] * X[:, 1:2] > 0).astype('int64')


def net():
    main, start = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, start), fluid.unique_name.guard():
        x = fluid.layers.data('x', [6])
        y = fluid.layers.data('y', [1], dtype='int64')
        h = fluid.layers.fc(x, 12, act='relu')
        p = fluid.layers.fc(h, 2, act='softmax')
        loss = fluid.layers.mean(fluid.layers.cross_entropy(p, y))
        infer = main.clone(for_test=True)
        fluid.optimizer.RMSProp(.01).minimize(loss)
    return main, start, infer, loss, p


nets = []
for k in range(K):
    n = net()
    n[1].random_seed = 0
    nets.append(n)
scopes = [fluid.core.Scope() for _ in range(K)]
results, q = {}, queue.Queue()
exe = fluid.Executor(fluid.CPUPlace())
for k in range(K):
    exe.run(nets[k][1], scope=scopes[k])
    for i, name in enumerate(('fc_0.w_0', 'fc_1.w_0')):
        t = scopes[k].find_var(name).get_tensor()
        t.set((np.random.RandomState(10 * k + i).randn(*t.shape()) * .4).astype('float32'), fluid.CPUPlace())


def work(k):
    main, start, infer, loss, p = nets[k]
    mine = fluid.Executor(fluid.CPUPlace())
    idx = np.random.RandomState(k).randint(0, 30, (8, 12))
    for step in range(8):
        l, = mine.run(main, feed={'x': X[idx[step]], 'y': Y[idx[step]]}, fetch_list=[loss], scope=scopes[k])
        results[k, step] = float(l[0])
    q.put(k)


ts = [threading.Thread(target=work, args=(k,)) for k in range(K)]
[t.start() for t in ts]
[t.join() for t in ts]
for key in sorted(results):
    print('member %d step %d loss %.6f' % (key + (results[key],)))
votes = [exe.run(nets[k][2], feed={'x': X, 'y': Y}, fetch_list=[nets[k][4]], scope=scopes[k])[0] for k in range(K)]
print('ensemble acc %.4f' % (np.mean(votes, 0).argmax(1) == Y[:, 0]).mean())
avg = fluid.core.Scope()
with fluid.scope_guard(avg):
    exe.run(nets[0][1])
    for v in nets[0][0].all_parameters():
        mean = np.mean([np.array(s.find_var(v.name).get_tensor()) for s in scopes], axis=0)
        avg.find_var(v.name).get_tensor().set(mean.astype('float32'), fluid.CPUPlace())
    print('averaged loss %.6f' % exe.run(nets[0][2], feed={'x': X, 'y': Y}, fetch_list=[nets[0][3]])[0][0])
    kid = avg.new_scope()
    print(kid.find_var('fc_0.w_0') is not None, avg.find_var('nothing') is None, '0.0')

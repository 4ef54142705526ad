from __future__ import print_function
import os, sys, random, time, numpy as np
import paddle.fluid as fluid
import paddle
from paddle.fluid.contrib.layers import ctr_metric_bundle
random.seed(5)
os.path.isdir('data') or os.makedirs('data')
rng = np.random.RandomState(3)
for p in range(3):
    with open('data/part-%d' % p, 'w') as f:
        for _ in range(20):
            s0 = rng.randint(1, 30, rng.randint(1, 4)); s1 = rng.randint(1, 30, rng.randint(1, 3))
            click = int((s0.sum() + s1.sum()) % 3 == 0)
            f.write('\t'.join(['1', str(click), ','.join('%.3f' % x for x in rng.rand(4)), ','.join(map(str, s0)), ','.join(map(str, s1))]) + '\n')

fluid.default_startup_program().random_seed = 4
show = fluid.layers.data('show', [1], dtype='float32')
click = fluid.layers.data('click', [1], dtype='int64')
dense = fluid.layers.data('dense', [4], dtype='float32')
slots = [fluid.layers.data('slot%d' % i, [1], dtype='int64', lod_level=1) for i in range(2)]
label_f = fluid.layers.cast(click, 'float32')
cvm = fluid.layers.concat([show, label_f], axis=1)
cvm.stop_gradient = True
emb = []
for s in slots:
    e = fluid.layers.embedding(s, size=[32, 6], is_sparse=True, is_distributed=False, param_attr=fluid.ParamAttr(name='embedding', initializer=fluid.initializer.Uniform(seed=2)))
    bow = fluid.layers.sequence_pool(e, 'sum')
    bow = fluid.layers.softsign(bow)
    emb.append(fluid.layers.continuous_value_model(bow, cvm, use_cvm=False) if s is slots[1] else bow)
concat = fluid.layers.concat(emb + [dense], axis=1)
concat = fluid.layers.data_norm(concat, name='common', epsilon=1e-4, param_attr={"batch_size": 1e4, "batch_sum": 0.0, "batch_square": 1e4})
lrs = 1.0
x = concat
for i, size in enumerate([16, 8]):
    x = fluid.layers.fc(x, size, act='relu', param_attr=fluid.ParamAttr(learning_rate=lrs, initializer=fluid.initializer.Normal(loc=0.0, scale=1.0 / np.sqrt(size))))
pred = fluid.layers.fc(x, 2, act='softmax')
sim = fluid.layers.slice(pred, axes=[1], starts=[1], ends=[2])
cost = fluid.layers.cross_entropy(pred, click)
avg = fluid.layers.mean(cost)
auc, batch_auc, [bp, bn, sp, sn] = fluid.layers.auc(input=pred, label=click, num_thresholds=2 ** 12, slide_steps=20)
sq, ab, prob, q, pos, ins = ctr_metric_bundle(sim, label_f)
opt = fluid.optimizer.Adam(0.01, lazy_mode=True)
opt.minimize(avg)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
files = ['data/part-%d' % i for i in range(3)]


def make(kind, cmd, bs=5):
    d = fluid.DatasetFactory().create_dataset(kind)
    d.set_use_var([show, click, dense] + slots)
    d.set_pipe_command(cmd)
    d.set_batch_size(bs)
    d.set_thread(1)
    d.set_filelist(files)
    return d


def state(tag):
    t = fluid.global_scope().find_var('embedding').get_tensor()
    print(tag, 'emb %.5f w %.5f' % (np.abs(np.array(t)).sum(), sum(np.abs(np.array(fluid.global_scope().var(p.name).get_tensor())).sum() for p in fluid.default_main_program().all_parameters())))


d = make('QueueDataset', 'python gen.py')
for e in range(1):
    exe.train_from_dataset(fluid.default_main_program(), d, thread=1, fetch_list=[avg, auc], fetch_info=['loss', 'auc'], print_period=4)
    state('epoch %d' % e)
m = make('InMemoryDataset', 'python gen2.py 2>/dev/null', 4)
m.load_into_memory()
print('size', m.get_memory_data_size(), m.get_shuffle_data_size())
exe.train_from_dataset(fluid.default_main_program(), m)
state('memory')
m.release_memory()
m.preload_into_memory()
m.wait_preload_done()
exe.infer_from_dataset(fluid.default_main_program().clone(for_test=True), m, fetch_list=[avg], fetch_info=['i'], print_period=100)
state('infer')
print(d.desc().splitlines()[0], m.thread_num)
c = make('QueueDataset', "python gen.py | cat", 10)
compiled = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(loss_name=avg.name)
exe.train_from_dataset(fluid.default_main_program(), c, debug=False)
state('again')
v = [np.array(fluid.global_scope().find_var(x.name).get_tensor()).reshape(-1)[0] for x in (sq, ab, prob, q, pos, ins)]
print('metrics', ' '.join('%.5f' % x for x in v))
exe.close()

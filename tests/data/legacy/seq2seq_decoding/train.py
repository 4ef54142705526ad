# -*- coding: utf-8 -*-
from __future__ import absolute_import, division, print_function
import io, os, sys, math, random, time, logging, contextlib
from distutils.dir_util import mkpath
import numpy as np
import paddle, paddle.fluid as fluid
import paddle.fluid.framework as framework
from paddle.fluid.executor import Executor
from model import AttentionModel, VAE
if sys.version[0] == '2':
    reload(sys)
    sys.setdefaultencoding("utf-8")
SEED = 123

@contextlib.contextmanager
def profile_context(profile=False):
    if profile:
        with fluid.profiler.profiler('CPU', 'total', './p.txt'):
            yield
    else:
        yield

def batches(n, bs, rng):
    for _ in range(n):
        L = rng.randint(3, 7, bs)
        src = np.zeros((bs, L.max()), 'int64'); tar = np.zeros((bs, L.max() + 1), 'int64'); lab = np.zeros((bs, L.max() + 1, 1), 'int64')
        for i, l in enumerate(L):
            s = rng.randint(3, 20, l); src[i, :l] = s
            t = (s[::-1] % 17) + 3
            tar[i, 0] = 1; tar[i, 1:l + 1] = t; lab[i, :l, 0] = t; lab[i, l, 0] = 2
        yield {'src': src, 'src_sequence_length': L.astype('int64'), 'tar': tar, 'tar_sequence_length': (L + 1).astype('int64'), 'label': lab}, (L + 1).sum()

def main():
    model = AttentionModel(16, 21, 21)
    main_program, startup_program = fluid.Program(), fluid.Program()
    main_program.random_seed = startup_program.random_seed = SEED
    with fluid.program_guard(main_program, startup_program):
        with fluid.unique_name.guard():
            feeds, loss = model.build('train')
            test_program = main_program.clone(for_test=True)
            clip = fluid.clip.GradientClipByGlobalNorm(clip_norm=5.0)
            lr = fluid.layers.learning_rate_scheduler.piecewise_decay([20, 30], [0.02, 0.01, 0.005])
            fluid.optimizer.Adam(lr, beta1=0.9, beta2=0.99, epsilon=1e-6, grad_clip=clip, regularization=fluid.regularizer.L2DecayRegularizer(1e-5)).minimize(loss)
            loader = fluid.io.DataLoader.from_generator(feed_list=feeds, capacity=16, iterable=True)
    exe = Executor(fluid.CPUPlace())
    exe.run(startup_program)
    print(sorted(p.name for p in main_program.all_parameters()))
    rng = np.random.RandomState(0)
    data = list(batches(12, 6, rng))
    loader.set_batch_generator(lambda: ([b[f.name] for f in feeds] for b, _ in data), places=fluid.cpu_places())
    CompiledProgram = fluid.CompiledProgram(main_program).with_data_parallel(loss_name=loss.name)
    for epoch in range(3):
        total_loss, word_count = 0, 0.0
        for batch_id, batch in enumerate(loader()):
            wn = data[batch_id][1]
            cost, = exe.run(CompiledProgram, feed=batch, fetch_list=[loss.name], use_program_cache=True)
            cost = np.array(cost)
            total_loss += cost * 6; word_count += wn
            if batch_id % 4 == 0:
                print("-- Epoch:[%d]; Batch:[%d]; ppl: %.4f" % (epoch, batch_id, np.exp(total_loss / word_count)))
        ev = [float(exe.run(test_program, feed=b, fetch_list=[loss])[0]) for b, _ in batches(3, 5, np.random.RandomState(epoch))]
        print('valid ppl', ' '.join('%.5f' % x for x in ev))
        mkpath('model_new/epoch_%d' % epoch)
        fluid.save(main_program, 'model_new/epoch_%d/checkpoint' % epoch)
    for kind in ('beam', 'greedy'):
        infer_prog, st = fluid.Program(), fluid.Program()
        with fluid.program_guard(infer_prog, st), fluid.unique_name.guard():
            f, out = model.build('infer', kind)
        with fluid.scope_guard(fluid.Scope()):
            exe.run(st)
            fluid.load(infer_prog, 'model_new/epoch_2/checkpoint', exe)
            b, _ = next(iter(batches(1, 4, np.random.RandomState(77))))
            res = exe.run(infer_prog, feed={k: b[k] for k in ('src', 'src_sequence_length')}, fetch_list=out)
            print(kind, [np.asarray(r).shape for r in res]); print(np.asarray(res[0]).reshape(4, -1)[:, :8].tolist(), np.asarray(res[1]).tolist())
            if kind == 'greedy':
                print('%.5f' % np.abs(res[2]).sum())
    # VAE
    vmain, vst = fluid.Program(), fluid.Program()
    vmain.random_seed = vst.random_seed = 7
    with fluid.program_guard(vmain, vst), fluid.unique_name.guard():
        loss, rec, kl = VAE().build(21)
        fluid.optimizer.Adam(0.01).minimize(loss)
    exe.run(vst)
    for i, (b, n) in enumerate(batches(14, 6, np.random.RandomState(5))):
        l = b['src_sequence_length'] + 1
        r = exe.run(vmain, feed={'vsrc': b['tar'], 'vlen': l, 'vlabel': b['label'], 'kl_weight': np.array([min(1., i / 10.)], 'float32')}, fetch_list=[loss, rec, kl])
        print('vae %d loss %.5f rec %.5f kl %.6f' % ((i,) + tuple(float(x) for x in r)))
    print(sorted(p.name for p in vmain.all_parameters()))

if __name__ == '__main__':
    main()

"""CompiledProgram.with_data_parallel on 2 and 3 CPU places: losses of each place and parameters after every step, for
a decayed rate with L2 decay, clipping by global norm and by value, batch norm, sparse and dense embeddings; a fed dict
divided among places, a reader that gives one batch to each."""
import os

os.environ['CPU_NUM'] = '3'
import numpy as np
import paddle.fluid as fluid
from goldenlib import wave, ints, Log, finish

L = fluid.layers
log = Log()
programs = {}
exe = fluid.Executor(fluid.CPUPlace())


def par(name, shape, phase):
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.NumpyArrayInitializer(wave(shape, 0.71, phase, 0.4)))


def optimizer(kind):
    if kind == 'schedule':
        rate = L.exponential_decay(0.3, 2, 0.7, staircase=True)
        return fluid.optimizer.Momentum(rate, 0.9, regularization=fluid.regularizer.L2Decay(0.05))
    if kind == 'global_norm':
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(0.2))
        return fluid.optimizer.Adam(0.05)
    if kind == 'by_value':
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByValue(0.02))
        return fluid.optimizer.SGD(0.5)
    return fluid.optimizer.SGD(0.3)


def batch(i, rows):
    return wave([rows, 6], 0.53, i), ints([rows, 1], 3, i + 1), ints([rows, 1], 9, i + 2)


def run(kind, places, reading=False):
    tag = '%s_%d%s' % (kind, places, '_reader' if reading else '')
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        x = fluid.data('x', [None, 6])
        y = fluid.data('y', [None, 1], 'int64')
        w = fluid.data('w', [None, 1], 'int64')
        if reading:
            loader = fluid.io.DataLoader.from_generator(feed_list=[x, y, w], capacity=4, iterable=False)
        hidden = L.fc(x, size=5, act='tanh', param_attr=par('w1', [6, 5], 0.1), bias_attr=par('b1', [5], 0.2))
        names = ['w1', 'b1', 'w2', 'b2']
        if kind == 'batch_norm':
            hidden = L.batch_norm(hidden, param_attr=par('s', [5], 0.5), bias_attr=par('t', [5], 0.6),
                                  moving_mean_name='mm', moving_variance_name='mv')
            names += ['s', 't', 'mm', 'mv']
        emb = L.embedding(w, size=[9, 4], is_sparse=kind == 'sparse', param_attr=par('e', [9, 4], 0.9))
        names.append('e')
        hidden = L.concat([hidden, L.reshape(emb, [-1, 4])], axis=1)
        logits = L.fc(hidden, size=3, param_attr=par('w2', [9, 3], 0.3), bias_attr=par('b2', [3], 0.4))
        loss = L.mean(L.softmax_with_cross_entropy(logits, y))
        optimizer(kind).minimize(loss)
        exe.run(startup)
        program = fluid.CompiledProgram(main).with_data_parallel(loss_name=loss.name, places=fluid.cpu_places(places))

        def note(got):
            log.add(tag + '/loss', got)
            for name in names:
                log.add('%s/%s' % (tag, name), np.array(fluid.global_scope().find_var(name).get_tensor()))

        if reading:
            loader.set_batch_generator(lambda: (batch(i, 4 + i % 2) for i in range(3 * places)))
            loader.start()
            try:
                while True:
                    note(exe.run(program, fetch_list=[loss])[0])
            except fluid.core.EOFException:
                loader.reset()
        else:
            for i, rows in enumerate([12, 9, 8, 7, 10]):
                rows *= 4 if kind == 'batch_norm' else 1  # few rows make it chaotic
                data = dict(zip(['x', 'y', 'w'], batch(i, rows)))
                note(exe.run(program, feed=data, fetch_list=[loss])[0])
    programs[tag] = main


for kind in ('plain', 'schedule', 'global_norm', 'by_value', 'batch_norm', 'sparse'):
    run(kind, 2)
run('plain', 3)
run('plain', 2, reading=True)
run('sparse', 3, reading=True)
finish(__file__, __doc__, log, programs, rtol=1e-4, atol=2e-5)

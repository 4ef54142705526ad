"""BasicDecoder under dynamic_decode: TrainingHelper (batch-major and time-major, with gradients) and GreedyEmbeddingHelper."""
import numpy as np
import paddle.fluid as fluid
from goldenlib import wave, ints, Log, finish

L = fluid.layers
log = Log()
exe = fluid.Executor(fluid.CPUPlace())


def par(name, seed):
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.Normal(0, 1.5, seed=seed))


def embed(ids):
    return fluid.embedding(ids, size=[10, 4], param_attr=par('emb', 3))


def decoder(helper):
    cell = L.GRUCell(5, param_attr=par('cell', 4))
    return L.BasicDecoder(cell, helper, output_fn=lambda t: L.fc(t, 10, param_attr=par('out', 5), bias_attr=False))


def train(time_major):
    y, n = L.data('y', [6], dtype='int64'), L.data('n', [-1], dtype='int64', append_batch_size=False)
    words = embed(y)
    words = L.transpose(words, [1, 0, 2]) if time_major else words
    helper = L.TrainingHelper(words, n, time_major=time_major)
    out, state, lengths = L.dynamic_decode(decoder(helper), inits=L.data('h', [5]), return_length=True)
    block = fluid.default_main_program().global_block()
    grads = fluid.gradients([L.reduce_mean(L.square(out.cell_outputs))], [block.var('emb'), block.var('out')])
    return [out.cell_outputs, out.sample_ids, state, lengths] + grads


def greedy():
    start = L.data('s', [-1], dtype='int64', append_batch_size=False)
    out, state, lengths = L.dynamic_decode(
        decoder(L.GreedyEmbeddingHelper(embed, start, 1)), inits=L.data('h', [5]), max_step_num=8, return_length=True)
    return [out.cell_outputs, out.sample_ids, state, lengths]


feed = {'y': ints([3, 6], 10, 3), 'n': np.array([4, 6, 2], 'int64'), 'h': wave([3, 5], .9), 's': np.zeros([3], 'int64')}
for tag, build in (('train', lambda: train(False)), ('time_major', lambda: train(True)), ('greedy', greedy)):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        fetch = build()
        exe.run(startup)
        given = dict((name, value) for name, value in feed.items() if main.global_block().has_var(name))
        for i, value in enumerate(exe.run(main, feed=given, fetch_list=fetch)):
            log.put('%s/%d' % (tag, i), value)
finish(__file__, __doc__, log, rtol=1e-4, atol=1e-5)

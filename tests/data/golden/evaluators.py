"""Evaluators with their state in the program: chunks and edit distances over three batches, a reset, and one more."""
import numpy as np
import paddle.fluid as fluid
from goldenlib import ints, Log, finish

L = fluid.layers
log = Log()
programs = {}


def sequences(lengths, modulo, mul, add):
    return fluid.create_lod_tensor(ints([sum(lengths), 1], modulo, mul, add), [lengths], fluid.CPUPlace())


def chunks(found, label):
    return fluid.evaluator.ChunkEvaluator(input=found, label=label, chunk_scheme='IOB', num_chunk_types=2)


def distance(found, label):
    return fluid.evaluator.EditDistance(input=found, label=label)


for tag, make, modulo in (('chunks', chunks, 5), ('distance', distance, 4)):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        found = fluid.layers.data('found', [1], dtype='int64', lod_level=1)
        label = fluid.layers.data('label', [1], dtype='int64', lod_level=1)
        evaluator = make(found, label)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        evaluator.reset(exe)
        for step in range(4):
            feed = {'found': sequences([3, 4, 2], modulo, 3, step), 'label': sequences([3, 4, 2], modulo, 7, 2 * step)}
            got = exe.run(main, feed=feed, fetch_list=evaluator.metrics)
            for i, value in enumerate(got):
                log.add('%s/metric%d' % (tag, i), np.array(value).reshape(-1))
            log.add(tag + '/eval', np.array(evaluator.eval(exe), 'float32').reshape(-1))
            if step == 2:
                evaluator.reset(exe)
    programs[tag] = main
finish(__file__, __doc__, log, programs)

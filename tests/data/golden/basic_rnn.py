"""contrib.layers.basic_gru and basic_lstm: deep, both ways, with and without lengths and first states; SGD, two steps."""
import numpy as np
import paddle.fluid as fluid
from goldenlib import wave, Log, finish

C = fluid.contrib.layers
L = fluid.layers


def gru(**options):
    return C.basic_gru(fluid.data('x', [2, 3, 4]), None, 5, **options)


def lstm(**options):
    return C.basic_lstm(fluid.data('x', [2, 3, 4]), None, None, 5, **options)


def lengths():
    return fluid.data('length', [2], dtype='int64')


def with_states():
    h, c = fluid.data('h', [2, 2, 5]), fluid.data('c', [2, 2, 5])
    return C.basic_lstm(fluid.data('x', [2, 3, 4]), h, c, 5, num_layers=2, forget_bias=0.5)


CASES = [
    ('gru', lambda: gru()), ('gru_deep_both', lambda: gru(num_layers=2, bidirectional=True)),
    ('gru_lengths', lambda: gru(sequence_length=lengths())),
    ('lstm', lambda: lstm()), ('lstm_deep', lambda: lstm(num_layers=2)), ('lstm_states', with_states),
    ('lstm_both_lengths', lambda: lstm(bidirectional=True, sequence_length=lengths())),
]
feed_all = {'x': wave([2, 3, 4]), 'length': np.array([3, 2], 'int64'), 'h': wave([2, 2, 5], 0.3), 'c': wave([2, 2, 5], 0.5)}
log = Log()
programs = {}
for tag, build in CASES:
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 9
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        outs = build()
        loss = L.mean(outs[0])
        fluid.optimizer.SGD(learning_rate=0.5).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        feed = dict((n, v) for n, v in feed_all.items() if main.global_block().has_var(n))
        for step in range(2):
            for i, value in enumerate(exe.run(main, feed=feed, fetch_list=list(outs))):
                log.add('%s/out%d' % (tag, i), value)
        for p in main.global_block().all_parameters():
            log.put('%s/%s' % (tag, p.name), np.array(fluid.global_scope().find_var(p.name).get_tensor()))
    programs[tag] = main
finish(__file__, __doc__, log, programs, rtol=1e-5, atol=2e-6)

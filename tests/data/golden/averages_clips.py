"""A linear regression with averages of parameters (swapped in once), slow weights, gradient and error clipping and
regularisation; six steps each, the weight after each, and what stands in for it while an average is applied."""
import numpy as np
import paddle.fluid as fluid
from goldenlib import wave, Log, finish

O = fluid.optimizer
C = fluid.clip
R = fluid.regularizer


def ema(loss):
    O.SGD(0.1).minimize(loss)
    made = O.ExponentialMovingAverage(0.9)
    made.update()
    return made


def model_average(loss):
    O.SGD(0.1).minimize(loss)
    return O.ModelAverage(0.5, min_average_window=2, max_average_window=3)


def clipped(clip):
    def build(loss):
        C.set_gradient_clip(clip)
        O.SGD(0.1).minimize(loss)
    return build


def error_clip(loss):
    loss.block.var('fc_0.tmp_0')._set_error_clip(C.ErrorClipByValue(max=0.01))
    O.SGD(0.1).minimize(loss)


def plain(optimizer):
    def build(loss):
        optimizer().minimize(loss)
    return build


CASES = [
    ('ema', ema), ('model_average', model_average),
    ('lookahead', plain(lambda: O.LookaheadOptimizer(O.SGD(0.1), alpha=0.3, k=2))),
    ('by_value', clipped(C.GradientClipByValue(0.05, -0.02))), ('by_norm', clipped(C.GradientClipByNorm(0.1))),
    ('by_global_norm', clipped(C.GradientClipByGlobalNorm(0.1))), ('error_clip', error_clip),
    ('l1', plain(lambda: O.SGD(0.1, regularization=R.L1Decay(0.02)))),
    ('l2', plain(lambda: O.Adam(0.1, regularization=R.L2Decay(0.02)))),
    ('clip_and_l2', plain(lambda: O.Momentum(0.1, 0.9, regularization=R.L2Decay(0.02), grad_clip=C.GradientClipByNorm(0.1)))),
]
log = Log()
programs = {}
for tag, build in CASES:
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        x = fluid.data(name='x', shape=[None, 6], dtype='float32')
        y = fluid.data(name='y', shape=[None, 2], dtype='float32')
        w = fluid.ParamAttr(name='w', initializer=fluid.initializer.NumpyArrayInitializer(wave([6, 2], 0.71, 0.1, 0.5)))
        pred = fluid.layers.fc(x, size=2, param_attr=w)
        loss = fluid.layers.mean(fluid.layers.square_error_cost(input=pred, label=y))
        average = build(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)

        def weight():
            return np.array(fluid.global_scope().find_var('w').get_tensor())

        for step in range(6):
            feed = {'x': wave([5, 6], 0.53, step * 0.4), 'y': wave([5, 2], 0.91, step * 0.7, 1.0, 0.5)}
            log.add(tag + '/loss', exe.run(main, feed=feed, fetch_list=[loss])[0])
            log.add(tag + '/w', weight())
        if average is not None:
            with average.apply(exe):
                log.put(tag + '/applied', weight())
            log.put(tag + '/restored', weight())
    programs[tag] = main
finish(__file__, __doc__, log, programs)

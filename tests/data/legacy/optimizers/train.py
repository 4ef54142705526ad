# Optimizer wrappers and rarely used switches, each on the same small net.
from __future__ import print_function
import numpy as np, os
import paddle.fluid as fluid
import paddle.fluid.contrib as contrib

def net():
    x = fluid.data('x', [None, 8], 'float32')
    y = fluid.data('y', [None, 1], 'int64')
    h = fluid.layers.fc(x, 16, act='relu')
    h2 = fluid.layers.fc(h, 16, act='tanh')
    h2 = fluid.layers.layer_norm(h2)
    p = fluid.layers.fc(h2, 4)
    loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(p, y))
    return loss, [h, h2], p

def data(n=10):
    rng = np.random.RandomState(1)
    for _ in range(n):
        x = rng.randn(6, 8).astype('float32')
        yield {'x': x, 'y': (x[:, :4].argmax(1)[:, None]).astype('int64')}

def run(name, build, n=10, compiled=False, post=None):
    main, st = fluid.Program(), fluid.Program()
    main.random_seed = st.random_seed = 9
    with fluid.program_guard(main, st), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        loss, cps, p = net()
        test = main.clone(for_test=True)
        try:
            extra = build(loss, cps)
        except Exception as e:
            print(name, 'build', type(e).__name__)
            return
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(st)
        prog = fluid.CompiledProgram(main).with_data_parallel(loss_name=loss.name) if compiled else main
        vals = []
        for i, f in enumerate(data(n)):
            try:
                vals.append(float(np.mean(exe.run(prog, feed=f, fetch_list=[loss])[0])))
            except Exception as e:
                print(name, 'run', type(e).__name__, str(e)[-150:].replace('\n', ' '))
                return
            if extra is not None and hasattr(extra, 'step'):
                extra.step(exe)
        print(name, ' '.join('%.6f' % v for v in vals))
        if post:
            post(name, exe, test, loss, extra)

def ev(exe, test, loss):
    return np.mean([float(exe.run(test, feed=f, fetch_list=[loss.name])[0]) for f in data(3)])

O = fluid.optimizer
run('recompute', lambda l, c: (lambda o: (o._set_checkpoints(c), o.minimize(l))[1] and None)(O.RecomputeOptimizer(O.Adam(0.01))))
run('lookahead', lambda l, c: O.LookaheadOptimizer(O.SGD(0.1), alpha=0.5, k=3).minimize(l) and None)
run('gradmerge', lambda l, c: O.GradientMergeOptimizer(O.SGD(0.1), k_steps=2, avg=True).minimize(l) and None) if hasattr(O, 'GradientMergeOptimizer') else None
class EMA(object):
    def __init__(self, l):
        O.Adam(0.01).minimize(l)
        self.ema = O.ExponentialMovingAverage(0.9)
        self.ema.update()
def ema_post(name, exe, test, loss, extra):
    print(name, 'before %.6f' % ev(exe, test, loss))
    with extra.ema.apply(exe):
        print(name, 'applied %.6f' % ev(exe, test, loss))
    print(name, 'after %.6f' % ev(exe, test, loss))
    with extra.ema.apply(exe, need_restore=False):
        pass
    print(name, 'kept %.6f' % ev(exe, test, loss))
    extra.ema.restore(exe)
    print(name, 'restored %.6f' % ev(exe, test, loss))
run('ema', lambda l, c: EMA(l), post=ema_post)
def avg_post(name, exe, test, loss, extra):
    print(name, 'before %.6f' % ev(exe, test, loss))
    with extra.apply(exe, need_restore=False):
        print(name, 'applied %.6f' % ev(exe, test, loss))
    extra.restore(exe)
    print(name, 'after %.6f' % ev(exe, test, loss))
def avg(l, c):
    O.Momentum(0.05, 0.9).minimize(l)
    return O.ModelAverage(0.15, min_average_window=2, max_average_window=6)
run('average', avg, post=avg_post)
for nm, mk in [('lamb', lambda: O.Lamb(0.01, lamb_weight_decay=0.01, exclude_from_weight_decay_fn=lambda p: p.name.endswith('.b_0'))), ('lars', lambda: O.LarsMomentum(0.1, 0.9)), ('dpsgd', lambda: O.Dpsgd(0.01, clip=10.0, batch_size=16.0, sigma=0.0)),
               ('ftrl', lambda: O.Ftrl(0.1, l1=.01, l2=.01)), ('adadelta', lambda: O.Adadelta(1.0, epsilon=1e-6, rho=.95)), ('adamax', lambda: O.Adamax(0.01)), ('decayed', lambda: O.DecayedAdagrad(0.05)), ('rms', lambda: O.RMSProp(0.01, centered=True)), ('rms2', lambda: O.RMSProp(0.01, momentum=.9))]:
    run(nm, lambda l, c: mk().minimize(l) and None)
for nm, clip in [('gnorm', fluid.clip.GradientClipByGlobalNorm(0.3)), ('norm', fluid.clip.GradientClipByNorm(0.1)), ('value', fluid.clip.GradientClipByValue(0.01)), ('need', fluid.clip.GradientClipByNorm(0.1, need_clip=lambda p: p.name.startswith('fc_0')))]:
    run('clip ' + nm, lambda l, c: O.SGD(0.5, grad_clip=clip, regularization=fluid.regularizer.L1Decay(0.001)).minimize(l) and None)
def amp(l, c):
    o = contrib.mixed_precision.decorate(O.SGD(0.1), init_loss_scaling=8.0, use_dynamic_loss_scaling=False)
    return None
def split(l, c):
    o = O.Adam(0.01)
    pg = o.backward(l)
    pg = sorted(pg, key=lambda t: t[0].name)
    pg = fluid.clip.append_gradient_clip_ops(pg) if hasattr(fluid.clip, 'append_gradient_clip_ops') else pg
    o.apply_optimize(l, fluid.default_startup_program(), pg)
run('split', split)
for nm, lr in [('noam', lambda: fluid.layers.noam_decay(16, 3)), ('poly', lambda: fluid.layers.polynomial_decay(0.1, 6, 0.001, 2.0, cycle=True)), ('nat', lambda: fluid.layers.natural_exp_decay(0.1, 2, 0.5, True)), ('inv', lambda: fluid.layers.inverse_time_decay(0.1, 2, 0.5)),
               ('cos', lambda: fluid.layers.cosine_decay(0.1, 2, 5)), ('piece', lambda: fluid.layers.piecewise_decay([2, 5], [0.1, 0.01, 0.001])), ('warm', lambda: fluid.layers.linear_lr_warmup(0.1, 4, 0.0, 0.1)), ('warm2', lambda: fluid.layers.linear_lr_warmup(fluid.layers.exponential_decay(0.1, 3, .5), 4, 0.0, 0.1))]:
    run('lr ' + nm, lambda l, c: O.SGD(lr()).minimize(l) and None, compiled=nm in ('cos', 'poly'))
dw = contrib.extend_with_decoupled_weight_decay(O.Adam)
run('adamw', lambda l, c: dw(weight_decay=0.05, learning_rate=0.01, apply_decay_param_fun=lambda n: n.endswith('w_0')).minimize(l) and None)
def multi(l, c):
    a = O.SGD(0.1); a.minimize(l, parameter_list=['fc_0.w_0', 'fc_0.b_0'])
    b = O.Adam(0.01); b.minimize(l, no_grad_set=set(['fc_0.w_0', 'fc_0.b_0']))
run('two', multi)

"""Checkpoints of all kinds, resumed in the middle of an epoch; loads that fail and say so."""
import os, shutil, pickle, sys
import numpy as np
import paddle.fluid as fluid
from paddle.fluid import layers, io

r = np.random.RandomState(3)
DATA = [(r.rand(5, 6).astype('f'), r.randint(0, 4, (5, 1))) for _ in range(6)]


def build(hidden=7):
    main, start = fluid.Program(), fluid.Program()
    main.random_seed = start.random_seed = 33
    with fluid.program_guard(main, start), fluid.unique_name.guard():
        x, y = fluid.data('x', [-1, 6]), fluid.data('y', [-1, 1], 'int64')
        h = layers.fc(x, hidden, act='relu', name='hid')
        logit = layers.fc(h, 4, name='out')
        loss = layers.reduce_mean(layers.softmax_with_cross_entropy(logit, y))
        test = main.clone(for_test=True)
        lr = layers.linear_lr_warmup(layers.polynomial_decay(.05, 20, .001, 2.), 3, .0, .05)
        opt = fluid.optimizer.Adam(lr, epsilon=1e-6)
        opt.minimize(loss)
    return main, start, test, loss, logit, lr


def steps(exe, main, loss, lr, data, tag):
    for i, (a, b) in enumerate(data):
        l, rate = exe.run(main, feed={'x': a, 'y': b}, fetch_list=[loss, lr])
        print('%s step %d loss %.6f lr %.6f' % (tag, i, l[0], rate[0]))


place = fluid.CPUPlace()
exe = fluid.Executor(place)
main, start, test, loss, logit, lr = build()
exe.run(start)
steps(exe, main, loss, lr, DATA[:3], 'first')
io.save_persistables(exe, 'ckpt/sep', main)
io.save_persistables(exe, 'ckpt/one', main, filename='all')
io.save_params(exe, 'ckpt/params', main, filename='params')
io.save_vars(exe, 'ckpt/some', main, predicate=lambda v: v.persistable and 'hid' in v.name)
fluid.save(main, 'ckpt/new/model')
print(sorted(os.listdir('ckpt/sep')), sorted(os.listdir('ckpt/some')), sorted(os.listdir('ckpt/new')))
steps(exe, main, loss, lr, DATA[3:], 'go on')
want = [np.array(fluid.global_scope().find_var(p.name).get_tensor()) for p in main.all_parameters()]
for kind in ('sep', 'one', 'new', 'state'):
    with fluid.scope_guard(fluid.core.Scope()):
        exe = fluid.Executor(place)
        exe.run(start)
        if kind == 'sep':
            io.load_persistables(exe, 'ckpt/sep', main)
        elif kind == 'one':
            io.load_persistables(exe, 'ckpt/one', main, filename='all')
        elif kind == 'new':
            fluid.load(main, 'ckpt/new/model', exe)
        else:
            state = fluid.load_program_state('ckpt/new/model')
            print(sorted((k, v.shape, str(v.dtype)) for k, v in state.items())[:4], len(state))
            fluid.set_program_state(main, state)
        steps(exe, main, loss, lr, DATA[3:], kind)
        got = [np.array(fluid.global_scope().find_var(p.name).get_tensor()) for p in main.all_parameters()]
        print(kind, all(np.allclose(a, b) for a, b in zip(want, got)), '%.6f' % sum(np.abs(g).sum() for g in got))
with fluid.scope_guard(fluid.core.Scope()):
    exe.run(start)
    io.load_params(exe, 'ckpt/params', main, filename='params')
    steps(exe, main, loss, lr, DATA[3:4], 'params only')
    def exists(v):
        return os.path.exists(os.path.join('ckpt/some', v.name))
    exe.run(start)
    io.load_vars(exe, 'ckpt/some', main, predicate=exists)
    print('some %.6f' % exe.run(test, feed={'x': DATA[0][0], 'y': DATA[0][1]}, fetch_list=[loss])[0][0])
for name, f in [('missing folder', lambda: io.load_persistables(exe, 'nowhere', main)), ('missing prefix', lambda: fluid.load(main, 'nowhere/x')),
                ('wrong shape', lambda: io.load_persistables(exe, 'ckpt/sep', build(9)[0])), ('wrong shape new', lambda: fluid.load(build(9)[0], 'ckpt/new/model', exe)),
                ('bad vars', lambda: io.load_vars(exe, 'ckpt/sep', main, vars=[main.global_block().var('x')]))]:
    try:
        f()
        print(name, 'loaded 0.0')
    except Exception as e:
        print(name, isinstance(e, fluid.core.EnforceNotMet) or type(e).__name__, '0.0')
with open('ckpt/new/model.pdparams', 'rb') as f:
    d = pickle.load(f) if sys.version_info[0] < 3 else pickle.load(f, encoding='latin1')
print(sorted(d)[:3], '%.5f' % np.abs(d['hid.w_0']).sum())
io.save_inference_model('infer', ['x'], [logit], exe, main, 'model', 'weights')
prog, feeds, fetches = io.load_inference_model('infer', exe, 'model', 'weights')
print(feeds, [v.name for v in fetches], '%.6f' % exe.run(prog, feed={feeds[0]: DATA[0][0]}, fetch_list=fetches)[0].sum())
print([p.name for p in io.get_program_parameter(main)], len(io.get_program_persistable_vars(main)))

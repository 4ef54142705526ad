from __future__ import print_function
import numpy as np, os, sys, pickle, six
import paddle.fluid as fluid
from paddle.fluid.io import is_persistable, is_parameter, get_parameter_value, get_parameter_value_by_name

def net(cls=3, name='m'):
    x = fluid.layers.data('x', shape=[1, 8, 8], dtype='float32')
    y = fluid.layers.data('y', shape=[1], dtype='int64')
    c = fluid.layers.conv2d(x, 4, 3, param_attr=fluid.ParamAttr(name='conv_w'), bias_attr=fluid.ParamAttr(name='conv_b'))
    c = fluid.layers.batch_norm(c, act='relu', param_attr='bn_s', bias_attr='bn_b', moving_mean_name='bn_m', moving_variance_name='bn_v')
    feat = fluid.layers.pool2d(c, global_pooling=True, pool_type='avg')
    p = fluid.layers.fc(feat, cls, act='softmax', param_attr=fluid.ParamAttr(name='fc_w_%d' % cls), bias_attr=fluid.ParamAttr(name='fc_b_%d' % cls))
    loss = fluid.layers.mean(fluid.layers.cross_entropy(p, y))
    return x, y, p, loss, feat

def feed(i, cls=3):
    rng = np.random.RandomState(i)
    return {'x': rng.rand(5, 1, 8, 8).astype('float32'), 'y': rng.randint(0, cls, (5, 1)).astype('int64')}

place = fluid.CPUPlace()
exe = fluid.Executor(place)
main, st = fluid.Program(), fluid.Program()
main.random_seed = st.random_seed = 3
with fluid.program_guard(main, st), fluid.unique_name.guard():
    x, y, p, loss, feat = net()
    test = main.clone(for_test=True)
    opt = fluid.optimizer.Momentum(0.1, 0.9)
    opt.minimize(loss)
exe.run(st)
for i in range(5):
    print('a %.6f' % exe.run(main, feed=feed(i), fetch_list=[loss])[0])
fluid.io.save_params(exe, 'params', main)
fluid.io.save_persistables(exe, 'pers', main, filename='all')
fluid.io.save_vars(exe, 'vars', main, predicate=lambda v: v.name.startswith('bn') and is_persistable(v))
fluid.io.save_inference_model('model1', ['x'], [p, feat], exe, main, model_filename='__model__', params_filename='__params__')
fluid.io.save_inference_model('model2', [x.name], [test.global_block().var(p.name)], exe, test)
fluid.save(main, 'ck/full')
for d in ('params', 'pers', 'vars', 'model1', 'model2', 'ck'):
    print(d, sorted(os.listdir(d)), '%.1f' % 0)
print('w %.6f %.6f' % (np.abs(get_parameter_value_by_name('conv_w', exe, main)).sum(), np.abs(get_parameter_value(main.global_block().var('conv_b'), exe)).sum()))
state = fluid.io.load_program_state('ck/full')
print(sorted(state), '%.6f' % sum(np.abs(v).sum() for v in state.values()))
s2 = fluid.io.load_program_state('params')
print(sorted(s2), '%.6f' % sum(np.abs(v).sum() for v in s2.values()))
# transfer to another head
m2, st2 = fluid.Program(), fluid.Program()
m2.random_seed = st2.random_seed = 4
with fluid.program_guard(m2, st2), fluid.unique_name.guard():
    x, y, p2, loss2, feat2 = net(5)
    for prm in m2.all_parameters():
        if prm.name.startswith('conv'):
            prm.trainable = False
            prm.stop_gradient = True
    fluid.optimizer.Adam(0.01).minimize(loss2)
scope = fluid.Scope()
with fluid.scope_guard(scope):
    exe.run(st2)
    state.pop('fc_w_3'); state.pop('fc_b_3')
    fluid.io.set_program_state(m2, {k: v for k, v in state.items() if k in ('conv_w', 'conv_b', 'bn_s', 'bn_b', 'bn_m', 'bn_v')})
    for i in range(5):
        print('b %.6f' % exe.run(m2, feed=feed(i, 5), fetch_list=[loss2])[0])
    def exist(var):
        return isinstance(var, fluid.framework.Parameter) and os.path.exists(os.path.join('params', var.name))
    fluid.io.load_vars(exe, 'params', m2, predicate=exist)
    fluid.io.load_vars(exe, 'vars', vars=[m2.global_block().var(n) for n in ('bn_m', 'bn_v')])
    print('c %.6f' % exe.run(m2, feed=feed(9, 5), fetch_list=[loss2])[0])
    t = scope.find_var('conv_w').get_tensor()
    t.set(np.zeros(t.shape(), 'float32'), place)
    print(t.shape(), t._dtype() if hasattr(t, '_dtype') else '', '%.6f' % np.array(t).sum(), scope.find_var('nothing'))
with fluid.scope_guard(fluid.Scope()):
    prog, feeds, fetches = fluid.io.load_inference_model('model1', exe, '__model__', '__params__')
    r = exe.run(prog, feed={feeds[0]: feed(1)['x']}, fetch_list=fetches)
    print(feeds, [f.name for f in fetches], [v.shape for v in r], '%.6f %.6f' % (r[0].sum(), r[1].sum()))
    prog, feeds, fetches = fluid.io.load_inference_model(dirname='model2', executor=exe)
    r2 = exe.run(prog, feed={feeds[0]: feed(1)['x']}, fetch_list=fetches)
    print('same %.6f' % np.abs(r2[0] - r[0]).max())
    print([op.type for op in prog.global_block().ops], '%.1f' % 1)
# resume
fluid.load(main, 'ck/full', exe)
for i in range(3):
    print('d %.6f' % exe.run(main, feed=feed(20 + i), fetch_list=[loss])[0])
with fluid.scope_guard(fluid.Scope()):
    exe.run(st)
    fluid.io.load_persistables(exe, 'pers', main, 'all')
    for i in range(3):
        print('e %.6f' % exe.run(main, feed=feed(20 + i), fetch_list=[loss])[0])
print([v.name for v in main.list_vars() if is_persistable(v)], '%.1f' % 0)
print(main.num_blocks, main.current_block().idx, len(main.to_string(True)) > 100, main.global_block().has_var('conv_w'), '%.1f' % 0)
with open('prog.bin', 'wb') as f:
    f.write(test.desc.serialize_to_string())
back = fluid.Program.parse_from_string(open('prog.bin', 'rb').read())
r = exe.run(back, feed=feed(2), fetch_list=[loss.name])
print('parsed %.6f' % r[0])

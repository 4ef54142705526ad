# coding:utf-8
"""Fine-tune a module as a hub does: prefixed names, a head for the task, a teacher, checkpoints."""
from __future__ import absolute_import, division, print_function
import os
import numpy as np
import paddle
import paddle.fluid as fluid
from module import Module, add_vars_prefix, connect_program, merge


def reader(n, seed):
    def _r():
        rng = np.random.RandomState(seed)
        for i in range(n):
            x = rng.randn(3, 16, 16).astype('float32') * .5
            x[i % 3] += .6
            yield x, i % 3
    return _r


def main():
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    module = Module(directory=None, width=6)
    print(module.name, module.full_name(), isinstance(module, fluid.dygraph.Layer), len(module.parameters()))
    names, program = module.context(exe, pretrained=False)
    fluid.io.save_vars(exe, 'pretrained', program, predicate=lambda v: v.persistable and 'fc_' not in v.name)
    print(len(os.listdir('pretrained')), sorted(os.listdir('pretrained'))[0])
    names, program = Module(directory='pretrained', width=6).context(exe)
    feature, image = names['feature_map'], names['image']
    head, head_start = fluid.Program(), fluid.Program()
    head_start.random_seed = 5
    with fluid.program_guard(head, head_start):
        with fluid.unique_name.guard('task_'):
            inp = fluid.layers.data('cls_in', [12, 1, 1])
            fluid.layers.fc(fluid.layers.fc(inp, 8, act='relu'), 3, act='softmax')
    prob_name = head.global_block().ops[-1].output('Out')[0]
    base = connect_program(program._prune([feature]), head, {'cls_in': feature.name})
    start = head_start.clone()
    with fluid.program_guard(base, start):
        label = fluid.layers.data('label', [1], dtype='int64')
        prob = base.global_block().var(prob_name)
        loss = fluid.layers.mean(fluid.layers.cross_entropy(prob, label))
        acc = fluid.layers.accuracy(prob, label)
    test = base.clone(for_test=True)
    teacher_net = Module(directory=None, width=4)
    teacher_net.__class__._name = 'big_net'
    t_names, teacher = teacher_net.context(exe, pretrained=False)
    merge(teacher, base, {t_names['image'].name: image.name}, place)
    with fluid.program_guard(base, start):
        t = base.global_block().var('teacher_' + t_names['feature_map'].name)
        t.stop_gradient = True
        s = fluid.layers.fc(base.global_block().var(feature.name), 8, bias_attr=False, param_attr=fluid.ParamAttr(name='adapt'))
        hint = fluid.layers.reduce_mean(fluid.layers.square(s - fluid.layers.reshape(t, [-1, 8])))
        total = loss + 0.1 * hint
        l2sp = [fluid.layers.reduce_sum(fluid.layers.square(p)) for p in list(base.global_block().iter_parameters()) if p.name.endswith('_weights') and p.name.startswith('@HUB_tiny')]
        total = total + 1e-3 * fluid.layers.sum(l2sp)
        for p in base.global_block().iter_parameters():
            if p.name.startswith('@HUB_'):
                p.optimize_attr['learning_rate'] = 0.5
        fluid.optimizer.Adam(fluid.layers.polynomial_decay(0.01, 12, 0.0005)).minimize(total)
    exe.run(start)
    print(len(base.all_parameters()), sorted(p.name for p in base.all_parameters() if not p.name.startswith(('@HUB_', 'teacher_'))))
    feeder = fluid.DataFeeder([image.name, 'label'], place, program=base)
    step = 0
    for epoch in range(2):
        for batch in paddle.batch(paddle.reader.shuffle(reader(24, 1), 1), 4)():
            step += 1
            v = exe.run(base, feed=feeder.feed(batch), fetch_list=[total, loss, hint, acc])
            print('step %d / 12: loss=%.5f ce=%.5f hint=%.5f acc=%.3f' % ((step,) + tuple(float(x) for x in v)))
        out = [exe.run(test, feed=feeder.feed(b), fetch_list=[loss.name, acc.name]) for b in paddle.batch(reader(8, 2), 4)()]
        print('[dev] loss=%.5f acc=%.3f' % tuple(np.mean([np.ravel(o) for o in out], axis=0)))
        fluid.io.save_persistables(exe, 'ckpt/step_%d' % step, base)
    fluid.io.save_inference_model('deploy', [image.name], [test.global_block().var(prob_name)], exe, main_program=test)
    with fluid.scope_guard(fluid.Scope()):
        prog, feeds, targets = fluid.io.load_inference_model('deploy', exe)
        add_vars_prefix(prog, '@HUB_x@', exclude=('feed', 'fetch'))
        x = np.stack([a for a, _ in reader(3, 4)()])
        print(feeds, sorted(v.name for v in prog.list_vars() if v.persistable)[:3])
    p, f, t = fluid.io.load_inference_model('deploy', exe)
    print('predict', ' '.join('%.5f' % v for v in exe.run(p, feed={f[0]: x}, fetch_list=t)[0].ravel()))


if __name__ == '__main__':
    main()

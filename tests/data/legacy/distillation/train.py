"""A small net learns from a larger one whose saved program is merged into its own; averages of weights on both sides."""
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.framework import Program, program_guard

layers = fluid.layers
PLACE = fluid.CPUPlace()


def examples(count, seed):
    rng = np.random.RandomState(seed)
    for _ in range(count):
        x = rng.randn(16, 6).astype('float32')
        yield {'x': x, 'y': np.abs(x[:, :4]).argmax(1).astype('int64')[:, None]}


def inputs():
    return fluid.data('x', [None, 6]), fluid.data('y', [None, 1], dtype='int64')


def train_teacher(exe):
    main, startup = Program(), Program()
    main.random_seed = startup.random_seed = 1
    with program_guard(main, startup), fluid.unique_name.guard():
        x, y = inputs()
        hidden = layers.layer_norm(layers.fc(x, 32, act='relu', param_attr='in_w', bias_attr='in_b'))
        logits = layers.fc(hidden, 4, param_attr='out_w', bias_attr=False)
        cost = layers.mean(layers.softmax_with_cross_entropy(logits, y))
        test = main.clone(for_test=True)
        fluid.optimizer.Momentum(0.05, 0.9, use_nesterov=True, regularization=fluid.regularizer.L2Decay(1e-4)).minimize(cost)
        average = fluid.optimizer.ExponentialMovingAverage(0.9)
        average.update()
    exe.run(startup)
    for feed in examples(25, 1):
        print('teacher %.5f' % exe.run(main, feed=feed, fetch_list=[cost])[0])
    feed = next(examples(1, 5))
    with average.apply(exe):
        print('averaged %.5f' % exe.run(test, feed=feed, fetch_list=[cost.name])[0])
    print('as it is %.5f' % exe.run(test, feed=feed, fetch_list=[cost.name])[0])
    fluid.io.save_inference_model('teacher', ['x'], [test.global_block().var(logits.name)], exe, test)


def merged(source, target, shared, prefix='teacher_'):
    """Copy the ops of a program into another one; its variables get a prefix, but for those that both share."""
    source = source.clone(for_test=True)
    for var in source.list_vars():
        if var.name in shared or var.name in ('feed', 'fetch'):
            continue
        if var.persistable:
            value = np.array(fluid.global_scope().var(var.name).get_tensor())
            fluid.global_scope().var(prefix + var.name).get_tensor().set(value, PLACE)
        source.global_block()._rename_var(var.name, prefix + var.name)
    for var in source.list_vars():
        if var.name not in ('feed', 'fetch'):
            target.global_block()._clone_variable(var, force_persistable=False).stop_gradient = True
    block = source.global_block()
    for op in block.ops:
        if op.type in ('feed', 'fetch'):
            continue
        target.global_block().append_op(
            type=op.type, inputs=dict((n, [block.var(v) for v in op.input(n)]) for n in op.input_names),
            outputs=dict((n, [block.var(v) for v in op.output(n)]) for n in op.output_names),
            attrs=dict((n, op.attr(n)) for n in op.attr_names))


def train_student(exe, heat=2.0):
    main, startup = Program(), Program()
    main.random_seed = startup.random_seed = 2
    with program_guard(main, startup), fluid.unique_name.guard('student_'):
        x, y = inputs()
        logits = layers.fc(layers.fc(x, 8, act='leaky_relu'), 4)
    exe.run(startup)
    teacher, _, targets = fluid.io.load_inference_model('teacher', exe)
    merged(teacher, main, ['x'])
    with program_guard(main, startup), fluid.unique_name.guard('loss_'):
        theirs = main.global_block().var('teacher_' + targets[0].name)
        soft = layers.softmax(theirs / heat)
        soft.stop_gradient = True
        taught = layers.reduce_mean(layers.cross_entropy(layers.softmax(logits / heat), soft, soft_label=True))
        own = layers.reduce_mean(layers.softmax_with_cross_entropy(logits, y))
        sizes = [layers.reduce_sum(layers.square(p)) for p in main.all_parameters() if p.name.endswith('w_0')]
        total = 0.7 * taught * (heat * heat) + 0.3 * own + 1e-4 * layers.sums(sizes)
        total += 0.01 * layers.reduce_mean(layers.square_error_cost(logits, theirs))
        test = main.clone(for_test=True)
        optimizer = fluid.optimizer.AdamaxOptimizer(0.02)
        pairs = optimizer.backward(total)
        print(sorted(p.name for p, _ in pairs))
        optimizer.apply_gradients([(p, g * 0.5 if p.name.endswith('b_0') else g) for p, g in pairs])
        average = fluid.optimizer.ModelAverage(0.5, min_average_window=3, max_average_window=8)
    exe.run(startup)
    for feed in examples(30, 3):
        found = exe.run(main, feed=feed, fetch_list=[taught, own, total])
        print('student ' + ' '.join('%.5f' % float(v) for v in found))
    with average.apply(exe, need_restore=False):
        print('averaged %.5f' % exe.run(test, feed=feed, fetch_list=[own.name])[0])
    average.restore(exe)
    print('as it is %.5f' % exe.run(test, feed=feed, fetch_list=[own.name])[0])


if __name__ == '__main__':
    executor = fluid.Executor(PLACE)
    train_teacher(executor)
    train_student(executor)

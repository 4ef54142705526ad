from __future__ import print_function
import argparse
import os
import random
import numpy as np
import paddle
import paddle.fluid as fluid
import tagger


def parse():
    parser = argparse.ArgumentParser(__doc__)
    for name, default in (('word_dim', 16), ('hidden', 12), ('stacked', 2), ('epochs', 3)):
        parser.add_argument('--' + name, type=int, default=default)
    parser.add_argument('--base_lr', type=float, default=1e-2)
    parser.add_argument('--emb_lr', type=float, default=1.5)
    parser.add_argument('--crf_lr', type=float, default=0.2)
    return parser.parse_args()


def sentences(seed, count):
    rng = np.random.RandomState(seed)
    rows = []
    for _ in range(count):
        words = [int(w) for w in rng.randint(0, 32, rng.randint(2, 9))]
        rows.append((words, np.array([w % 7 for w in words]).reshape(-1, 1)))
    return lambda: iter(rows)


def loader(feeds, rows, shuffled):
    reader = fluid.io.PyReader(feed_list=feeds, capacity=20, use_double_buffer=True, iterable=True)
    if shuffled:
        rows = paddle.reader.shuffle(rows, buf_size=100)
    reader.decorate_sample_list_generator(paddle.batch(rows, 8), places=fluid.cpu_places(1))
    return reader


def evaluate(exe, program, reader, counts):
    evaluator = fluid.metrics.ChunkEvaluator()
    evaluator.reset()
    for data in reader():
        evaluator.update(*exe.run(program, feed=data[0], fetch_list=list(counts[3:])))
    print('[test] P: %.5f, R: %.5f, F1: %.5f' % evaluator.eval())


def main(args):
    random.seed(11)
    train_program, startup = fluid.Program(), fluid.Program()
    startup.random_seed = 110
    with fluid.program_guard(train_program, startup), fluid.unique_name.guard():
        feeds, cost, best, counts = tagger.build(args, 32, 7)
        test_program = train_program.clone(for_test=True)
        fluid.optimizer.Adam(learning_rate=args.base_lr).minimize(cost)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    train_reader, test_reader = loader(feeds, sentences(1, 90), True), loader(feeds, sentences(2, 30), False)
    compiled = fluid.compiler.CompiledProgram(train_program)
    step = 0
    for epoch in range(args.epochs):
        for data in train_reader():
            loss, precision, recall = [np.mean(x) for x in exe.run(compiled, feed=data[0],
                                                                   fetch_list=[cost, counts[0], counts[1]])]
            print('[train] step = %d, loss: %.5f, P: %.5f, R: %.5f' % (step, loss, precision, recall))
            step += 1
        evaluate(exe, test_program, test_reader, counts)
        fluid.io.save_persistables(exe, os.path.join('ckpt', 'step_%d' % step), train_program)
    infer_program = fluid.Program()
    with fluid.program_guard(infer_program, fluid.Program()), fluid.unique_name.guard():
        words, best = tagger.build(args, 32, 7, training=False)

    def saved(var):
        return isinstance(var, fluid.framework.Parameter) and os.path.exists('ckpt/step_%d/%s' % (step, var.name))
    fluid.io.load_vars(exe, 'ckpt/step_%d' % step, infer_program, predicate=saved)
    text = fluid.create_lod_tensor(np.array([3, 4, 5, 9, 11], 'int64'), [[2, 3]], fluid.CPUPlace())
    tags, = exe.run(infer_program, feed={'words': text}, fetch_list=[best], return_numpy=False)
    print('tags', np.array(tags).ravel().tolist(), tags.lod(), '%.1f' % 1)


if __name__ == '__main__':
    main(parse())

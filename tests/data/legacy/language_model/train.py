from __future__ import absolute_import
from __future__ import division
from __future__ import print_function
import argparse
import contextlib
import math
import os
import sys
import time
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.framework as framework
from paddle.fluid.executor import Executor
from paddle.fluid import profiler
from lm_model import lm_model


@contextlib.contextmanager
def profile_context(profile=True):
    if profile:
        with profiler.profiler('CPU', 'total', '/tmp/paddingrnn.profile'):
            yield
    else:
        yield


def parse_args():
    parser = argparse.ArgumentParser("Language model")
    parser.add_argument('--model_type', default='small')
    parser.add_argument('--rnn_model', default='static')
    parser.add_argument('--max_epoch', type=int, default=5)
    parser.add_argument('--profile', action='store_true')
    parser.add_argument('--init_from_pretrain_model', default=None)
    return parser.parse_args()


def get_data_iter(raw_data, batch_size, num_steps):
    data_len = len(raw_data)
    raw_data = np.asarray(raw_data, dtype="int64")
    batch_len = data_len // batch_size
    data = raw_data[0:batch_size * batch_len].reshape((batch_size, batch_len))
    epoch_size = (batch_len - 1) // num_steps
    for i in range(epoch_size):
        x = np.copy(data[:, i * num_steps:(i + 1) * num_steps])
        y = np.copy(data[:, i * num_steps + 1:(i + 1) * num_steps + 1])
        yield (x.reshape((-1, num_steps, 1)), y.reshape((-1, 1)))


def main():
    args = parse_args()
    vocab_size, hidden_size, batch_size, num_steps, num_layers = 30, 16, 4, 6, 2
    base_learning_rate, lr_decay, epoch_start_decay = 1.0, 0.5, 3
    rng = np.random.RandomState(4)
    raw = [0]
    for _ in range(4 * 63):
        raw.append((raw[-1] * 7 + rng.randint(3)) % vocab_size)
    main_program = fluid.default_main_program()
    startup_program = fluid.default_startup_program()
    main_program.random_seed = startup_program.random_seed = 33
    with fluid.unique_name.guard():
        loss, last_hidden, last_cell, feed_order = lm_model(
            hidden_size, vocab_size, batch_size, num_layers=num_layers, num_steps=num_steps, dropout=0.2,
            rnn_model=args.rnn_model)
        inference_program = main_program.clone(for_test=True)
        fluid.clip.set_gradient_clip(clip=fluid.clip.GradientClipByGlobalNorm(clip_norm=5.0))
        learning_rate = fluid.layers.create_global_var(name="learning_rate", shape=[1], value=base_learning_rate,
                                                       dtype='float32', persistable=True)
        optimizer = fluid.optimizer.SGD(learning_rate=learning_rate)
        optimizer.minimize(loss)
    place = fluid.CPUPlace()
    exe = Executor(place)
    exe.run(startup_program)
    if args.init_from_pretrain_model:
        fluid.load(main_program, args.init_from_pretrain_model, exe)
    steps = 0

    def eval(data):
        init_h = np.zeros((num_layers, batch_size, hidden_size), dtype='float32')
        init_c = np.zeros((num_layers, batch_size, hidden_size), dtype='float32')
        total_loss, iters = 0.0, 0
        for x, y in get_data_iter(data, batch_size, num_steps):
            cost, init_h, init_c = exe.run(
                program=inference_program, feed={'x': x, 'y': y, 'init_hidden': init_h, 'init_cell': init_c},
                fetch_list=[loss.name, last_hidden.name, last_cell.name], use_program_cache=False)
            total_loss += cost
            iters += num_steps
        return np.exp(total_loss / iters)

    with profile_context(args.profile):
        for epoch_id in range(args.max_epoch):
            start_time = time.time()
            new_lr = base_learning_rate * (lr_decay ** max(epoch_id + 1 - epoch_start_decay, 0.0))
            lr = np.ones(1, dtype='float32') * new_lr
            init_hidden = np.zeros((num_layers, batch_size, hidden_size), dtype='float32')
            init_cell = np.zeros((num_layers, batch_size, hidden_size), dtype='float32')
            total_loss, iters = 0, 0
            for batch_id, (x, y) in enumerate(get_data_iter(raw, batch_size, num_steps)):
                fluid.global_scope().find_var('learning_rate').get_tensor().set(np.array([new_lr], 'float32'), place)
                fetch_outs = exe.run(
                    feed={'x': x, 'y': y, 'init_hidden': init_hidden, 'init_cell': init_cell},
                    fetch_list=[loss.name, last_hidden.name, last_cell.name, 'learning_rate'],
                    use_program_cache=True)
                cost_train = np.array(fetch_outs[0])
                init_hidden, init_cell = np.array(fetch_outs[1]), np.array(fetch_outs[2])
                lr = np.array(fetch_outs[3])
                total_loss += cost_train
                iters += num_steps
                steps += 1
                ppl = np.exp(total_loss / iters)
                print("-- Epoch:[%d]; Batch:[%d]; ppl: %.5f, math: %.5f, lr: %.5f, loss: %.5f" % (
                    epoch_id, batch_id, ppl, math.exp(total_loss / iters), lr, cost_train))
            print("Valid ppl: %.5f" % eval(raw[:100])[0])
            fluid.save(main_program, os.path.join('models', 'epoch_%d' % epoch_id, 'lm'))


if __name__ == '__main__':
    main()

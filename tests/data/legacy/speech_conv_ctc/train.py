"""Speech to characters: masked convolutions, recurrent layers in both directions, CTC, edit distances."""
from __future__ import absolute_import, division, print_function
import argparse
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.compiler as compiler
from paddle.fluid import layers

LETTERS = 6


class SimpleCell(layers.RNNCell):
    """A plain recurrent cell whose states end at 0 and 24."""

    def __init__(self, size, name):
        self.size, self.name = size, name

    def call(self, inputs, states):
        moved = layers.fc(input=states, size=self.size, param_attr=fluid.ParamAttr(name=self.name + '_w'),
                          bias_attr=fluid.ParamAttr(name=self.name + '_b'))
        state = layers.brelu(layers.elementwise_add(moved, inputs))
        return state, state

    @property
    def state_shape(self):
        return [self.size]


def normalised(x, name, act=None):
    return layers.batch_norm(input=x, act=act, param_attr=fluid.ParamAttr(name=name + '_scale'),
                             bias_attr=fluid.ParamAttr(name=name + '_shift'), moving_mean_name=name + '_mean',
                             moving_variance_name=name + '_variance')


def masked_conv(x, window, stride, padding, mask, name):
    out = layers.conv2d(input=x, num_filters=4, filter_size=window, stride=stride, padding=padding, bias_attr=False,
                        param_attr=fluid.ParamAttr(name=name + '_filter'))
    return layers.elementwise_mul(normalised(out, name, 'brelu'), mask)


def simple_layer(sequence, size, name):
    x = layers.fc(input=sequence, size=size, param_attr=fluid.ParamAttr(name=name + '_fc'), bias_attr=False)
    padded, length = layers.sequence_pad(normalised(x, name), layers.assign(np.array([0.0], dtype=np.float32)))
    forwards, _ = layers.rnn(SimpleCell(size, name + '_fw'), padded)
    backwards, _ = layers.rnn(SimpleCell(size, name + '_bw'), padded, sequence_length=length, is_reverse=True)
    return layers.concat(input=[layers.sequence_unpad(y, length) for y in (forwards, backwards)], axis=1)


def gru_layer(sequence, size, name):
    halves = []
    for backwards in (False, True):
        part = '%s_%d' % (name, backwards)
        x = layers.fc(input=sequence, size=size * 3, param_attr=fluid.ParamAttr(name=part + '_fc'), bias_attr=False)
        halves.append(layers.dynamic_gru(input=normalised(x, part), size=size, candidate_activation='relu',
                                         is_reverse=backwards, param_attr=fluid.ParamAttr(name=part + '_w')))
    return layers.concat(input=halves, axis=1)


def model(recurrent):
    audio = fluid.data(name='audio', shape=[None, 9, None], dtype='float32')
    text = fluid.data(name='text', shape=[None, 1], dtype='int32', lod_level=1)
    length = fluid.data(name='length', shape=[None, 1], dtype='int64')
    mask = fluid.data(name='mask', shape=[None, 4, 3, None], dtype='float32')
    x = masked_conv(layers.unsqueeze(audio, axes=[1]), (5, 5), (3, 2), (2, 2), mask, 'conv0')
    half = layers.pool2d(mask, pool_size=1, pool_stride=[1, 2], pool_type='max')
    x = masked_conv(x, (3, 5), (1, 2), (1, 2), half, 'conv1')
    frames = layers.reshape(layers.transpose(x, perm=[0, 3, 1, 2]), [0, -1, 12])
    sequence = layers.sequence_unpad(frames, layers.reshape(length, [-1]))
    for i in range(2):
        sequence = recurrent(sequence, 8, 'rnn%d' % i)
    scores = layers.fc(input=sequence, size=LETTERS + 1, param_attr=fluid.ParamAttr(name='out_w'))
    loss = layers.reduce_sum(layers.warpctc(input=scores, label=text, blank=LETTERS, norm_by_times=True))
    return scores, loss


def utterances(seed, count):
    rng = np.random.RandomState(seed)
    for _ in range(count):
        lengths = rng.randint(18, 33, 3)
        after = lambda n: (n - 1) // 2 + 1
        audio = np.zeros((3, 9, lengths.max()), 'float32')
        mask = np.zeros((3, 4, 3, after(lengths.max())), 'float32')
        texts = [rng.randint(0, LETTERS, rng.randint(1, 3)).tolist() for _ in lengths]
        for i, n in enumerate(lengths):
            audio[i, :, :n] = rng.rand(9, n) * .3 + np.mean(texts[i]) * .1
            mask[i, :, :, :after(n)] = 1
        letters = np.array(sum(texts, []), 'int32').reshape(-1, 1)
        yield {'audio': audio, 'mask': mask, 'length': np.array([[after(after(n))] for n in lengths], 'int64'),
               'text': fluid.create_lod_tensor(letters, [[len(t) for t in texts]], fluid.CPUPlace())}


def train(name, recurrent, args):
    program, startup = fluid.Program(), fluid.Program()
    program.random_seed = startup.random_seed = 90
    with fluid.program_guard(program, startup), fluid.unique_name.guard():
        scores, loss = model(recurrent)
        test = program.clone(for_test=True)
        rate = layers.exponential_decay(learning_rate=args.rate, decay_steps=10, decay_rate=0.83, staircase=True)
        fluid.clip.set_gradient_clip(clip=fluid.clip.GradientClipByGlobalNorm(clip_norm=400))
        fluid.optimizer.AdamOptimizer(learning_rate=rate).minimize(loss)
    with fluid.program_guard(test):
        found = layers.ctc_greedy_decoder(input=test.global_block().var(scores.name), blank=LETTERS)
        expected = layers.cast(test.global_block().var('text'), 'int64')
        distance, total = layers.edit_distance(layers.cast(found, 'int64'), expected, normalized=True)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    compiled = compiler.CompiledProgram(program).with_data_parallel(loss_name=loss.name,
                                                                    build_strategy=compiler.BuildStrategy())
    for step, feed in enumerate(utterances(1, args.steps)):
        print('%s batch %d loss %.5f' % (name, step, np.mean(exe.run(compiled, feed=feed, fetch_list=[loss.name])[0]) / 3))
    metric = fluid.metrics.EditDistance('distance')
    for feed in utterances(4, 3):
        d, n, cost = exe.run(test, feed=feed, fetch_list=[distance, total, loss.name], return_numpy=False)
        metric.update(np.array(d), np.array(n))
        print('%s test loss %.4f' % (name, np.array(cost)))
    print('%s average distance %.4f, wrong %.4f' % ((name,) + tuple(metric.eval())))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--steps', default=25, type=int)
    parser.add_argument('--rate', default=2e-3, type=float)
    options = parser.parse_args()
    train('simple', simple_layer, options)
    train('gru', gru_layer, options)

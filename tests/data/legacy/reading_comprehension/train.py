"""Find an answer's first and last word in several passages: sequences of sequences, one DynamicRNN inside another."""
from __future__ import absolute_import, division, print_function
import random
import numpy as np
import six
import paddle.fluid as fluid
import paddle.fluid.layers as layers

WORDS, EMB, SIZE = 30, 8, 6


def attr(name):
    return fluid.ParamAttr(name=name)


def encode(sequence, name):
    outs = []
    for way in ('fw', 'bw'):
        gates = layers.fc(input=sequence, size=SIZE * 4, param_attr=attr('%s_%s_fc' % (name, way)), bias_attr=False)
        hidden, _ = layers.dynamic_lstm(input=gates, size=SIZE * 4, use_peepholes=False, is_reverse=way == 'bw',
                                        param_attr=attr('%s_%s_w' % (name, way)), bias_attr=attr('%s_%s_b' % (name, way)))
        outs.append(hidden)
    return layers.concat(input=outs, axis=1)


def attend(question, passage):
    """Each word of the passage looks at all words of the question."""
    steps = layers.DynamicRNN()
    with steps.block():
        word = steps.step_input(passage)
        asked = steps.static_input(question)
        product = layers.elementwise_mul(x=asked, y=layers.sequence_expand(x=word, y=asked), axis=0)
        score = layers.reduce_sum(input=product, dim=1, keep_dim=True)
        weight = layers.sequence_softmax(input=layers.reshape(score, shape=[-1, 0]))
        seen = layers.sequence_pool(input=layers.elementwise_mul(x=asked, y=weight, axis=0), pool_type='sum')
        steps.output(seen, layers.sequence_pool(input=score, pool_type='max'))
    seen, best = steps()
    weight = layers.sequence_softmax(input=best)
    summary = layers.sequence_pool(layers.elementwise_mul(x=passage, y=weight, axis=0), pool_type='sum')
    summary = layers.lod_reset(x=layers.sequence_expand(x=summary, y=passage), y=passage)
    return layers.concat(input=[passage, seen, layers.elementwise_mul(x=passage, y=seen, axis=0),
                                layers.elementwise_mul(x=passage, y=summary, axis=0)], axis=1)


def cell(x, hidden, memory):
    both = layers.concat([hidden, x], axis=1)
    f, i, o, c = [layers.fc(input=both, size=SIZE, param_attr=attr('cell_%s_w' % g), bias_attr=attr('cell_%s_b' % g))
                  for g in 'fioc']
    memory = layers.sums(input=[layers.elementwise_mul(x=layers.sigmoid(f), y=memory),
                                layers.elementwise_mul(x=layers.sigmoid(i), y=layers.tanh(c))])
    return layers.elementwise_mul(x=layers.sigmoid(o), y=layers.tanh(memory)), memory


def point(passage, question):
    start = layers.create_parameter(shape=[1, SIZE], dtype='float32', default_initializer=fluid.initializer.Normal(0., 1.))
    mixed = layers.fc(input=question, size=SIZE, bias_attr=False) + layers.reshape(layers.fc(input=start, size=SIZE), [-1])
    weight = layers.sequence_softmax(layers.fc(input=layers.tanh(mixed), size=1))
    pooled = layers.sequence_pool(layers.elementwise_mul(x=question, y=weight, axis=0), pool_type='sum')
    hidden = memory = layers.fc(input=pooled, size=SIZE)
    context = layers.fc(input=passage, size=SIZE)
    found = []
    for _ in range(2):
        place = layers.sequence_expand(x=layers.fc(input=hidden, size=SIZE, param_attr=attr('place_w'),
                                                   bias_attr=attr('place_b')), y=context)
        score = layers.fc(input=layers.tanh(context + place), size=1, param_attr=attr('score_w'), bias_attr=False)
        found.append(layers.sequence_softmax(input=score))
        picked = layers.sequence_pool(layers.elementwise_mul(x=passage, y=found[-1], axis=0), pool_type='sum')
        hidden, memory = cell(picked, hidden, memory)
    return found


def model():
    first = layers.data(name='first', shape=[1], dtype='float32', lod_level=1)
    last = layers.data(name='last', shape=[1], dtype='float32', lod_level=1)
    asked = layers.data(name='asked', shape=[1], dtype='int64', lod_level=1)
    questions = layers.data(name='questions', shape=[1], dtype='int64', lod_level=2)
    passages = layers.data(name='passages', shape=[1], dtype='int64', lod_level=2)
    embed = lambda ids: layers.embedding(input=ids, size=[WORDS, EMB], is_sparse=True, param_attr=attr('words'))
    each = layers.DynamicRNN()
    passage_words, question_words = embed(passages), embed(questions)
    with each.block():
        p, q = each.step_input(passage_words), each.step_input(question_words)
        question = encode(q, 'q')
        each.output(encode(attend(question, encode(p, 'p')), 'm'), question)
    matched, question = each()
    starts, ends = point(layers.lod_reset(x=matched, y=first), layers.lod_reset(x=question, y=asked))
    costs = [layers.mean(layers.sequence_pool(layers.cross_entropy(input=p, label=y, soft_label=True), 'sum'))
             for p, y in ((starts, first), (ends, last))]
    return costs[0] + costs[1], starts, matched


def batches(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        rows = []
        for _ in range(3):
            q = [rng.randrange(WORDS) for _ in range(rng.randint(2, 4))]
            passages = [[rng.randrange(WORDS) for _ in range(rng.randint(2, 5))] for _ in range(rng.randint(1, 3))]
            total = sum(map(len, passages))
            place = rng.randrange(total)
            first, last = [0.0] * total, [0.0] * total
            first[place] = last[min(total - 1, place + 1)] = 1.0
            rows.append((first, last, q * len(passages), [q] * len(passages), passages))
        yield rows


def main():
    program, startup = fluid.Program(), fluid.Program()
    program.random_seed = startup.random_seed = 123
    with fluid.program_guard(program, startup), fluid.unique_name.guard():
        cost, starts, matched = model()
        test = program.clone(for_test=True)
        decay = fluid.regularizer.L2DecayRegularizer(regularization_coeff=1e-4)
        fluid.optimizer.Adam(learning_rate=0.01, regularization=decay).minimize(cost)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup)
    values = np.random.RandomState(7).rand(WORDS, EMB).astype(np.float32) - 0.5
    fluid.global_scope().find_var('words').get_tensor().set(values, place)
    feeder = fluid.DataFeeder([program.global_block().var(n) for n in ('first', 'last', 'asked', 'questions', 'passages')],
                              place)
    parallel = fluid.ParallelExecutor(main_program=program, use_cuda=False, loss_name=cost.name)
    for epoch in six.moves.range(2):
        for number, rows in enumerate(batches(epoch + 1, 25)):
            if number % 2:
                out = parallel.run(feed=[feeder.feed(rows)], fetch_list=[cost.name], return_numpy=False)
            else:
                out = exe.run(program, feed=feeder.feed(rows), fetch_list=[cost.name], return_numpy=False)
            print('epoch %d batch %d cost %.5f' % (epoch, number, np.array(out[0]).mean()))
        for rows in batches(77, 2):
            out = exe.run(test, feed=feeder.feed(rows), fetch_list=[cost.name, starts.name, matched.name],
                          return_numpy=False)
            print('dev %.5f %s %s' % (np.array(out[0]), out[2].lod(), ' '.join('%.4f' % v for v in np.array(out[1])[:, 0])))
        fluid.io.save_persistables(executor=exe, dirname='model/%d' % epoch, main_program=program)


if __name__ == '__main__':
    main()

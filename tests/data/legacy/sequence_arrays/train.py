"""An encoder written with the low-level array layers (rank tables, arrays, While), as examples of 2018 did."""

from __future__ import print_function
import argparse
import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.fluid.layers as layers

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--pass_num", type=int, default=5)
parser.add_argument("--hidden", type=int, default=12)
args = parser.parse_args()


def rank_encoder(emb):
    """Sort by length, split into steps, and put back."""
    table = fluid.layers.control_flow.lod_rank_table(emb, level=0)
    steps = fluid.layers.control_flow.lod_tensor_to_array(emb, table)
    longest = fluid.layers.control_flow.max_sequence_len(table)
    back = fluid.layers.control_flow.array_to_lod_tensor(steps, table)
    ordered = layers.reorder_lod_tensor_by_rank(x=back, rank_table=table)
    return back, ordered, longest, steps


def drnn_encoder(seq, context):
    drnn = layers.DynamicRNN()
    with drnn.block():
        w = drnn.step_input(seq)
        ctx = drnn.static_input(context)
        mem = drnn.memory(shape=[args.hidden], value=0.0)
        gate = layers.fc([w, mem, ctx], args.hidden, act="sigmoid")
        cand = layers.fc([w, layers.elementwise_mul(gate, mem)], args.hidden, act="tanh")
        new = layers.elementwise_add(
            layers.elementwise_mul(gate, mem), layers.elementwise_mul(1.0 - gate, cand)
        )
        drnn.update_memory(mem, new)
        drnn.output(new)
    return layers.sequence_last_step(drnn())


def network():
    word = layers.data("word", [1], dtype="int64", lod_level=1)
    weight = layers.data("weight", [1], dtype="float32")
    label = layers.data("label", [1], dtype="int64")
    emb = layers.embedding(word, [60, 16], param_attr="emb")
    back, ordered, longest, steps = rank_encoder(emb)
    ctx = layers.sequence_pool(back, "average")
    last = drnn_encoder(back, ctx)
    pred = layers.fc([last, ctx], 3, act="softmax")
    cost = layers.cross_entropy(pred, label)
    # rows of the rare class are weighed in a branch of their own
    zero = layers.fill_constant_batch_size_like(cost, [-1, 1], "float32", 0.5)
    cond = layers.less_than(weight, zero)
    low, high = fluid.layers.control_flow.split_lod_tensor(cost, cond)
    merged = fluid.layers.control_flow.merge_lod_tensor(low * 0.5, high * 1.5, cost, cond)
    avg = layers.mean(merged)
    acc = layers.accuracy(pred, label)
    n = layers.array_length(steps)
    return avg, acc, n, ordered, longest


def train_creator(n, seed):
    def reader():
        r = np.random.RandomState(seed)
        for _ in range(n):
            k = r.randint(1, 9)
            words = r.randint(0, 60, k)
            yield list(words), [float(r.rand())], int((words < 20).mean() * 2.99)

    return reader


def main():
    fluid.default_main_program().random_seed = 90
    fluid.default_startup_program().random_seed = 90
    avg, acc, n, ordered, longest = network()
    test_program = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Adagrad(learning_rate=0.1).minimize(avg)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder(feed_list=["word", "weight", "label"], place=place)
    train = paddle.batch(train_creator(80, 1), 8)
    for pass_id in range(args.pass_num):
        for i, data in enumerate(train()):
            o, a, k, lg, od = exe.run(
                feed=feeder.feed(data), fetch_list=[avg, acc, n, longest, ordered], return_numpy=False
            )
            print(
                "pass %d batch %d cost %.6f acc %.3f steps %d %d first %.5f"
                % (
                    pass_id,
                    i,
                    np.array(o)[0],
                    np.array(a)[0],
                    np.array(k)[0],
                    np.array(lg)[0],
                    np.array(od)[0].sum(),
                )
            )
        out = [
            exe.run(test_program, feed=feeder.feed(d), fetch_list=[avg, acc])
            for d in paddle.batch(train_creator(24, 2), 8)()
        ]
        print("pass %d test %.6f %.4f" % ((pass_id,) + tuple(np.mean(np.array(out).reshape(-1, 2), 0))))


main()

"""Understand sentiment: a convolutional network or stacked LSTMs on sentences of any length, from a RecordIO file.

Run: python examples/understand_sentiment.py --network lstm --epochs 5
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio import paddle

WORDS = 100
GOOD, BAD, NOT = range(10), range(10, 20), 20
EMBEDDING, HIDDEN = 16, 16


def reviews(count: int, seed: int) -> Any:
    """Return a reader of (word ids, 0 or 1): dull words and a few good or bad ones, which "not" turns round."""

    def read() -> Iterator[Any]:
        rng = np.random.default_rng(seed)
        for _ in range(count):
            label = int(rng.integers(2))
            words = rng.integers(21, WORDS, rng.integers(4, 15)).tolist()
            for _ in range(2):
                turned = rng.random() < 0.3
                word = int(rng.choice(GOOD if (label == 1) != turned else BAD))
                place = int(rng.integers(len(words)))
                words[place:place] = [NOT, word] if turned else [word]
            yield words, label

    return read


def convolution_net(data: Any) -> Any:
    """Two widths of convolution over the words, each pooled."""
    embedded = fluid.layers.embedding(input=data, size=[WORDS, EMBEDDING], is_sparse=True)
    pools = [
        fluid.nets.sequence_conv_pool(input=embedded, num_filters=HIDDEN, filter_size=size, act="tanh", pool_type="max")
        for size in (3, 4)
    ]
    return fluid.layers.fc(input=pools, size=2, act="softmax")


def stacked_lstm_net(data: Any) -> Any:
    """Two LSTMs in opposite directions, pooled over time."""
    embedded = fluid.layers.embedding(input=data, size=[WORDS, EMBEDDING], is_sparse=True)
    fc = fluid.layers.fc(input=embedded, size=4 * HIDDEN)
    lstm, _ = fluid.layers.dynamic_lstm(input=fc, size=4 * HIDDEN, use_peepholes=False, all_gates=True)
    fc_2 = fluid.layers.fc(input=[fc, lstm], size=4 * HIDDEN)
    lstm_2, _ = fluid.layers.dynamic_lstm(
        input=fc_2, size=4 * HIDDEN, is_reverse=True, use_peepholes=False, all_gates=True
    )
    pools = [fluid.layers.sequence_pool(input=x, pool_type="max") for x in (fc_2, lstm_2)]
    return fluid.layers.fc(input=pools, size=2, act="softmax")


def write_file(path: str, reader: Any) -> int:
    """Write one review per record; return their number."""
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        words = fluid.layers.data(name="words", shape=[1], dtype="int64", lod_level=1)
        label = fluid.layers.data(name="label", shape=[1], dtype="int64")
        feeder = fluid.DataFeeder(feed_list=[words, label], place=fluid.CPUPlace())
    return fluid.recordio_writer.convert_reader_to_recordio_file(path, paddle.batch(reader, 1), feeder)


def open_file(path: str) -> Any:
    """Return a reader of batches of reviews, with the words as sequences."""
    records = fluid.layers.open_recordio_file(
        filename=path, shapes=[(-1, 1), (-1, 1)], lod_levels=[1, 0], dtypes=["int64", "int64"]
    )
    return fluid.layers.double_buffer(fluid.layers.batch(records, batch_size=32, drop_last=False))


def network(reader: Any, kind: str) -> tuple[Any, Any]:
    """Return the mean cost and the accuracy."""
    words, label = fluid.layers.read_file(reader)
    prediction = {"conv": convolution_net, "lstm": stacked_lstm_net}[kind](words)
    cost = fluid.layers.mean(fluid.layers.cross_entropy(input=prediction, label=label))
    return cost, fluid.layers.accuracy(input=prediction, label=label)


def main() -> None:
    """Write reviews into files, train from one and test from the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", choices=["conv", "lstm"], default="conv")
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        train_path, test_path = os.path.join(folder, "train.recordio"), os.path.join(folder, "test.recordio")
        counts = write_file(train_path, reviews(1000, seed=1)), write_file(test_path, reviews(200, seed=2))
        print(f"wrote {counts[0]} and {counts[1]} reviews")
        train, test, startup = fluid.Program(), fluid.Program(), fluid.Program()
        train.random_seed = startup.random_seed = 3
        # Readers live in the scope by their names: two of them need two names, so they are made outside of the guards.
        with fluid.program_guard(train, startup):
            train_reader = open_file(train_path)
            with fluid.unique_name.guard():
                train_cost, _ = network(train_reader, options.network)
                fluid.optimizer.Adam(learning_rate=0.01).minimize(train_cost)
        with fluid.program_guard(test, startup):
            test_reader = open_file(test_path)
            with fluid.unique_name.guard():  # the same names again: shared parameters
                _, test_accuracy = network(test_reader, options.network)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        for epoch in range(options.epochs):
            costs = [float(cost) for (cost,) in exe.epoch(train, fetch_list=[train_cost], reader=train_reader)]
            hits = [float(hit) for (hit,) in exe.epoch(test, fetch_list=[test_accuracy], reader=test_reader)]
            print(f"epoch {epoch}: {len(costs)} steps, cost {np.mean(costs):.4f}, test accuracy {np.mean(hits):.3f}")


if __name__ == "__main__":
    main()

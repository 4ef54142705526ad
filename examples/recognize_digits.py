"""Recognise digits: three networks, read in three ways (RecordIO files, a py_reader, a DataLoader).

Run: python examples/recognize_digits.py --network conv --source recordio --epochs 5
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio import paddle
from fluidio.demo import split_digits

TRAIN, TEST = split_digits()
BATCH = 50


def softmax_regression(img: Any) -> Any:
    """One layer."""
    return fluid.layers.fc(input=img, size=10, act="softmax")


def multilayer_perceptron(img: Any) -> Any:
    """Two hidden layers."""
    hidden = fluid.layers.fc(input=img, size=100, act="tanh")
    hidden = fluid.layers.fc(input=hidden, size=50, act="tanh")
    return fluid.layers.fc(input=hidden, size=10, act="softmax")


def convolutional_neural_network(img: Any) -> Any:
    """Two convolutions with pooling, and a layer."""
    image = fluid.layers.reshape(img, [-1, 1, 8, 8])
    block = fluid.nets.simple_img_conv_pool(
        input=image, filter_size=3, num_filters=16, conv_padding=1, pool_size=2, pool_stride=2, act="relu"
    )
    block = fluid.layers.batch_norm(block)
    block = fluid.nets.simple_img_conv_pool(
        input=block, filter_size=3, num_filters=32, conv_padding=1, pool_size=2, pool_stride=2, act="relu"
    )
    return fluid.layers.fc(input=block, size=10, act="softmax")


NETWORKS = {"softmax": softmax_regression, "mlp": multilayer_perceptron, "conv": convolutional_neural_network}


def digits(part: Any) -> Callable[[], Iterator[Any]]:
    """Return a reader of (64 pixels, label)."""
    return lambda: iter(zip(*part))


def write_files(folder: str) -> list[str]:
    """Write the digits to train on into RecordIO files, one digit per record; return their names."""
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        feeder = fluid.DataFeeder(
            place=fluid.CPUPlace(),
            feed_list=[
                fluid.layers.data(name="image", shape=[64]),
                fluid.layers.data(name="label", shape=[1], dtype="int64"),
            ],
        )
    fluid.recordio_writer.convert_reader_to_recordio_files(
        os.path.join(folder, "digits.recordio"), 400, paddle.batch(digits(TRAIN), 1), feeder
    )
    return sorted(os.path.join(folder, name) for name in os.listdir(folder))


def open_source(source: str, folder: str) -> tuple[Any, Any, Any]:
    """Build the reader into the program; return image, label, and what to start and reset."""
    shapes, dtypes = [(-1, 64), (-1, 1)], ["float32", "int64"]
    if source == "recordio":
        files = fluid.layers.open_files(
            write_files(folder), shapes=shapes, lod_levels=[0, 0], dtypes=dtypes, thread_num=2
        )
        chain = fluid.layers.double_buffer(
            fluid.layers.batch(fluid.layers.shuffle(files, 1000), BATCH, drop_last=False)
        )
        img, label = fluid.layers.read_file(chain)
        return img, label, chain
    batches = paddle.batch(paddle.reader.shuffle(digits(TRAIN), 1000), BATCH)
    if source == "py_reader":
        reader: Any = fluid.layers.py_reader(capacity=8, shapes=shapes, dtypes=dtypes, use_double_buffer=True)
        reader.decorate_paddle_reader(batches)
        img, label = fluid.layers.read_file(reader)
        return img, label, reader
    img = fluid.data(name="image", shape=[None, 64], dtype="float32")
    label = fluid.data(name="label", shape=[None, 1], dtype="int64")
    loader = fluid.io.DataLoader.from_generator(feed_list=[img, label], capacity=8, iterable=False)
    loader.set_sample_list_generator(batches)
    return img, label, loader


def build(network: str, img: Any, label: Any) -> tuple[Any, Any]:
    """Return the mean cost and the accuracy of a network."""
    prediction = NETWORKS[network](img)
    avg_cost = fluid.layers.mean(fluid.layers.cross_entropy(input=prediction, label=label))
    return avg_cost, fluid.layers.accuracy(input=prediction, label=label)


def main() -> None:
    """Train on two thirds of the digits and test on the rest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", choices=sorted(NETWORKS), default="conv")
    parser.add_argument("--source", choices=["recordio", "py_reader", "loader"], default="recordio")
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()

    train, startup, test = fluid.Program(), fluid.Program(), fluid.Program()
    train.random_seed = startup.random_seed = 1
    random.seed(1)  # paddle.reader.shuffle draws from Python's own generator
    with tempfile.TemporaryDirectory() as folder:
        with fluid.program_guard(train, startup), fluid.unique_name.guard():
            img, label, reader = open_source(options.source, folder)
            avg_cost, _ = build(options.network, img, label)
            fluid.optimizer.Adam(learning_rate=0.01).minimize(avg_cost)
        with fluid.program_guard(test, fluid.Program()), fluid.unique_name.guard():  # the same names: shared parameters
            fed = fluid.data("image", [None, 64], "float32"), fluid.data("label", [None, 1], "int64")
            _, acc = build(options.network, *fed)
        test = test.clone(for_test=True)

        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        for epoch in range(options.epochs):
            costs = [float(cost) for (cost,) in exe.epoch(train, fetch_list=[avg_cost], reader=reader)]
            feed = {"image": TEST[0], "label": TEST[1].reshape(-1, 1)}
            (accuracy,) = exe.run(test, feed=feed, fetch_list=[acc])
            print(f"epoch {epoch}: {len(costs)} steps, cost {np.mean(costs):.4f}, test accuracy {float(accuracy):.3f}")


if __name__ == "__main__":
    main()

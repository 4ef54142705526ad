"""Image classification: a small ResNet or VGG on generated pictures of four shapes.

Run: python examples/image_classification.py --network resnet --epochs 2
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio import paddle

CLASSES = ["horizontal bars", "vertical bars", "checkers", "disc"]
SIZE = 16


def pictures(count: int, seed: int) -> Any:
    """Return a reader of noisy 3 x 16 x 16 pictures and their classes."""
    rows, columns = np.mgrid[0:SIZE, 0:SIZE]

    def read() -> Iterator[Any]:
        rng = np.random.default_rng(seed)
        for _ in range(count):
            kind = int(rng.integers(len(CLASSES)))
            shift, period = rng.integers(4), rng.integers(2, 4)
            bars = [(rows + shift) // period % 2, (columns + shift) // period % 2]
            disc = (rows - rng.integers(5, 11)) ** 2 + (columns - rng.integers(5, 11)) ** 2 < rng.integers(9, 30)
            shape = [*bars, bars[0] ^ bars[1], disc][kind]
            image = shape * rng.uniform(0.5, 1.0, (3, 1, 1)) + rng.normal(0, 0.3, (3, SIZE, SIZE))
            yield image.astype("float32"), kind

    return read


def conv_bn(x: Any, filters: int, size: int, stride: int, padding: int, act: str | None = "relu") -> Any:
    """Convolve, normalise, activate."""
    conv = fluid.layers.conv2d(
        input=x, filter_size=size, num_filters=filters, stride=stride, padding=padding, act=None, bias_attr=False
    )
    return fluid.layers.batch_norm(input=conv, act=act)


def basic_block(x: Any, channels_in: int, channels_out: int, stride: int) -> Any:
    """Two convolutions beside a short cut."""
    block = conv_bn(x, channels_out, 3, stride, 1)
    block = conv_bn(block, channels_out, 3, 1, 1, act=None)
    short = x if channels_in == channels_out else conv_bn(x, channels_out, 1, stride, 0, None)
    return fluid.layers.elementwise_add(x=block, y=short, act="relu")


def resnet(images: Any) -> Any:
    """A ResNet of eight layers."""
    block = conv_bn(images, filters=8, size=3, stride=1, padding=1)
    block = basic_block(block, 8, 8, 1)
    block = basic_block(block, 8, 16, 2)
    block = basic_block(block, 16, 32, 2)
    pool = fluid.layers.pool2d(input=block, pool_size=4, pool_type="avg", pool_stride=1)
    return fluid.layers.fc(input=pool, size=len(CLASSES), act="softmax")


def vgg(images: Any) -> Any:
    """A VGG of two groups, with batch normalisation and dropout."""
    block = images
    for filters in (8, 16):
        block = fluid.nets.img_conv_group(
            input=block,
            conv_num_filter=[filters] * 2,
            conv_filter_size=3,
            conv_act="relu",
            conv_with_batchnorm=True,
            conv_batchnorm_drop_rate=[0.1, 0.0],
            pool_size=2,
            pool_stride=2,
            pool_type="max",
        )
    drop = fluid.layers.dropout(x=block, dropout_prob=0.2)
    hidden = fluid.layers.fc(input=drop, size=32, act=None)
    hidden = fluid.layers.batch_norm(input=hidden, act="relu")
    return fluid.layers.fc(input=hidden, size=len(CLASSES), act="softmax")


def main() -> None:
    """Train, and test after each epoch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", choices=["resnet", "vgg"], default="resnet")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--pictures", type=int, default=320)
    options = parser.parse_args()

    fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 5
    random.seed(1)  # paddle.reader.shuffle draws from Python's own generator
    images = fluid.data(name="pixel", shape=[None, 3, SIZE, SIZE], dtype="float32")
    label = fluid.data(name="label", shape=[None, 1], dtype="int64")
    predict = {"resnet": resnet, "vgg": vgg}[options.network](images)
    cost = fluid.layers.mean(fluid.layers.cross_entropy(input=predict, label=label))
    accuracy = fluid.layers.accuracy(input=predict, label=label)
    test_program = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.005).minimize(cost)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder(feed_list=[images, label], place=fluid.CPUPlace())
    train = paddle.batch(paddle.reader.shuffle(pictures(options.pictures, seed=1), 1000), 32, drop_last=True)
    test = paddle.batch(pictures(100, seed=2), 50)
    for epoch in range(options.epochs):
        costs = [float(exe.run(feed=feeder.feed(batch), fetch_list=[cost])[0]) for batch in train()]
        results = [exe.run(test_program, feed=feeder.feed(b), fetch_list=[cost, accuracy]) for b in test()]
        test_cost, test_accuracy = np.mean([[float(a), float(b)] for a, b in results], axis=0)
        print(f"epoch {epoch}: cost {np.mean(costs):.4f}, test cost {test_cost:.4f}, test accuracy {test_accuracy:.3f}")


if __name__ == "__main__":
    main()

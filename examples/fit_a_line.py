"""Fit a line: linear regression by gradient descent, fed by a DataFeeder, saved and used for inference.

Run: python examples/fit_a_line.py --epochs 20
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio import paddle

FEATURES = 13


def houses(count: int, seed: int) -> Callable[[], Iterator[Any]]:
    """Return a reader of generated houses: 13 scaled features and a price near a linear function of them."""

    def read() -> Iterator[Any]:
        rng = np.random.default_rng(seed)
        weights = np.linspace(-2.0, 2.0, FEATURES)
        for _ in range(count):
            features = rng.uniform(-1, 1, FEATURES)
            yield features.astype("float32"), np.array([features @ weights + 22.5 + rng.normal(0, 0.1)], "float32")

    return read


def train_test(exe: fluid.Executor, program: Any, reader: Any, feeder: Any, fetch_list: list[Any]) -> float:
    """Return the mean loss on the test data."""
    losses = [float(exe.run(program, feed=feeder.feed(batch), fetch_list=fetch_list)[0]) for batch in reader()]
    return float(np.mean(losses))


def infer(folder: str) -> None:
    """Load the saved model and print some prices beside the true ones."""
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.Scope()):
        program, feed_names, fetch_targets = fluid.io.load_inference_model(folder, exe)
        batch = list(houses(4, seed=3)())
        features = np.stack([row[0] for row in batch])
        (prices,) = exe.run(program, feed={feed_names[0]: features}, fetch_list=fetch_targets)
        for (_, truth), price in zip(batch, prices, strict=True):
            print(f"price {float(price[0]):.2f}, truth {float(truth[0]):.2f}")


def main() -> None:
    """Train, test, save, infer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=20)
    options = parser.parse_args()

    main_program = fluid.default_main_program()
    main_program.random_seed = fluid.default_startup_program().random_seed = 90
    random.seed(1)  # paddle.reader.shuffle draws from Python's own generator
    x = fluid.data(name="x", shape=[None, FEATURES], dtype="float32")
    y = fluid.data(name="y", shape=[None, 1], dtype="float32")
    prediction = fluid.layers.fc(input=x, size=1, act=None)
    avg_loss = fluid.layers.mean(fluid.layers.square_error_cost(input=prediction, label=y))
    test_program = main_program.clone(for_test=True)
    fluid.optimizer.SGD(learning_rate=0.05).minimize(avg_loss)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder(place=fluid.CPUPlace(), feed_list=[x, y])
    train_reader = paddle.batch(paddle.reader.shuffle(houses(400, seed=1), buf_size=500), batch_size=options.batch_size)
    test_reader = paddle.batch(houses(100, seed=2), batch_size=options.batch_size)
    for epoch in range(options.epochs):
        for batch in train_reader():
            exe.run(main_program, feed=feeder.feed(batch), fetch_list=[avg_loss])
        if (epoch + 1) % 5 == 0:
            loss = train_test(exe, test_program, test_reader, feeder, [avg_loss])
            print(f"epoch {epoch + 1}: test loss {loss:.4f}")
    with tempfile.TemporaryDirectory() as folder:
        fluid.io.save_inference_model(folder, ["x"], [prediction], exe)
        infer(folder)


if __name__ == "__main__":
    main()

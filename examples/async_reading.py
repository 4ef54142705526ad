"""Fluid's guide "Asynchronous data reading", call by call: three kinds of generators, loops of both kinds.

Run: python examples/async_reading.py --generator sample_list --iterable 1 --places 2 --epochs 10
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio.demo.data import split_digits

TRAIN, TEST = split_digits()


def network(iterable: bool) -> tuple[Any, Any]:
    """Build the network and its loader; return the loss and the loader."""
    image = fluid.data(name="image", dtype="float32", shape=[None, 64])
    label = fluid.data(name="label", dtype="int64", shape=[None, 1])
    reader = fluid.io.DataLoader.from_generator(feed_list=[image, label], capacity=64, iterable=iterable)
    fc = fluid.layers.fc(image, size=10)
    xe = fluid.layers.softmax_with_cross_entropy(fc, label)
    loss = fluid.layers.reduce_mean(xe)
    return loss, reader


def samples(digits: Any) -> Callable[[], Iterator[Any]]:
    """Return a reader of single digits."""
    return lambda: iter(zip(*digits))


def arrays(reader: Callable[[], Any]) -> Callable[[], Iterator[Any]]:
    """Return a reader of whole batches from one of lists of samples."""

    def generate() -> Iterator[Any]:
        for rows in reader():
            yield np.stack([row[0] for row in rows]), np.array([[row[1]] for row in rows], "int64")

    return generate


def connect(loader: Any, generator: str, digits: Any, batch_size: int, places: Any) -> None:
    """Give a loader its data, by one of the three kinds of generators."""
    if generator == "sample":
        loader.set_sample_generator(samples(digits), batch_size=batch_size, drop_last=False, places=places)
        return
    reader = fluid.io.shuffle(fluid.io.batch(samples(digits), batch_size), buf_size=64)
    if generator == "sample_list":
        loader.set_sample_list_generator(reader, places=places)
    else:
        loader.set_batch_generator(arrays(reader), places=places)


def run_iterable(program: Any, exe: fluid.Executor, loss: Any, data_loader: Any) -> list[float]:
    """Run one epoch of a loader that is iterated."""
    losses = []
    for data in data_loader():
        (loss_value,) = exe.run(program=program, feed=data, fetch_list=[loss])
        losses.append(float(np.mean(loss_value)))
    return losses


def run_non_iterable(program: Any, exe: fluid.Executor, loss: Any, data_loader: Any) -> list[float]:
    """Run one epoch of a loader inside the program."""
    losses = []
    data_loader.start()
    try:
        while True:
            (loss_value,) = exe.run(program=program, fetch_list=[loss])
            losses.append(float(np.mean(loss_value)))
    except fluid.core.EOFException:
        data_loader.reset()
    return losses


def main() -> None:
    """Train and test for some epochs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generator", choices=["sample", "sample_list", "batch"], default="sample_list")
    parser.add_argument("--iterable", type=int, default=1)
    parser.add_argument("--places", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()

    train_prog, train_startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(train_prog, train_startup), fluid.unique_name.guard():
        train_loss, train_loader = network(bool(options.iterable))
        fluid.optimizer.Adam(learning_rate=0.01).minimize(train_loss)
    test_prog, test_startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(test_prog, test_startup), fluid.unique_name.guard():  # the same names: shared parameters
        test_loss, test_loader = network(bool(options.iterable))

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(train_startup)
    exe.run(test_startup)
    devices = fluid.cpu_places(options.places)
    train = fluid.CompiledProgram(train_prog).with_data_parallel(loss_name=train_loss.name, places=devices)
    test = fluid.CompiledProgram(test_prog).with_data_parallel(share_vars_from=train, places=devices)
    places = devices if options.iterable else None
    connect(train_loader, options.generator, TRAIN, 50, places)
    connect(test_loader, options.generator, TEST, 50, places)
    run = run_iterable if options.iterable else run_non_iterable
    for epoch in range(options.epochs):
        trained = run(train, exe, train_loss, train_loader)
        tested = run(test, exe, test_loss, test_loader)
        print(
            f"epoch {epoch}: {len(trained)} + {len(tested)} steps, "
            f"loss {np.mean(trained):.4f}, test loss {np.mean(tested):.4f}"
        )


if __name__ == "__main__":
    main()

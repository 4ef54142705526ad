"""Fluid's guide "How to use RecordIO", call by call: write digits into RecordIO files, train from one, share many.

Run: python examples/recordio_guide.py --epochs 3
"""

from __future__ import annotations

import argparse
import glob
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio import paddle
from fluidio.demo.data import load_digits


def train() -> Iterator[Any]:
    """Yield the UCI digits in MNIST's form: 28 x 28 pixels in a row, and the label."""
    for image, label in zip(*load_digits()):
        large = np.pad(np.kron(image.reshape(8, 8), np.ones((3, 3), "float32")), 2)
        yield large.reshape(784), int(label)


def make_feeder() -> fluid.DataFeeder:
    """Return the feeder that gives records their form."""
    return fluid.DataFeeder(
        feed_list=[  # order is image and label
            fluid.layers.data(name="image", shape=[784]),
            fluid.layers.data(name="label", shape=[1], dtype="int64"),
        ],
        place=fluid.CPUPlace(),
    )


def train_from_one_file(filename: str, epochs: int) -> list[float]:
    """Train a small network; return the mean loss of each epoch."""
    data_file = fluid.layers.io.open_recordio_file(
        filename=filename, shapes=[(-1, 784), (-1, 1)], lod_levels=[0, 0], dtypes=["float32", "int64"]
    )
    batches = fluid.layers.io.double_buffer(fluid.layers.io.batch(data_file, batch_size=32, drop_last=False))
    img, label = fluid.layers.io.read_file(batches)
    hidden = fluid.layers.fc(input=img, size=100, act="tanh")
    prediction = fluid.layers.fc(input=hidden, size=10, act="softmax")
    loss = fluid.layers.cross_entropy(input=prediction, label=label)
    avg_loss = fluid.layers.mean(loss)
    fluid.optimizer.Adam(learning_rate=1e-3).minimize(avg_loss)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    means = []
    for _ in range(epochs):
        losses = []
        while True:
            try:
                (value,) = exe.run(fetch_list=[avg_loss])
            except fluid.core.EOFException:
                data_file.reset()
                break
            losses.append(float(value))
        means.append(sum(losses) / len(losses))
    return means


def gen_train_list(file_pattern: str, trainers: int, trainer_id: int) -> list[str]:
    """Return every `trainers`-th file, beginning with number `trainer_id`."""
    file_list = glob.glob(file_pattern)
    return [f for idx, f in enumerate(file_list) if (idx + trainers) % trainers == trainer_id]


def read_my_part(folder: str) -> None:
    """Read the files of one trainer, as the environment says, and print how many records there were."""
    trainers = int(os.environ["PADDLE_TRAINERS"])
    trainer_id = int(os.environ["PADDLE_TRAINER_ID"])
    files = gen_train_list(os.path.join(folder, "mnist-[0-9]*.recordio"), trainers, trainer_id)
    data_file = fluid.layers.io.open_files(
        filenames=files,
        thread_num=1,
        shapes=[(-1, 784), (-1, 1)],
        lod_levels=[0, 0],
        dtypes=["float32", "int64"],
    )
    _img, label = fluid.layers.io.read_file(data_file)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    labels = [int(value) for (value,) in exe.epoch(fetch_list=[label], reader=data_file)]
    print(f"trainer {trainer_id} of {trainers}: {len(files)} files, {len(labels)} records, sum of labels {sum(labels)}")


def main() -> None:
    """Write, train, and share files between two processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--part", metavar="FOLDER", help="read one trainer's part of a folder and stop")
    options = parser.parse_args()
    if options.part:
        read_my_part(options.part)
        return
    with tempfile.TemporaryDirectory() as folder:
        reader = paddle.batch(train, batch_size=1)
        path = os.path.join(folder, "mnist.recordio")
        count = fluid.recordio_writer.convert_reader_to_recordio_file(path, reader, make_feeder())
        print(f"wrote {count} records")
        for epoch, loss in enumerate(train_from_one_file(path, options.epochs)):
            print(f"epoch {epoch}: mean loss {loss:.4f}")
        count = fluid.recordio_writer.convert_reader_to_recordio_files(
            filename_suffix=path, batch_per_file=400, reader_creator=reader, feeder=make_feeder()
        )
        print(f"wrote {count} records into {len(glob.glob(os.path.join(folder, 'mnist-*')))} files")
        for trainer in range(2):
            part = {**os.environ, "PADDLE_TRAINERS": "2", "PADDLE_TRAINER_ID": str(trainer)}
            sys.stdout.flush()
            subprocess.run([sys.executable, __file__, "--part", folder], env=part, check=True)


if __name__ == "__main__":
    main()

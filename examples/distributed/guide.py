"""The RecordIO guide's chapter "Distributed Training": the digits in several files, read and trained by many trainers.

Run: python examples/distributed/guide.py --trainers 2

Started without a launcher it writes the files and starts the trainers itself, as `paddle.distributed.launch` does;
`torchrun` and `mpiexec` work as well, with files that are there already (--data). Each trainer prints the loss of its
last batch, the first one the accuracy, which is the same for any number of trainers: they divide the same batches.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio.demo.data import split_digits
from fluidio.distributed import export_paddle_variables
from fluidio.paddle.distributed.launch import launch
from fluidio.recordio import Writer

TRAIN, TEST = split_digits()


def write_files(folder: Path, count: int = 5) -> None:
    """Write the digits for training into several files, one record for each."""
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(count):
        with Writer(folder / f"digits-{index:05d}.recordio", max_num_records=50) as writer:
            for image, label in list(zip(*TRAIN))[index::count]:
                writer.write_tensors([(image.reshape(1, 64), ()), (np.array([[label]], "int64"), ())])


def network(image: Any, label: Any) -> tuple[Any, Any]:
    """Return loss and accuracy of the guide's network."""
    hidden = fluid.layers.fc(image, size=100, act="tanh")
    prediction = fluid.layers.fc(hidden, size=10, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(input=prediction, label=label))
    return loss, fluid.layers.accuracy(prediction, label)


def train(data: Path, batch: int, epochs: int) -> None:
    """Train as one of the trainers that the environment speaks of."""
    trainer, trainers = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_TRAINERS_NUM"])
    main, startup, test = fluid.Program(), fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 1
    files = sorted(str(path) for path in data.glob("*.recordio"))
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        reader = fluid.layers.io.open_files(
            files, [(-1, 64), (-1, 1)], [0, 0], ["float32", "int64"], trainers=trainers, trainer_id=trainer
        )
        reader = fluid.layers.batch(fluid.layers.shuffle(reader, 500), batch // trainers, drop_last=True)
        loss, _ = network(*fluid.layers.read_file(reader))
        fluid.optimizer.Adam(learning_rate=5e-3).minimize(loss)
    with fluid.program_guard(test, fluid.Program()), fluid.unique_name.guard():
        image = fluid.layers.data("image", [64])
        _, accuracy = network(image, fluid.layers.data("label", [1], dtype="int64"))
    config = fluid.DistributeTranspilerConfig()
    config.mode = "nccl2"
    fluid.DistributeTranspiler(config).transpile(
        trainer, program=main, trainers=os.environ["PADDLE_TRAINER_ENDPOINTS"], startup_program=startup
    )
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    value = 0.0
    for _ in range(epochs):
        for (fetched,) in exe.epoch(main, fetch_list=[loss], reader=reader):
            value = float(fetched)
    print(f"trainer {trainer} of {trainers}: loss of its last batch {value:.3f}", flush=True)
    if trainer == 0:
        feed = {"image": TEST[0], "label": np.asarray(TEST[1]).reshape(-1, 1).astype("int64")}
        print(f"accuracy: {float(exe.run(test, feed=feed, fetch_list=[accuracy])[0]):.3f}", flush=True)
    exe.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64, help="records of all trainers in one step")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--port", type=int, default=6170, help="where the trainers meet")
    parser.add_argument("--data", type=Path, help="a folder with the files; written first where nobody launched us")
    args = parser.parse_args()
    export_paddle_variables()
    if "PADDLE_TRAINER_ID" in os.environ:
        train(args.data, args.batch, args.epochs)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        data = args.data or Path(folder)
        write_files(data)
        words = ["--nproc_per_node", str(args.trainers), "--started_port", str(args.port), __file__]
        return launch([*words, "--data", str(data), "--batch", str(args.batch), "--epochs", str(args.epochs)])


if __name__ == "__main__":
    raise SystemExit(main())

"""`fluidio demo`: write real digits to RecordIO, train on them epoch by epoch, and show the result.

The middle of this file is an ordinary Fluid program: readers, layers, an optimizer, a loop that ends in EOFException.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import fluidio as fluid
from fluidio.cli.dispatch import available
from fluidio.demo import split_digits
from fluidio.demo.data import Digits
from fluidio.places import PlaceLike, unwrap
from fluidio.program import Program, Variable
from fluidio.recordio import Writer

HELP = "train on handwritten digits from RecordIO files; no download, a few seconds"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.epilog = "example: fluidio demo --epochs 5"
    parser.add_argument("--dir", type=Path, default=Path("fluidio-demo"), help="where to write (default: %(default)s)")
    parser.add_argument("--epochs", type=_count, default=30, help="how often to read all files (default: %(default)s)")
    parser.add_argument("--batch-size", type=_count, default=64, help="records in a batch (default: %(default)s)")
    parser.add_argument("--shards", type=_count, default=4, help="files to write (default: %(default)s)")
    parser.add_argument("--device", type=_place, default="cpu", help="cpu, or gpu:0 and so on (default: %(default)s)")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def _place(text: str) -> PlaceLike:
    try:
        return cast(PlaceLike, unwrap(text))
    except TypeError:
        raise argparse.ArgumentTypeError(f"expected cpu or gpu:N, got {text!r}") from None


def run(args: argparse.Namespace) -> int:
    """Write, train, test and save; return 0."""
    exe = fluid.Executor(args.device)  # first, to report a missing GPU at once
    digits, unseen = split_digits()
    files = write_shards(args.dir, digits, args.shards)
    print(f"{len(digits[1]):,} handwritten digits -> {len(files)} RecordIO files in {args.dir}")
    with fluid.scope_guard(fluid.Scope()):  # the read-ahead threads end with the scope
        training = build_training(files, args.batch_size)
        exe.run(training.startup)
        for epoch in range(args.epochs):
            train(exe, training, epoch)
        testing = build_testing()
        print(f"accuracy on {len(unseen[1])} digits it has never seen: {test(exe, testing, unseen):.1%}")
        save(exe, testing, args.dir / "model")
        print(f"the trained model is in {args.dir / 'model'}")
    _say_what_next(args.dir)
    return 0


def write_shards(folder: Path, digits: Digits, shards: int) -> list[str]:
    """Write one record for each digit, distributed over `shards` files; return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    images, labels = digits
    names = [str(folder / f"digits-{shard:05d}.recordio") for shard in range(shards)]
    for shard, name in enumerate(names):
        with Writer(name, atomic=True) as writer:
            writer.write_block([images[shard::shards], labels[shard::shards, None]])
    return names


@dataclass
class Net:
    """A program and the variables needed from it."""

    main: Program
    startup: Program
    prediction: Variable
    loss: Variable
    accuracy: Variable
    files: Variable | None = None


def network(image: Variable, label: Variable) -> tuple[Variable, Variable, Variable]:
    """Return prediction, loss and accuracy of two fully connected layers."""
    hidden = fluid.layers.fc(image, size=512, act="relu")
    prediction = fluid.layers.fc(hidden, size=10, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(prediction, label))
    return prediction, loss, fluid.layers.accuracy(prediction, label)


def build_training(names: list[str], batch_size: int) -> Net:
    """Return the program that reads the files, batch after batch, and learns."""
    main, startup = Program(), Program()
    main.random_seed = startup.random_seed = 1
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        files = fluid.layers.open_files(
            filenames=names, shapes=[[-1, 64], [-1, 1]], lod_levels=[0, 0], dtypes=["float32", "int64"]
        )
        reader = fluid.layers.shuffle(files, buffer_size=2048)
        reader = fluid.layers.batch(reader, batch_size=batch_size, drop_last=False)
        reader = fluid.layers.double_buffer(reader)
        image, label = fluid.layers.read_file(reader)
        prediction, loss, accuracy = network(image, label)
        fluid.optimizer.Adam(learning_rate=2e-3).minimize(loss)
    return Net(main, startup, prediction, loss, accuracy, files)


def build_testing() -> Net:
    """Return the program that is fed digits; it shares the trained parameters through their names."""
    main, startup = Program(), Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        image = fluid.layers.data("image", shape=[64])
        label = fluid.layers.data("label", shape=[1], dtype="int64")
        return Net(main, startup, *network(image, label))


def train(exe: fluid.Executor, net: Net, epoch: int) -> None:
    """Run until the files end, then rewind them."""
    assert net.files is not None
    start, batches, records, total = time.perf_counter(), 0, 0, 0.0
    while True:
        try:
            loss, prediction = exe.run(net.main, fetch_list=[net.loss, net.prediction])
        except fluid.core.EOFException:
            break
        batches, records, total = batches + 1, records + len(prediction), total + float(loss)
    speed = records / (time.perf_counter() - start)
    net.files.reset()
    mean = total / max(batches, 1)
    print(f"epoch {epoch + 1:2d}: {batches} batches, {speed:9,.0f} records/s, loss {mean:.4f}; EOFException, reset()")


def test(exe: fluid.Executor, net: Net, digits: Digits) -> float:
    """Return the share of digits that the net classifies correctly."""
    images, labels = digits
    (share,) = exe.run(net.main, feed={"image": images, "label": labels[:, None]}, fetch_list=[net.accuracy])
    return float(share)


def save(exe: fluid.Executor, net: Net, folder: Path) -> None:
    """Save an inference model, which `fluid.io.load_inference_model` reads."""
    fluid.io.save_inference_model(str(folder), ["image"], [net.prediction], exe, main_program=net.main)


def _say_what_next(folder: Path) -> None:
    ideas = {
        "inspect": f"fluidio inspect {folder}/digits-00000.recordio",
        "check": f"fluidio check {folder}/*.recordio",
        "run": "fluidio run your_script.py",
    }
    print("\nnext:")
    for idea in [ideas[name] for name in ideas if name in available()]:
        print(f"  {idea}")
    print(f"  read this program: {__file__}")

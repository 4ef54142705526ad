"""The programs of Fluid's two reading guides, call by call, every keyword as printed."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import paddle
from tests.house.repository import ROOT


def mnist_train(count: int = 500) -> Any:
    """Return a reader in the form of MNIST's, with data that can be learnt."""

    def reader() -> Iterator[Any]:
        rng = np.random.RandomState(1)
        patterns = rng.rand(10, 784).astype("float32") - 0.5
        for number in range(count):
            label = number % 10
            yield patterns[label] + 0.1 * rng.rand(784).astype("float32"), label

    return reader


def make_feeder() -> Any:
    return fluid.DataFeeder(
        feed_list=[  # order is image and label
            fluid.layers.data(name="image", shape=[784]),
            fluid.layers.data(name="label", shape=[1], dtype="int64"),
        ],
        place=fluid.CPUPlace(),
    )


def test_recordio_guide_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader = paddle.batch(mnist_train(), batch_size=1)
    assert fluid.recordio_writer.convert_reader_to_recordio_file("./mnist.recordio", reader, make_feeder()) == 500

    data_file = fluid.layers.io.open_recordio_file(
        filename="./mnist.recordio", shapes=[(-1, 784), (-1, 1)], lod_levels=[0, 0], dtypes=["float32", "int32"]
    )
    data_file = fluid.layers.io.batch(data_file, batch_size=4)
    img, label = fluid.layers.io.read_file(data_file)
    hidden = fluid.layers.fc(input=img, size=100, act="tanh")
    prediction = fluid.layers.fc(input=hidden, size=10, act="softmax")
    loss = fluid.layers.cross_entropy(input=prediction, label=label)
    avg_loss = fluid.layers.mean(loss)
    fluid.optimizer.Adam(learning_rate=1e-3).minimize(avg_loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    avg_loss_np: list[float] = []
    with pytest.warns(UserWarning, match="declared as INT32"), pytest.raises(fluid.core.EOFException):
        while True:  # train a pass
            (tmp,) = exe.run(fetch_list=[avg_loss])
            avg_loss_np.append(float(tmp))
    assert len(avg_loss_np) == 125
    assert np.mean(avg_loss_np[-20:]) < 0.5 * np.mean(avg_loss_np[:20])


TRAINER = """
import glob, json, os
import fluidio as fluid

def gen_train_list(file_pattern, trainers, trainer_id):
   file_list = glob.glob(file_pattern)
   ret_list = []
   for idx, f in enumerate(file_list):
       if (idx + trainers) % trainers == trainer_id:
           ret_list.append(f)
   return ret_list

trainers = int(os.getenv("PADDLE_TRAINERS"))
trainer_id = int(os.getenv("PADDLE_TRAINER_ID"))
data_file = fluid.layers.io.open_files(
    filenames=gen_train_list("./mnist-[0-9]*.recordio", trainers, trainer_id),
    thread_num=1,
    shapes=[(-1, 784),(-1, 1)],
    lod_levels=[0, 0],
    dtypes=["float32", "int32"])
img, label = fluid.layers.io.read_file(data_file)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
sums = []
try:
    while True:
        sums.append(float(exe.run(fetch_list=[img])[0].sum()))
except fluid.core.EOFException:
    print(json.dumps(sums))
"""


def test_recordio_guide_two_trainers_read_disjoint_and_complete_parts(tmp_path: Path) -> None:
    reader = paddle.batch(mnist_train(), batch_size=1)
    written = fluid.recordio_writer.convert_reader_to_recordio_files(
        filename_suffix=str(tmp_path / "mnist.recordio"),
        batch_per_file=100,
        reader_creator=reader,
        feeder=make_feeder(),
    )
    assert written == 500
    assert sorted(os.path.basename(f) for f in glob.glob(str(tmp_path / "*"))) == [
        f"mnist-{i:05d}.recordio" for i in range(5)
    ]
    parts = []
    for trainer in range(2):
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "ignore",
            "PADDLE_TRAINERS": "2",
            "PADDLE_TRAINER_ID": str(trainer),
        }
        done = subprocess.run(
            [sys.executable, "-c", TRAINER], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
        )
        parts.append(json.loads(done.stdout))
    everything = sorted(float(image.sum()) for image, _ in mnist_train()())
    assert sorted(len(part) for part in parts) == [200, 300]
    np.testing.assert_allclose(sorted(parts[0] + parts[1]), everything, rtol=1e-4, atol=1e-4)


def fake_sample_reader() -> Iterator[Any]:
    for _ in range(100):
        yield np.random.random(size=(784,)).astype("float32"), np.random.randint(0, 10, (1,)).astype("int64")


def fake_batch_reader() -> Iterator[Any]:
    batch_size = 32
    for _ in range(100):
        batch_image = np.random.random(size=(batch_size, 784)).astype("float32")
        batch_label = np.random.randint(0, 10, (batch_size, 1)).astype("int64")
        yield batch_image, batch_label


@pytest.mark.parametrize("iterable", [True, False])
@pytest.mark.parametrize("parallel", [True, False])
def test_async_guide_three_kinds_of_generators(iterable: bool, parallel: bool) -> None:
    count = 2 if parallel else 1
    places = fluid.cpu_places(count) if iterable else None
    exe = fluid.Executor(fluid.CPUPlace())
    for kind, steps in (("sample", 3 // count), ("sample_list", 4 // count), ("batch", 100 // count)):
        main = fluid.Program()
        with fluid.program_guard(main):
            image = fluid.data(name=f"image_{kind}", dtype="float32", shape=[None, 784])
            label = fluid.data(name=f"label_{kind}", dtype="int64", shape=[None, 1])
            loader = fluid.io.DataLoader.from_generator(feed_list=[image, label], capacity=10, iterable=iterable)
        if kind == "sample":
            loader.set_sample_generator(fake_sample_reader, batch_size=32, places=places)
        elif kind == "sample_list":
            sample_list_reader = fluid.io.batch(fake_sample_reader, batch_size=32)
            sample_list_reader = fluid.io.shuffle(sample_list_reader, buf_size=64)
            loader.set_sample_list_generator(sample_list_reader, places=places)
        else:
            loader.set_batch_generator(fake_batch_reader, places=places)
        program: Any = main
        if parallel:
            program = fluid.CompiledProgram(main).with_data_parallel(places=fluid.cpu_places(count))
        with pytest.warns(UserWarning) if kind == "sample" else contextlib.nullcontext():
            found = [len(rows) for rows in _images(exe, program, image, loader, iterable)]
        assert len(found) == steps
        if kind == "batch":
            assert set(found) == {32 * count}


def _images(exe: Any, program: Any, image: Any, loader: Any, iterable: bool) -> Iterator[Any]:
    if iterable:
        for data in loader():
            yield exe.run(program=program, feed=data, fetch_list=[image])[0]
        return
    loader.start()
    try:
        while True:
            yield exe.run(program=program, fetch_list=[image])[0]
    except fluid.core.EOFException:
        loader.reset()


def test_async_guide_capacity_keywords_and_defaults() -> None:
    image = fluid.data(name="image", dtype="float32", shape=[None, 784])
    label = fluid.data(name="label", dtype="int64", shape=[None, 1])
    loader = fluid.io.DataLoader.from_generator(
        feed_list=[image, label], capacity=64, use_double_buffer=True, iterable=True
    )
    assert loader.iterable

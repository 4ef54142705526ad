"""Programs with readers on a GPU: files, py_reader and DataLoader go through the copy ring."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import recordio_writer
from fluidio.testing import fresh
from tests.gpu.programs import CLASSES, FEATURES

pytestmark = pytest.mark.gpu

BATCH, BATCHES = 8, 12


def _samples() -> Iterator[tuple[Any, Any]]:
    random = np.random.RandomState(3)
    for _ in range(BATCH * BATCHES):
        yield random.rand(FEATURES).astype("float32"), random.randint(0, CLASSES, 1).astype("int64")


@pytest.fixture(scope="module")
def recordio(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("gpu") / "train.recordio"
    with fresh():
        image = fluid.layers.data("image", [FEATURES])
        label = fluid.layers.data("label", [1], dtype="int64")
        feeder = fluid.DataFeeder([image, label], fluid.CPUPlace())
        recordio_writer.convert_reader_to_recordio_file(str(path), fluid.io.batch(_samples, 1), feeder)
    return path


def _classify(image: Any, label: Any) -> Any:
    prob = fluid.layers.fc(fluid.layers.fc(image, 16, act="relu"), CLASSES, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(prob, label))
    fluid.optimizer.Adam(0.01).minimize(loss)
    return loss


def _train_from_file(path: Path, place: Any, epochs: int = 2) -> list[list[float]]:
    with fresh() as (main, startup):
        main.random_seed = startup.random_seed = 5
        reader = fluid.layers.open_recordio_file(
            str(path), shapes=[[-1, FEATURES], [-1, 1]], lod_levels=[0, 0], dtypes=["float32", "int64"]
        )
        reader = fluid.layers.double_buffer(fluid.layers.batch(fluid.layers.shuffle(reader, 32), BATCH))
        loss = _classify(*fluid.layers.read_file(reader))
        exe = fluid.Executor(place)
        exe.run(startup)
        losses: list[list[float]] = []
        for _ in range(epochs):
            losses.append([])
            while True:
                try:
                    losses[-1].append(float(exe.run(main, fetch_list=[loss])[0]))
                except fluid.core.EOFException:
                    reader.reset()
                    break
        return losses


def test_training_from_a_file_gives_the_numbers_of_the_cpu(cupy: Any, recordio: Path) -> None:
    found = _train_from_file(recordio, fluid.CUDAPlace(0))
    expected = _train_from_file(recordio, fluid.CPUPlace())
    assert [len(epoch) for epoch in found] == [BATCHES, BATCHES]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("how", ["slow copies", "slow kernels", "jitter", "lazy"])
def test_training_from_a_file_has_no_race(sim: Any, recordio: Path, how: str) -> None:
    expected = _train_from_file(recordio, fluid.CUDAPlace(0), epochs=1)
    if how == "lazy":
        sim.schedule("lazy")
    else:
        sim.delays(
            copy=300 * (how == "slow copies"), kernel=100 * (how == "slow kernels"), jitter=200 * (how == "jitter")
        )
    assert _train_from_file(recordio, fluid.CUDAPlace(0), epochs=1) == expected


def test_one_transfer_for_each_batch_and_one_wait_for_each_fetch(sim: Any, recordio: Path) -> None:
    _train_from_file(recordio, fluid.CUDAPlace(0))
    gc.collect()  # a ring waits for its stream when it goes
    sim.reset()
    _train_from_file(recordio, fluid.CUDAPlace(0))
    found, mine = sim.counters(), threading.get_ident()
    waits = [span.name for span in sim.timeline() if span.kind == "sync" and span.thread == mine]
    assert found["pageable_async"] == 0
    assert waits == ["eventSynchronize"] * 2 * BATCHES
    parameters = 4
    assert found["h2d"] <= 2 * BATCHES + 3 + 2 * parameters  # what was read ahead after the last reset; initial values


def test_py_reader_feeds_a_gpu(cupy: Any) -> None:
    def run(place: Any) -> list[float]:
        with fresh() as (main, startup):
            main.random_seed = startup.random_seed = 5
            reader: Any = fluid.layers.py_reader(4, [[-1, FEATURES], [-1, 1]], ["float32", "int64"])
            loss = _classify(*fluid.layers.read_file(reader))
            reader.decorate_paddle_reader(fluid.io.batch(_samples, BATCH))
            exe = fluid.Executor(place)
            exe.run(startup)
            reader.start()
            losses = []
            try:
                while True:
                    losses.append(float(exe.run(main, fetch_list=[loss])[0]))
            except fluid.core.EOFException:
                reader.reset()
            return losses

    found = run(fluid.CUDAPlace(0))
    assert len(found) == BATCHES
    np.testing.assert_allclose(found, run(fluid.CPUPlace()), rtol=1e-5)


def test_iterable_loader_yields_tensors_on_the_gpu(cupy: Any) -> None:
    with fresh() as (main, startup):
        image = fluid.data("image", [None, FEATURES])
        label = fluid.data("label", [None, 1], "int64")
        loss = _classify(image, label)
        loader = fluid.io.DataLoader.from_generator(feed_list=[image, label], capacity=4)
        loader.set_sample_generator(_samples, BATCH, places=fluid.CUDAPlace(0))
        exe = fluid.Executor(fluid.CUDAPlace(0))
        exe.run(startup)
        for _ in range(2):
            count = 0
            for feed in loader():
                assert isinstance(feed[0]["image"].array, cupy.ndarray)
                exe.run(main, feed=feed, fetch_list=[loss])
                count += 1
            assert count == BATCHES


def test_batches_kept_by_the_user_stay_whole(cupy: Any) -> None:
    with fresh():
        image = fluid.data("image", [None, FEATURES])
        label = fluid.data("label", [None, 1], "int64")
        loader = fluid.io.DataLoader.from_generator(feed_list=[image, label], capacity=4)
        loader.set_sample_generator(_samples, BATCH, places=fluid.CUDAPlace(0))
        kept = [feed[0]["image"] for feed in loader()]
    images = np.stack([sample[0] for sample in _samples()]).reshape(BATCHES, BATCH, FEATURES)
    np.testing.assert_array_equal(np.stack([np.array(tensor) for tensor in kept]), images)

"""Data parallel on two GPUs gives the numbers of two CPU places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.recordio import Writer
from fluidio.testing import fresh

pytestmark = pytest.mark.gpu
layers = fluid.layers


def _places(gpu: bool) -> list[Any]:
    return [fluid.CUDAPlace(0), fluid.CUDAPlace(1)] if gpu else fluid.cpu_places(2)


def _batches() -> Iterator[Any]:
    random = np.random.RandomState(4)
    for _ in range(8):
        yield random.rand(6, 5).astype("float32"), random.randint(0, 3, (6, 1)).astype("int64")


def _par(name: str, shape: list[int]) -> Any:
    values = np.sin(np.arange(np.prod(shape), dtype="float64")).reshape(shape).astype("float32")
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.NumpyArrayInitializer(values))


def _train(gpu: bool, feeding: str, path: str = "") -> tuple[list[Any], Any]:
    with fresh() as (main, startup):
        x, y = fluid.data("x", [None, 5]), fluid.data("y", [None, 1], "int64")
        loader: Any = None
        if feeding == "file":
            loader = layers.io.open_recordio_file(path, [(-1, 5), (-1, 1)], [0, 0], ["float32", "int64"])
            x, y = layers.read_file(layers.double_buffer(layers.batch(loader, 6)))
        elif feeding != "dict":
            loader = fluid.io.DataLoader.from_generator([x, y], 4, iterable=feeding == "iterable")
        hidden = layers.fc(x, size=4, act="tanh", param_attr=_par("w1", [5, 4]), bias_attr=False)
        logits = layers.fc(hidden, size=3, param_attr=_par("w2", [4, 3]), bias_attr=False)
        loss = layers.mean(layers.softmax_with_cross_entropy(logits, y))
        fluid.optimizer.Momentum(0.2, 0.9).minimize(loss)
        places = _places(gpu)
        exe = fluid.Executor(places[0])
        exe.run(startup)
        program = fluid.CompiledProgram(main).with_data_parallel(loss_name=loss.name, places=places)
        found = []
        if feeding == "dict":
            for a, b in _batches():
                found.append(exe.run(program, feed={"x": a, "y": b}, fetch_list=[loss])[0])
        elif feeding == "iterable":
            loader.set_batch_generator(_batches, places=places)
            found = [exe.run(program, feed=data, fetch_list=[loss])[0] for data in loader()]
        else:
            if feeding == "reader":
                loader.set_batch_generator(_batches)
            for _ in range(2):
                found += [out[0] for out in exe.epoch(program, fetch_list=[loss], reader=loader)]
        held: Any = fluid.global_scope().find_var("w1")
        return [np.array(value) for value in found], np.array(held.get_tensor())


@pytest.mark.parametrize("feeding", ["dict", "iterable", "reader", "file"])
def test_two_gpus_train_like_two_cpu_places(cupy: Any, feeding: str, tmp_path: Path) -> None:
    path = str(tmp_path / "a.recordio")
    with Writer(path) as writer:
        for a, b in _batches():
            writer.write_block([a, b])
    wanted, weights = _train(False, feeding, path)
    found, trained = _train(True, feeding, path)
    assert len(found) == len(wanted) > 0
    for a, b in zip(wanted, found):
        np.testing.assert_allclose(b, a, rtol=1e-5)
    np.testing.assert_allclose(trained, weights, rtol=1e-5)

"""The checks and measurements of `fluidio doctor --gpu`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio.cli.gpu_speed import repeats_bit_for_bit
from fluidio.executor.devices import backend_for
from fluidio.executor.readers import DevicePrefetch, Source
from fluidio.executor.readers.base import Tensors
from fluidio.tensor.array import Array
from fluidio.tensor.lod import NO_LOD
from fluidio.tensor.transfer import require_cupy
from fluidio.testing import fresh

__all__ = ["CHECKS", "describe", "measure"]


def describe(device: int) -> list[str]:
    """Return lines about CuPy, the driver and the card.

    Raises:
        DeviceError: there is no such card, or MissingDependencyError: there is no CuPy.
    """
    cupy = require_cupy(device)
    runtime = cupy.cuda.runtime
    with cupy.cuda.Device(device):
        card = runtime.getDeviceProperties(device)
        free, total = runtime.memGetInfo()
    name = card["name"].decode() if isinstance(card["name"], bytes) else card["name"]
    return [
        f"CuPy {cupy.__version__}, CUDA runtime {runtime.runtimeGetVersion()}, driver {runtime.driverGetVersion()}",
        f"GPU {device} of {runtime.getDeviceCount()}: {name}, compute capability {card['major']}.{card['minor']}, "
        f"{card['multiProcessorCount']} multiprocessors, {free / 2**30:.1f} of {total / 2**30:.1f} GiB free",
    ]


# -- checks -------------------------------------------------------------------------------------------------------


def _train(place: Any, make: Callable[[], Any]) -> list[float]:
    random = np.random.RandomState(0)
    with fresh() as (main, startup):
        main.random_seed = startup.random_seed = 1
        image = fluid.layers.data("image", [64])
        label = fluid.layers.data("label", [1], dtype="int64")
        prob = fluid.layers.fc(fluid.layers.fc(image, 32, act="relu"), 10, act="softmax")
        loss = fluid.layers.mean(fluid.layers.cross_entropy(prob, label))
        make().minimize(loss)
        exe = fluid.Executor(place)
        exe.run(startup)
        losses = []
        for _ in range(10):
            feed = {"image": random.rand(32, 64).astype("float32"), "label": random.randint(0, 10, (32, 1))}
            losses.append(float(exe.run(main, feed=feed, fetch_list=[loss])[0]))
        return losses


def _same_training(make: Callable[[], object]) -> Callable[[int], None]:
    def check(device: int) -> None:
        found, expected = _train(fluid.CUDAPlace(device), make), _train(fluid.CPUPlace(), make)
        np.testing.assert_allclose(found, expected, rtol=1e-3)

    return check


class _Arrays(Source):
    """Delivers `count` batches, taken in turn from a few arrays."""

    def __init__(self, arrays: list[Array], count: int) -> None:
        super().__init__("doctor")
        self._arrays = arrays
        self._count = count
        self._left = self._batches()

    def _batches(self) -> Iterator[Tensors]:
        for number in range(self._count):
            yield [(self._arrays[number % len(self._arrays)], NO_LOD)]

    def _next(self) -> Tensors | None:
        return next(self._left, None)


def _buffer(device: int, arrays: list[Array], count: int) -> DevicePrefetch:
    backend: Any = backend_for(fluid.CUDAPlace(device))
    return DevicePrefetch("doctor", _Arrays(arrays, count), backend.copy_stage())


def _ring_keeps_order(device: int) -> None:
    cupy = require_cupy(device)
    arrays = [np.full((1000, 64), number, "float32") for number in range(7)]
    buffer = _buffer(device, arrays, 100)
    results, kept = [], []
    with cupy.cuda.Device(device):
        try:
            while (item := buffer.read_next()) is not None:
                results.append((item[0][0] * 2).mean())
                if len(results) % 10 == 1:
                    kept.append(item[0][0][:1])
            assert [float(r) for r in results] == [2.0 * (n % 7) for n in range(100)], "batches came in a wrong order"
            assert [float(k[0, 0]) for k in kept] == [n % 7 for n in range(0, 100, 10)], "a kept batch was overwritten"
        finally:
            buffer.shutdown()


def _labels_are_checked(device: int) -> None:
    with fresh() as (main, startup):
        prob = fluid.layers.softmax(fluid.layers.data("x", [3]))
        loss = fluid.layers.cross_entropy(prob, fluid.layers.data("y", [1], dtype="int64"))
        exe = fluid.Executor(fluid.CUDAPlace(device))
        exe.run(startup)
        feed = {"x": np.zeros((2, 3), "float32"), "y": np.array([[1], [7]])}
        try:
            exe.run(main, feed=feed, fetch_list=[loss])
        except fluid.core.EnforceNotMet:
            return
        raise AssertionError("label 7 of 3 classes was accepted")


CHECKS: dict[str, Callable[[int], None]] = {
    "training with SGD gives the losses of the CPU": _same_training(lambda: fluid.optimizer.SGD(0.1)),
    "training with Momentum gives the losses of the CPU": _same_training(lambda: fluid.optimizer.Momentum(0.1, 0.9)),
    "training with Adam gives the losses of the CPU": _same_training(lambda: fluid.optimizer.Adam(0.01)),
    "batches read ahead arrive in order and stay whole": _ring_keeps_order,
    "labels out of range are reported": _labels_are_checked,
    "the same training gives the same bits": repeats_bit_for_bit,
}


# -- measurement --------------------------------------------------------------------------------------------------


def measure(device: int, megabytes: float, batches: int = 24) -> str:
    """Time copies alone, kernels alone and both together; return one line."""
    cupy = require_cupy(device)
    with cupy.cuda.Device(device):
        rows = max(1, int(megabytes * 2**20 / 4))
        arrays = [np.full(rows, n, "float32") for n in range(3)]
        work = cupy.ElementwiseKernel(
            "T x, int32 rounds",
            "T y",
            "T v = x; for (int r = 0; r < rounds; r++) v = v * T(0.999) + T(1); y = v",
            "fluidio_doctor_work",
        )
        batch, out = cupy.asarray(arrays[0]), cupy.empty(rows, "float32")
        copies = min(_timed(cupy, lambda: _read(device, arrays, batches, None)) for _ in range(2))
        rounds = _rounds_for(cupy, lambda n: work(batch, n, out), copies / batches)
        kernels = _timed(cupy, lambda: [work(batch, rounds, out) for _ in range(batches)])
        both = _timed(cupy, lambda: _read(device, arrays, batches, lambda x: work(x, rounds, out)))
    hidden = max(0.0, min(1.0, (copies + kernels - both) / min(copies, kernels)))
    speed = megabytes / 1024 * batches / copies
    return (
        f"overlap: {batches} batches of {megabytes:g} MB: copies alone {copies * 1e3:.0f} ms ({speed:.1f} GiB/s), "
        f"kernels alone {kernels * 1e3:.0f} ms, together {both * 1e3:.0f} ms: {hidden:.0%} of the shorter is hidden"
    )


def _read(device: int, arrays: list[Array], count: int, use: Callable[[Any], Any] | None) -> None:
    buffer = _buffer(device, arrays, count)
    try:
        while (item := buffer.read_next()) is not None:
            if use is not None:
                use(item[0][0])
    finally:
        buffer.shutdown()


def _timed(cupy: Any, run: Callable[[], Any]) -> float:
    cupy.cuda.runtime.deviceSynchronize()
    began = time.perf_counter()
    run()
    cupy.cuda.runtime.deviceSynchronize()
    return time.perf_counter() - began


def _rounds_for(cupy: object, run: Callable[[int], Any], seconds: float) -> int:
    """Return how many rounds make a kernel take about this long."""
    run(1)
    for rounds in (1 << n for n in range(20)):
        if _timed(cupy, partial(run, rounds)) >= seconds:
            return rounds
    return 1 << 20

"""Compare a card's training speed with the CPU's, and check that its results are bit-identical each time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio.testing import fresh

__all__ = ["compare_with_the_cpu", "repeats_bit_for_bit"]

_STEPS = 20
_BATCH = 128


def _mlp() -> Any:
    image = fluid.layers.data("image", [784])
    return fluid.layers.fc(fluid.layers.fc(image, 512, act="relu"), 512, act="relu")


def _convolutions() -> Any:
    image = fluid.layers.reshape(fluid.layers.data("image", [784]), [-1, 1, 28, 28])
    hidden = fluid.nets.simple_img_conv_pool(image, 20, 5, pool_size=2, pool_stride=2, act="relu")
    return fluid.nets.simple_img_conv_pool(hidden, 50, 5, pool_size=2, pool_stride=2, act="relu")


_NETWORKS: dict[str, Callable[[], Any]] = {"MLP": _mlp, "LeNet": _convolutions}


def _train(place: Any, network: Callable[[], Any], steps: int) -> tuple[list[float], float]:
    """Return the losses of some steps on synthetic images, and the seconds per step after the first ones."""
    random = np.random.RandomState(0)
    feed = {"image": random.rand(_BATCH, 784).astype("float32"), "label": random.randint(0, 10, (_BATCH, 1))}
    with fresh() as (main, startup):
        main.random_seed = startup.random_seed = 1
        label = fluid.layers.data("label", [1], dtype="int64")
        prob = fluid.layers.fc(network(), 10, act="softmax")
        loss = fluid.layers.mean(fluid.layers.cross_entropy(prob, label))
        fluid.optimizer.Adam(1e-3).minimize(loss)
        exe = fluid.Executor(place)
        exe.run(startup)
        for _ in range(3):
            exe.run(main, feed=feed, fetch_list=[loss])
        began = time.perf_counter()
        losses = [float(exe.run(main, feed=feed, fetch_list=[loss])[0]) for _ in range(steps)]
        return losses, (time.perf_counter() - began) / steps


def compare_with_the_cpu(device: int) -> list[str]:
    """Return a line for each network: milliseconds of a training step on the card and on the CPU."""
    lines = []
    for name, network in _NETWORKS.items():
        _, card = _train(fluid.CUDAPlace(device), network, _STEPS)
        _, host = _train(fluid.CPUPlace(), network, _STEPS)
        lines.append(
            f"speed: {name}, batch {_BATCH}, Adam: {card * 1e3:.2f} ms a step on the GPU, "
            f"{host * 1e3:.2f} ms on the CPU ({host / card:.1f} x)"
        )
    return lines


def repeats_bit_for_bit(device: int, rounds: int = 3) -> None:
    """Train the same dense network several times; a race between copies and kernels would show in the bits.

    Raises:
        AssertionError: two runs differ.
    """
    runs = [_train(fluid.CUDAPlace(device), _mlp, _STEPS)[0] for _ in range(rounds)]
    assert all(run == runs[0] for run in runs), f"the same training gave different losses: {runs}"

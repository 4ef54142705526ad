"""Small programs that run on any place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio.testing import fresh

BATCH, FEATURES, CLASSES = 8, 32, 10


def batches(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield feeds of random images and labels."""
    random = np.random.RandomState(seed)
    for _ in range(count):
        yield {
            "image": random.rand(BATCH, FEATURES).astype("float32"),
            "label": random.randint(0, CLASSES, (BATCH, 1)).astype("int64"),
        }


def mlp(optimizer: Any) -> Any:
    """Build two hidden layers, cross entropy and an optimizer; return the loss."""
    image = fluid.layers.data("image", [FEATURES])
    label = fluid.layers.data("label", [1], dtype="int64")
    hidden = fluid.layers.fc(fluid.layers.fc(image, 16, act="relu"), 16, act="relu")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(fluid.layers.fc(hidden, CLASSES, act="softmax"), label))
    optimizer.minimize(loss)
    return loss


def train(place: Any, make: Callable[[], Any], steps: int = 5, before_last: Callable[[], None] | None = None) -> Any:
    """Train the MLP and return its losses; `before_last` is called before the last step."""
    with fresh() as (main, startup):
        main.random_seed = startup.random_seed = 7
        loss = mlp(make())
        exe = fluid.Executor(place)
        exe.run(startup)
        losses = []
        for number, feed in enumerate(batches(steps)):
            if before_last and number == steps - 1:
                before_last()
            losses.append(float(exe.run(main, feed=feed, fetch_list=[loss])[0]))
        return losses

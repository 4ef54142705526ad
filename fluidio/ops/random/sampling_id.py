"""Draw a column for each row of probabilities."""

from __future__ import annotations

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.random import engine as random_engine
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_sampling(c: InferContext) -> None:
    c.set("Out", (c.shape("X")[0],), lod_level=0)  # Fluid: declared with the layer's dtype, filled with int64


@op("sampling_id", "X", "Out", {"min": 0.0, "max": 1.0, "seed": 0}, infer=_infer_sampling, grad=False, lod="none")
def sampling_id(k: Call, x: Array) -> Array:
    """Out = a random column for each row, drawn with the row's probabilities."""
    seed = k.attrs["seed"] or random_engine.os_seed()
    numbers = random_engine.uniform(seed, [x.shape[0]], k.attrs["min"], k.attrs["max"], x.dtype)
    below = np.cumsum(k.dev.download(x), axis=1) > numbers[:, None]
    columns = below.argmax(axis=1)
    columns[~below[np.arange(len(below)), columns]] = x.shape[1] - 1
    return k.dev.upload(columns.astype(np.int64))

"""shuffle_batch: shuffle the rows differently in every run."""

from __future__ import annotations

import math

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_MODULUS = 2147483647


def _infer(c: InferContext) -> None:
    c.same("Out", "X")
    c.set("ShuffleIdx", (-1,), "int64")
    c.set("SeedOut", c.shape("Seed") if c.has("Seed") else None, "int64")


def _order(count: int, seed: int) -> tuple[Array, int]:
    """Return 0 ... count-1 shuffled by C++'s default engine, and the next seed."""
    state = (seed & 0xFFFFFFFFFFFFFFFF) % _MODULUS or 1
    order = list(range(count))
    for i in range(1, count):
        scaling = (_MODULUS - 2) // (i + 1)
        while True:
            state = state * 16807 % _MODULUS
            if state - 1 < (i + 1) * scaling:
                break
        j = (state - 1) // scaling
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64), state * 16807 % _MODULUS


@op(
    "shuffle_batch",
    "X Seed?",
    "Out ShuffleIdx SeedOut",
    {"startup_seed": 0},
    infer=_infer,
    grad=True,
)
def shuffle_batch(k: Call, x: Array, seed: Array | None) -> tuple[Array, ...]:
    """Out = the rows of X in random order; ShuffleIdx = where each went; the seed advances with every run."""
    rows = math.prod(x.shape[:-1])
    given = k.attrs["startup_seed"] if seed is None or not seed.size else int(k.dev.download(seed).reshape(-1)[0])
    order, following = _order(rows, given)
    where = k.dev.upload(order)
    out = k.xp.empty((rows, x.shape[-1]), x.dtype)
    out[where] = x.reshape(rows, -1)
    return out.reshape(x.shape), where, k.dev.upload(np.array([following], np.int64))


@gradient("shuffle_batch", "ShuffleIdx Out@GRAD", "X@GRAD")
def shuffle_batch_grad(k: Call, where: Array, dout: Array) -> Array:
    return dout.reshape(where.shape[0], -1)[where].reshape(dout.shape)

"""Crop each instance at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.random import engine as random_engine
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_random_crop(c: InferContext) -> None:
    shape, wanted = c.shape("X"), c.attrs["shape"]
    c.check(len(wanted) <= len(shape), f"shape {wanted} has more dims than X {list(shape)}")
    kept = shape[: len(shape) - len(wanted)]
    for size, new in zip(shape[len(kept) :], wanted):
        c.check(size < 0 or new <= size, f"a crop of {wanted} does not fit into X {list(shape)}")
    c.set("Out", (*kept, *wanted), c.dtype("X"), 0)
    c.set("SeedOut", dtype=VarType.INT64)


@op(
    "random_crop",
    "X Seed?",
    "Out SeedOut",
    {"shape": [], "startup_seed": 0},
    infer=_infer_random_crop,
    grad=False,
    lod="none",
)
def random_crop(k: Call, x: Any, seed: Any) -> Any:
    """Out = a random piece of each instance; the seed advances with every run."""
    wanted = k.attrs["shape"]
    lead = x.ndim - len(wanted)
    count = int(np.prod(x.shape[:lead]))
    ranges = [size - new for size, new in zip(x.shape[lead:], wanted)]
    if any(r < 0 for r in ranges):
        raise EnforceNotMet(f"a crop of {list(wanted)} does not fit into X {list(x.shape)}")
    number = k.attrs["startup_seed"] if seed is None else int(k.dev.download(seed).reshape(-1)[0])
    offsets, following = _offsets(number, count, ranges)
    flat = x.reshape(count, *x.shape[lead:])
    out = k.xp.empty((count, *wanted), x.dtype)
    for i in range(count):
        out[i] = flat[(i, *(slice(o, o + w) for o, w in zip(offsets[i], wanted)))]
    return out.reshape(*x.shape[:lead], *wanted), k.dev.upload(np.array([following], np.int64))


_SPAN = 2147483645  # the engine's largest number minus its smallest
_MODULUS = _SPAN + 2


def _offsets(seed: int, count: int, ranges: list[int]) -> tuple[Array, int]:
    """Return one offset for each instance and dim, and the seed of the next run."""
    seed = (seed & 0xFFFFFFFFFFFFFFFF) % _MODULUS  # this op alone seeds its engine with 64 bits
    needed = count * len(ranges)
    states = random_engine.draws(seed, needed + 64)
    offsets = np.zeros((count, len(ranges)), np.int64)
    used = 0
    for i in range(count):
        for j, span in enumerate(ranges):
            scale = _SPAN // (span + 1)
            while True:
                if used >= states.size:
                    states = random_engine.draws(seed, 2 * states.size)
                number = int(states[used]) - 1
                used += 1
                if number < (span + 1) * scale:
                    break
            offsets[i, j] = number // scale
    if used >= states.size:
        states = random_engine.draws(seed, used + 1)
    return offsets, int(states[used])

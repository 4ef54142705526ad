"""Ops that draw random numbers while they run: dropout, random_crop, sampling_id."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.random import engine as random_engine
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext

__all__: list[str] = []


def _infer_dropout(c: InferContext) -> None:
    c.check(0 <= c.attrs["dropout_prob"] <= 1, f"dropout_prob is {c.attrs['dropout_prob']}, it must be in [0, 1]")
    c.same("Out", "X")
    if not c.attrs["is_test"]:
        c.set("Mask", c.shape("X"), VarType.UINT8, c.input("X").lod_level)


def _mask(k: Call, shape: tuple[int, ...], seed_tensor: Any) -> Any:
    """Return the mask of this run; a fixed seed gives the same one each time, so it is kept."""
    seed = k.attrs["seed"] if seed_tensor is None else int(k.dev.download(seed_tensor).reshape(-1)[0])
    fixed = seed != 0 if seed_tensor is not None else k.attrs["fix_seed"]
    key = ("mask", shape, seed)
    keeps = fixed and seed_tensor is None  # a seed that is drawn in each run would fill the memory
    if keeps and key in k.state:
        return k.state[key].copy()
    used = seed if fixed else random_engine.os_seed()
    drawn = random_engine.canonical(used, int(np.prod(shape)))
    mask = k.dev.upload((drawn >= np.float32(k.attrs["dropout_prob"])).astype(np.uint8).reshape(shape))
    if keeps:
        k.state[key] = mask.copy()
    return mask


@op(
    "dropout",
    "X Seed?",
    "Out Mask?",
    {
        "dropout_prob": 0.5,
        "is_test": False,
        "fix_seed": False,
        "seed": 0,
        "dropout_implementation": "downgrade_in_infer",
    },
    infer=_infer_dropout,
    grad=True,
)
def dropout(k: Call, x: Any, seed: Any) -> Any:
    """Out = X with random elements zeroed; Mask says which are kept.

    `downgrade_in_infer` multiplies by 1 - p at test time, `upscale_in_train` divides by it in training.
    """
    p = np.float32(k.attrs["dropout_prob"])
    upscale = k.attrs["dropout_implementation"] == "upscale_in_train"
    if k.attrs["is_test"]:
        return x[...] if upscale else x * x.dtype.type(np.float32(1) - p), None
    mask = _mask(k, x.shape, seed)
    if p == 1:
        return k.xp.zeros_like(x), k.xp.zeros_like(mask)
    return x / x.dtype.type(np.float32(1) - p) * mask if upscale else x * mask, mask


@gradient("dropout", "Mask Out@GRAD", "X@GRAD")
def dropout_grad(k: Call, mask: Any, dout: Any) -> Any:
    p = np.float32(k.attrs["dropout_prob"])
    upscale = k.attrs["dropout_implementation"] == "upscale_in_train"
    if k.attrs["is_test"] or mask is None:
        return dout[...] if upscale else dout * dout.dtype.type(np.float32(1) - p)
    if p == 1:
        return k.xp.zeros_like(dout)
    return dout * mask / dout.dtype.type(np.float32(1) - p) if upscale else dout * mask


def _infer_random_crop(c: InferContext) -> None:
    shape, wanted = c.shape("X"), c.attrs["shape"]
    c.check(len(wanted) <= len(shape), f"shape {wanted} has more dims than X {list(shape)}")
    kept = shape[: len(shape) - len(wanted)]
    for size, new in zip(shape[len(kept) :], wanted):
        c.check(size < 0 or new <= size, f"a crop of {wanted} does not fit into X {list(shape)}")
    c.set("Out", (*kept, *wanted), c.dtype("X"), 0)
    c.set("SeedOut", (1,), VarType.INT64)


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
    """Out = a random piece of each instance; the seed moves on with every run."""
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


def _offsets(seed: int, count: int, ranges: list[int]) -> tuple[Any, int]:
    """Return one offset for each instance and dim, and the seed of the next run."""
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


def _infer_sampling(c: InferContext) -> None:
    c.set("Out", (c.shape("X")[0],), VarType.INT64, 0)


@op("sampling_id", "X", "Out", {"min": 0.0, "max": 1.0, "seed": 0}, infer=_infer_sampling, grad=False, lod="none")
def sampling_id(k: Call, x: Any) -> Any:
    """Out = for each row of probabilities a random column, drawn by them."""
    seed = k.attrs["seed"] or random_engine.os_seed()
    numbers = random_engine.uniform(seed, [x.shape[0]], k.attrs["min"], k.attrs["max"], x.dtype)
    left = numbers[:, None] - np.cumsum(k.dev.download(x), axis=1)
    below = left < 0
    columns = np.where(below.any(axis=1), below.argmax(axis=1), x.shape[1] - 1)
    return k.dev.upload(columns.astype(np.int64))

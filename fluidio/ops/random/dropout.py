"""Dropout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.ops.compiled import elements
from fluidio.ops.kernel import Call
from fluidio.ops.random import engine as random_engine
from fluidio.ops.registry import gradient, op
from fluidio.ops.row_blocks import in_blocks
from fluidio.ops.threads import share
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_WORTH_A_THREAD = 1 << 16
"""Numbers below which another thread costs more than it saves."""


def _infer_dropout(c: InferContext) -> None:
    c.check(0 <= c.attrs["dropout_prob"] <= 1, f"dropout_prob must lie in 0 ... 1, got {c.attrs['dropout_prob']}")
    way = c.attrs["dropout_implementation"]
    c.check(
        way in ("downgrade_in_infer", "upscale_in_train"),
        f"dropout_implementation must be 'downgrade_in_infer' or 'upscale_in_train', got {way!r}",
    )
    c.same("Out", "X")
    if not c.attrs["is_test"]:
        c.set("Mask", c.shape("X"), VarType.UINT8, c.input("X").lod_level)


def _mask(k: Call, shape: tuple[int, ...], seed_tensor: Array | None) -> Array:
    """Return the mask of this run; that of a fixed seed is always the same, so it is stored."""
    seed = k.attrs["seed"] if seed_tensor is None else int(k.dev.download(seed_tensor).reshape(-1)[0])
    fixed = seed != 0 if seed_tensor is not None else k.attrs["fix_seed"]
    key = ("mask", shape, seed)
    keeps = fixed and seed_tensor is None  # one for each newly drawn seed would fill the memory
    if keeps and key in k.state:
        return k.state[key].copy()
    used = seed if fixed else random_engine.os_seed()
    kept, probability = np.empty(math.prod(shape), np.bool_), np.float32(k.attrs["dropout_prob"])

    def part(begin: int, end: int) -> None:
        np.greater_equal(random_engine.canonical(used, end - begin, skip=begin), probability, out=kept[begin:end])

    share(kept.size, _WORTH_A_THREAD, part)
    mask = k.dev.upload(kept.view(np.uint8).reshape(shape))
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
    return _kept(k, x, mask, upscale, True), mask


def _kept(k: Call, x: Array, mask: Array, upscale: bool, first: bool) -> Array:
    """Return X times the mask; to upscale, divided by the share that is kept, before that (`first`) or after."""
    if x.size >= elements.LARGE and elements.fits(x) and _is_like(mask, x):
        return elements.keep(x, mask, 1 - np.float32(k.attrs["dropout_prob"]) if upscale else None, first)
    if not upscale:
        return _masked(k, x, mask)
    return _raised(k, x, mask) if first else _raised_after(k, x, mask)


def _is_like(mask: Array, x: Array) -> bool:
    return type(mask) is np.ndarray and mask.dtype == np.uint8 and mask.shape == x.shape and mask.flags.c_contiguous


@in_blocks
def _raised(k: Call, x: Array, mask: Array) -> Array:
    return x / x.dtype.type(np.float32(1) - np.float32(k.attrs["dropout_prob"])) * mask


@in_blocks
def _raised_after(k: Call, x: Array, mask: Array) -> Array:
    return x * mask / x.dtype.type(np.float32(1) - np.float32(k.attrs["dropout_prob"]))


@in_blocks
def _masked(k: Call, x: Array, mask: Array) -> Array:
    return x * mask


@gradient("dropout", "Mask Out@GRAD", "X@GRAD")
def dropout_grad(k: Call, mask: Array | None, dout: Array) -> Array:
    p = np.float32(k.attrs["dropout_prob"])
    upscale = k.attrs["dropout_implementation"] == "upscale_in_train"
    if k.attrs["is_test"] or mask is None:
        return dout[...] if upscale else dout * dout.dtype.type(np.float32(1) - p)
    if p == 1:
        return k.xp.zeros_like(dout)
    return _kept(k, dout, mask, upscale, False)

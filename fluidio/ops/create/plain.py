"""Small ops without layers: fill, fill_zeros_like2, seed, get_places and split_byref."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from fluidio.dtypes import VarType, to_numpy
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.random.engine import os_seed
from fluidio.ops.registry import op
from fluidio.places import CPUPlace
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_fill(c: InferContext) -> None:
    c.set("Out", c.attrs["shape"], c.attrs["dtype"])


@op(
    "fill",
    "",
    "Out",
    {"value": [], "shape": [], "dtype": VarType.FP32, "force_cpu": False},
    infer=_infer_fill,
    grad=False,
    lod="none",
)
def fill(k: Call) -> Array:
    """Out = the given values in the given shape."""
    return k.dev.upload(np.array(k.attrs["value"], to_numpy(k.attrs["dtype"])).reshape(k.attrs["shape"]))


def _infer_zeros(c: InferContext) -> None:
    c.same("Out", "X")
    c.set("Out", c.shape("X"), c.attrs["dtype"])


@op("fill_zeros_like2", "X", "Out", {"dtype": VarType.FP32}, infer=_infer_zeros, grad=False)
def fill_zeros_like2(k: Call, x: Array) -> Array:
    """Out = zeros in the shape of X and the dtype of the attribute."""
    return k.xp.zeros_like(x, dtype=to_numpy(k.attrs["dtype"]))


def _infer_seed(c: InferContext) -> None:
    c.set("Out", (1,), VarType.INT32)


@op("seed", "", "Out", {"seed": 0}, infer=_infer_seed, grad=False, lod="none")
def seed(k: Call) -> Array:
    """Out = the seed, or for 0 one from the operating system."""
    number = k.attrs["seed"] or os_seed() >> 1
    return k.dev.upload(np.array([number], np.int32))


def _infer_split(c: InferContext) -> None:
    shape, outs = c.shape("X"), c.op.output("Out")
    sections = c.attrs["sections"] or [0] * len(outs)  # Fluid: known only at run time
    for index, rows in enumerate(sections):
        c.set("Out", (rows, *shape[1:]), c.dtype("X"), 0, index)


@op("split_byref", "X", "Out*", {"num": 0, "sections": []}, infer=_infer_split, grad=False, lod="none")
def split_byref(k: Call, x: Array) -> KernelResult:
    """Out = X split into groups of rows."""
    count = len(k.op.output("Out"))
    sections = k.attrs["sections"] or [x.shape[0] // count] * count
    return [part.copy() for part in k.xp.split(x, np.cumsum(sections)[:-1].tolist())]


def _infer_places(c: InferContext) -> None:
    c.set("Out", type=VarType.PLACE_LIST)


@op(
    "get_places",
    "",
    "Out",
    {"device_count": 0, "device_type": "AUTO"},
    infer=_infer_places,
    grad=False,
    raw=True,
)
def get_places(k: Call, f: Any) -> None:
    """Out = a list of places: as many CPUs as requested, or as the machine has."""
    count = k.attrs["device_count"] or os.cpu_count() or 1
    f.values[k.outs["Out"][0]] = [CPUPlace() for _ in range(count)]

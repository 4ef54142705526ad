"""Ops that create patterns: range, linspace, eye, diag; and random numbers with the batch size of an input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fluidio.dtypes import VarType, to_numpy
from fluidio.errors import EnforceNotMet
from fluidio.ops.create.fill import infer_like_input, set_diagonal, shape_like_input
from fluidio.ops.kernel import Call
from fluidio.ops.random import engine as random_engine
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _scalar(k: Call, tensor: Array) -> Array:
    return k.dev.download(tensor).reshape(-1)[0]


def _infer_range(c: InferContext) -> None:
    c.set("Out", (-1,), c.dtype("Start"), 0)


@op("range", "Start End Step", "Out", infer=_infer_range, grad=False, lod="none")
def range_(k: Call, start: Array, end: Array, step: Array) -> Array:
    """Out = start, start + step, ... up to but not including end."""
    a, b, s = (_scalar(k, t) for t in (start, end, step))
    if s == 0 or (b - a) * s < 0:
        raise EnforceNotMet(f"a range from {a} to {b} cannot have the step {s}")
    count = -(-(b - a) // s) if a.dtype.kind in "iu" else math.ceil(abs((b - a) / s))
    # Like the original, which adds the step repeatedly.
    steps = np.full(int(count), s, a.dtype)
    if steps.size:
        steps[0] = a
    return k.dev.upload(np.cumsum(steps, dtype=a.dtype))


@op("linspace", "Start Stop Num", "Out", infer=_infer_range, grad=False, lod="none")
def linspace(k: Call, start: Array, stop: Array, num: Array) -> Array:
    """Out = num evenly spaced numbers from start to stop, both included."""
    a, b, count = _scalar(k, start), _scalar(k, stop), int(_scalar(k, num))
    if count < 1:
        raise EnforceNotMet(f"Num must be above 0, got {count}")
    step = (b - a) / (count - 1) if count > 1 else a.dtype.type(0)
    return k.dev.upload((a + step * np.arange(count, dtype=a.dtype)).astype(a.dtype))


def _infer_eye(c: InferContext) -> None:
    rows, columns = c.attrs["num_rows"], c.attrs["num_columns"]
    c.set("Out", (rows, rows if columns < 0 else columns), c.attrs["dtype"], 0)


@op(
    "eye",
    "",
    "Out",
    {"num_rows": 0, "num_columns": -1, "dtype": VarType.FP32},
    infer=_infer_eye,
    grad=False,
    lod="none",
)
def eye(k: Call) -> Array:
    """Out = ones on the diagonal, zeros elsewhere."""
    rows, columns = k.attrs["num_rows"], k.attrs["num_columns"]
    return k.xp.eye(rows, rows if columns < 0 else columns, dtype=to_numpy(k.attrs["dtype"]))


def _infer_diag(c: InferContext) -> None:
    shape = c.shape("Diagonal")
    c.check(len(shape) == 1, f"Diagonal must have one dim, it has shape {list(shape)}")
    c.set("Out", (shape[0], shape[0]), c.dtype("Diagonal"), 0)


@op("diag", "Diagonal", "Out", infer=_infer_diag, grad=False, lod="none")
def diag(k: Call, diagonal: Array) -> Array:
    """Out = a matrix with the given diagonal."""
    return k.xp.diag(diagonal)


_LIKE: dict[str, Any] = {"shape": [], "dtype": VarType.FP32, "input_dim_idx": 0, "output_dim_idx": 0, "seed": 0}


@op(
    "uniform_random_batch_size_like",
    "Input",
    "Out",
    {**_LIKE, "min": -1.0, "max": 1.0, "diag_num": 0, "diag_step": 0, "diag_val": 1.0},
    infer=infer_like_input,
    grad=False,
    lod="kernel",
)
def uniform_random_batch_size_like(k: Call, x: Array) -> Array:
    """Out = uniform random numbers in [min, max], with as many rows as Input; diag_val as in uniform_random."""
    a = k.attrs
    seed = a["seed"] or random_engine.os_seed()
    shape = shape_like_input(k, x, by_sequence=False)
    drawn = random_engine.uniform(seed, shape, a["min"], a["max"], to_numpy(a["dtype"]))
    set_diagonal(drawn, a)
    return k.dev.upload(drawn)


@op(
    "gaussian_random_batch_size_like",
    "Input",
    "Out",
    {**_LIKE, "mean": 0.0, "std": 1.0},
    infer=infer_like_input,
    grad=False,
    lod="kernel",
)
def gaussian_random_batch_size_like(k: Call, x: Array) -> Array:
    """Out = normal random numbers, with as many rows as Input."""
    a = k.attrs
    seed = a["seed"] or random_engine.os_seed()
    drawn = random_engine.normal(
        seed, shape_like_input(k, x, by_sequence=False), a["mean"], a["std"], to_numpy(a["dtype"])
    )
    return k.dev.upload(drawn)

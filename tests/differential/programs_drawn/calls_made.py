"""Calls of layers that make tensors: constants, random numbers, facts about others."""

from __future__ import annotations

import numpy as np

from tests.differential.programs_drawn.calls import CallDraw, call

__all__: list[str] = []


@call("shape", "size", "rank", "is_empty", "isfinite", "has_inf", "has_nan", "ones_like", "zeros_like", grad=False)
def facts(c: CallDraw) -> None:
    c.out(c.f(*c.shape()))


@call("ones", "zeros", "fill_constant", "full", "eye", "linspace", "range", "arange", "diag", "assign", grad=False)
def made(c: CallDraw) -> None:
    dtype = c.pick("float32", "int64", "float64", "int32")
    if c.name in ("ones", "zeros"):
        c.out(c.shape(), dtype)
    elif c.name == "fill_constant":
        c.out([c.number(n) for n in c.shape()], dtype, c.pick(2, 1.5))
    elif c.name == "full":
        c.out(c.shape(), 2.0, **c.some(dtype=["float32", "int64"]))
    elif c.name == "eye":
        c.out(3, **c.some(num_columns=[4], batch_shape=[[2]], dtype=["int64"]))
    elif c.name == "linspace":
        c.out(0, 5, c.number(4), c.pick("float32", "float64"))
    elif c.name in ("range", "arange"):
        c.out(0, 7, 2, dtype)
    elif c.name == "diag":
        c.out(c.put(np.arange(3).astype(dtype), fixed=True))
    else:
        c.out({"array": {"dtype": "float32", "shape": [2], "data": [1.0, 2.0]}})


@call("full_like", grad=False)
def full_like(c: CallDraw) -> None:
    c.out(c.f(*c.shape()), 2.0, **c.some(dtype=["float32", "int64"]))


@call(
    "gaussian_random", "uniform_random", "randint", "randn", "randperm", "gaussian_random_batch_size_like",
    "uniform_random_batch_size_like", "random_crop", "sampling_id", grad=False,
)  # fmt: skip
def random_numbers(c: CallDraw) -> None:
    seed = c.size(1, 99)
    if c.name == "gaussian_random":
        c.out(c.shape(), **c.some(mean=[1.0], std=[2.0], dtype=["float64"]), seed=seed)
    elif c.name == "uniform_random":
        c.out(c.shape(), **c.some(min=[0.0], max=[2.0], dtype=["float64"]), seed=seed)
    elif c.name == "randint":
        c.out(0, 9, [2, 3], seed=seed)
    elif c.name == "randn":
        c.out([2, 3])
        c.values_only = True
        c.fetched.clear()  # its seed is drawn when the layer is called
    elif c.name == "randperm":
        c.out(6, seed=seed)
    elif c.name == "gaussian_random_batch_size_like":
        c.out(c.f(3, 2), [-1, 4], **c.some(mean=[1.0], std=[2.0]), seed=seed)
    elif c.name == "uniform_random_batch_size_like":
        c.out(c.f(3, 2), [-1, 4], **c.some(min=[0.0], max=[2.0], dtype=["float64"]), seed=seed)
    elif c.name == "random_crop":
        c.out(c.f(2, 4, 4), [2, 2], seed=seed)
    else:
        c.out(c.f(2, 3, low=0.1, high=0.3), seed=seed)

"""Ops that create tensors: constants, initial values, copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import VarType, to_numpy
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.random import engine as random_engine
from fluidio.ops.registry import op, passed_on, same_as
from fluidio.program.infer import InferContext
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array

__all__: list[str] = []


def _declared(c: InferContext) -> None:
    """The shape is the attribute's; the dtype stays the variable's, as in 1.8.5."""
    shape = c.attrs["shape"]
    if not shape and c.has("ShapeTensor"):
        shape = [-1] * (*c.shape("ShapeTensor"), 1)[0]
    c.set("Out", shape)


def _infer_fill_constant(c: InferContext) -> None:
    shape = list(c.attrs["shape"])
    if c.has("ShapeTensor") and not shape:
        shape = [-1] * max(c.shape("ShapeTensor")[0], 0)
    elif not c.has("ShapeTensor") and not c.has("ShapeTensorList"):
        c.check(min(shape, default=0) >= 0, f"shape {shape} must not contain negative sizes")
    c.set("Out", shape, c.attrs["dtype"])


@op(
    "fill_constant",
    "ShapeTensor? ShapeTensorList*? ValueTensor?",
    "Out",
    {"shape": [], "dtype": VarType.FP32, "value": 0.0, "str_value": "", "force_cpu": False},
    infer=_infer_fill_constant,
    grad=False,
    lod="none",
)
def fill_constant(k: Call, shape_tensor: Any, shape_list: list[Any], value_tensor: Any) -> Any:
    """Out = value everywhere."""
    shape = k.attrs["shape"]
    if shape_tensor is not None:
        shape = [int(d) for d in k.dev.download(shape_tensor)]
    elif shape_list:
        shape = [int(k.dev.download(d).reshape(-1)[0]) for d in shape_list]
    value = constant(k) if value_tensor is None else value_tensor.reshape(-1)[0]
    return k.xp.full(shape, value, to_numpy(k.attrs["dtype"]))


def constant(k: Call) -> float:
    """Return the fill value: the text in `str_value`, which can hold any number, takes precedence over `value`."""
    text = k.attrs["str_value"]
    if text.lstrip("-").isdigit():
        return int(text)  # a float cannot hold all 64-bit integers
    return float(text) if text else k.attrs["value"]


def infer_like_input(c: InferContext) -> None:
    shape = list(c.attrs["shape"])
    shape[c.attrs["output_dim_idx"]] = c.shape("Input")[c.attrs["input_dim_idx"]]
    c.set("Out", shape, c.attrs["dtype"])


def shape_like_input(k: Call, x: Array, by_sequence: bool = True) -> list[int]:
    """Return attr `shape` with the batch dimension of `x`; for constants rows are sequences when the input has LoD."""
    shape = list(k.attrs["shape"])
    axis = k.attrs["input_dim_idx"]
    lod = k.lod("Input") if by_sequence else None
    shape[k.attrs["output_dim_idx"]] = lod[-1].size - 1 if lod and axis == 0 else x.shape[axis]
    return shape


@op(
    "fill_constant_batch_size_like",
    "Input",
    "Out",
    {
        "shape": [],
        "dtype": VarType.FP32,
        "value": 0.0,
        "str_value": "",
        "input_dim_idx": 0,
        "output_dim_idx": 0,
        "force_cpu": False,
    },
    infer=infer_like_input,
    grad=False,
    lod="kernel",
)
def fill_constant_batch_size_like(k: Call, x: Any) -> Any:
    """Out = value everywhere, with as many rows as Input."""
    return k.xp.full(shape_like_input(k, x), constant(k), to_numpy(k.attrs["dtype"]))


@op("fill_zeros_like", "X", "Out", infer=same_as("X"), grad=False)
def fill_zeros_like(k: Call, x: Array) -> Array:
    """Out = zeros of X's shape."""
    return k.xp.zeros_like(x)


def _any_like(c: InferContext) -> None:
    dtype = c.dtype("X") if c.attrs["dtype"] < 0 else c.attrs["dtype"]
    c.set("Out", c.shape("X"), dtype, c.input("X").lod_level)


@op("fill_any_like", "X", "Out", {"value": 0.0, "dtype": -1}, infer=_any_like, grad=False)
def fill_any_like(k: Call, x: Array) -> Array:
    """Out = value everywhere, in X's shape."""
    dtype = np.dtype(x.dtype if k.attrs["dtype"] < 0 else to_numpy(k.attrs["dtype"]))
    value = k.attrs["value"]
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        raise EnforceNotMet(f"fill_any_like: the value {value} does not fit {dtype}")
    return k.xp.full(x.shape, value, dtype)


@op(
    "assign_value",
    "",
    "Out",
    {"shape": [], "dtype": VarType.FP32, "fp32_values": [], "int32_values": [], "int64_values": [], "bool_values": []},
    infer=_declared,
    grad=False,
    lod="none",
)
def assign_value(k: Call) -> Array:
    """Out = the values in the attribute of its dtype."""
    dtype = to_numpy(k.attrs["dtype"])
    values: Any = next(
        (k.attrs[n] for n in ("fp32_values", "int32_values", "int64_values", "bool_values") if len(k.attrs[n])), []
    )
    return k.dev.upload(np.array(values, dtype).reshape(k.attrs["shape"]))


@op("assign", "X", "Out", infer=same_as("X"), grad=passed_on)
def assign(k: Call, x: Any) -> Any:
    """Out = a copy of X: a tensor, or sparse rows."""
    return SelectedRows(x.index, x.height(), x.value.copy()) if isinstance(x, SelectedRows) else x.copy()


def _declared_random(c: InferContext) -> None:
    listed = len(c.inputs("ShapeTensorList")) if c.has("ShapeTensorList") else 0
    if c.has("ShapeTensor") and not c.attrs["shape"]:
        listed = (*c.shape("ShapeTensor"), 1)[0]
    c.set("Out", [-1] * listed or c.attrs["shape"], c.attrs["dtype"])


@op(
    "uniform_random",
    "ShapeTensor? ShapeTensorList*?",
    "Out",
    {
        "shape": [],
        "dtype": VarType.FP32,
        "min": -1.0,
        "max": 1.0,
        "seed": 0,
        "diag_num": 0,
        "diag_step": 0,
        "diag_val": 1.0,
    },
    infer=_declared_random,
    grad=False,
    lod="none",
)
def uniform_random(k: Call, shape_tensor: Array | None, shape_list: list[Array]) -> Array:
    """Out = uniform random numbers in [min, max]; seed 0 takes one from the system in each run.

    `diag_num` elements, the first and then one every diag_step + 1, are diag_val instead.
    """
    a = k.attrs
    shape = [int(d) for d in k.dev.download(shape_tensor)] if shape_tensor is not None else a["shape"]
    if shape_list:
        shape = [int(k.dev.download(d).reshape(-1)[0]) for d in shape_list]
    seed = a["seed"] or random_engine.os_seed()
    values = random_engine.uniform(seed, shape, a["min"], a["max"], to_numpy(a["dtype"]))
    set_diagonal(values, a)
    return k.dev.upload(values)


def set_diagonal(values: Array, a: dict[str, Any]) -> None:
    """Set `diag_num` elements, the first and then one every diag_step + 1, to diag_val."""
    places = np.arange(a["diag_num"]) * (a["diag_step"] + 1)
    if places.size and places[-1] >= values.size:
        raise EnforceNotMet(
            f"diag_num {a['diag_num']} with diag_step {a['diag_step']} reaches outside of a tensor of shape "
            f"{list(values.shape)}"
        )
    values.reshape(-1)[places] = a["diag_val"]


def _given_shape(k: Call, shape_tensor: Array | None, shape_list: list[Array]) -> list[int]:
    """Return the shape held by a tensor or a list of numbers, else the attribute."""
    if shape_tensor is not None:
        return [int(d) for d in k.dev.download(shape_tensor)]
    if shape_list:
        return [int(k.dev.download(d).reshape(-1)[0]) for d in shape_list]
    shape: list[int] = k.attrs["shape"]
    return shape


@op(
    "gaussian_random",
    "ShapeTensor? ShapeTensorList*?",
    "Out",
    {"shape": [], "dtype": VarType.FP32, "mean": 0.0, "std": 1.0, "seed": 0},
    infer=_declared,
    grad=False,
    lod="none",
)
def gaussian_random(k: Call, shape_tensor: Array, shape_list: list[Array]) -> Array:
    """Out = normal random numbers."""
    a = k.attrs
    seed = a["seed"] or random_engine.os_seed()
    shape = _given_shape(k, shape_tensor, shape_list)
    return k.dev.upload(random_engine.normal(seed, shape, a["mean"], a["std"], to_numpy(a["dtype"])))


@op(
    "truncated_gaussian_random",
    "",
    "Out",
    {"shape": [], "dtype": VarType.FP32, "mean": 0.0, "std": 1.0, "seed": 0},
    infer=_declared,
    grad=False,
    lod="none",
)
def truncated_gaussian_random(k: Call) -> Array:
    """Out = normal random numbers within two standard deviations."""
    a = k.attrs
    seed = a["seed"] or random_engine.os_seed()
    return k.dev.upload(random_engine.truncated_normal(seed, a["shape"], a["mean"], a["std"]))

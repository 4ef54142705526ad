"""Layers that fill tensors or draw numbers: full, randint, randn, randperm."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import DTypeLike, to_vartype
from fluidio.layer_helper import LayerHelper
from fluidio.layers._create.tensors import fill_constant
from fluidio.layers._random.draws import shape_arguments
from fluidio.layers.arguments import check_variable, dims_as_variables, has_variables, plain_dims
from fluidio.program import Variable
from fluidio.program.arguments import ShapeLike

__all__ = ["full", "full_like", "randint", "randn", "randperm"]


def _check_device(layer: str, device: str | None) -> None:
    if device not in (None, "cpu", "gpu"):
        raise ValueError(f"{layer}: device must be 'cpu', 'gpu' or None, got {device!r}")


def full(
    shape: object,
    fill_value: float | str | Variable,
    out: Variable | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    stop_gradient: bool = True,
    name: str | None = None,
) -> Variable:
    """A tensor filled with one value; float32 unless dtype says otherwise."""
    _check_device("full", device)
    helper = LayerHelper("full", name=name)
    kind = "float32" if dtype is None else dtype
    if out is None:
        out = helper.create_variable_for_type_inference(kind)
    out.stop_gradient = stop_gradient
    return fill_constant(shape, kind, float(fill_value) if isinstance(fill_value, bool) else fill_value, out=out)


def full_like(
    input: Variable,
    fill_value: float,
    out: Variable | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    stop_gradient: bool = True,
    name: str | None = None,
) -> Variable:
    """A tensor like the input, filled with one value; its dtype, too, unless dtype says otherwise."""
    _check_device("full_like", device)
    helper = LayerHelper("full_like", name=name)
    like = check_variable("full_like", "input", input)
    kind = like.dtype if dtype is None else to_vartype(dtype)
    if out is None:
        out = helper.create_variable_for_type_inference(kind)
    inputs = {"X": [like]}
    attrs = {"value": fill_value, "dtype": kind}
    helper.append_op(type="fill_any_like", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    out.stop_gradient = stop_gradient
    return out


def randint(
    low: int,
    high: int | None = None,
    shape: Any = None,
    out: Variable | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    stop_gradient: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> Variable:
    """Random integers in [low, high), or in [0, low) with one bound; with seed 0, different in every run."""
    _check_device("randint", device)
    if shape is None:
        shape = [1]
    kind = to_vartype("int64" if dtype is None else dtype)
    if high is None:
        low, high = 0, low
    if low >= high:
        raise ValueError(f"randint: low ({low}) must be below high ({high})")
    helper = LayerHelper("randint", name=name)
    inputs: dict[str, Any] = {}
    attrs: dict[str, Any] = {"low": low, "high": high, "dtype": kind, "seed": seed}
    if isinstance(shape, Variable):
        inputs["ShapeTensor"] = [shape]
    elif has_variables(shape):
        inputs["ShapeTensorList"] = dims_as_variables(helper, shape, "int64")
    else:
        attrs["shape"] = plain_dims(shape)
    if out is None and name is None:
        out = helper.create_variable_for_type_inference(kind)
    elif out is None:
        out = helper.create_variable(name=name, dtype=kind, persistable=False)
    helper.append_op(type="randint", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    out.stop_gradient = stop_gradient
    return out


def randn(
    shape: ShapeLike,
    out: Variable | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    stop_gradient: bool = True,
    name: str | None = None,
) -> Variable:
    """Standard normal random numbers. As in Fluid, NumPy draws the seed when the layer is built."""
    _check_device("randn", device)
    kind = to_vartype("float32" if dtype is None else dtype)
    helper = LayerHelper("randn", name=name)
    inputs: dict[str, Any] = {}
    attrs: dict[str, Any] = {"mean": 0.0, "std": 1.0, "seed": int(np.random.randint(0, 100)), "dtype": kind}
    shape_arguments(helper, shape, inputs, attrs)
    if out is None:
        out = helper.create_variable_for_type_inference(kind)
    helper.append_op(type="gaussian_random", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    out.stop_gradient = stop_gradient
    return out


def randperm(
    n: int,
    out: Variable | None = None,
    dtype: DTypeLike = "int64",
    device: str | None = None,
    stop_gradient: bool = True,
    seed: int = 0,
) -> Variable:
    """0 ... n-1 in random order; with seed 0, a different one in every run."""
    _check_device("randperm", device)
    if n < 1:
        raise ValueError(f"randperm: n must be at least 1, got {n}")
    kind = to_vartype(dtype)
    if kind.name not in ("INT32", "INT64"):
        raise TypeError(f"randperm: dtype must be int32 or int64, got {kind.name}")
    helper = LayerHelper("randperm")
    if out is None:
        out = helper.create_variable_for_type_inference(kind)
    attrs = {"n": n, "dtype": kind, "seed": seed}
    helper.append_op(type="randperm", inputs={}, outputs={"Out": [out]}, attrs=attrs)
    out.stop_gradient = stop_gradient
    return out

"""Layers that draw random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import DTypeLike, VarType, to_vartype
from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import (
    as_int32,
    as_list,
    check_variable,
    dims_as_int32,
    dims_as_variables,
    has_variables,
    plain_dims,
    warn_like_fluid,
)
from fluidio.program import Variable, unique_name
from fluidio.program.arguments import ShapeLike

__all__ = [
    "dropout",
    "gaussian_random",
    "gaussian_random_batch_size_like",
    "random_crop",
    "sampling_id",
    "uniform_random",
    "uniform_random_batch_size_like",
]


def dropout(
    x: Variable,
    dropout_prob: float,
    is_test: bool = False,
    seed: int | None = None,
    name: str | None = None,
    dropout_implementation: str = "downgrade_in_infer",
) -> Variable:
    """Zero elements with probability dropout_prob in training.

    Args:
        seed: fixes one mask for all steps; so does the program's random_seed. Without either, each step draws one.
        dropout_implementation: "downgrade_in_infer" multiplies by 1 - p at test time, "upscale_in_train" divides
            by it in training.
    """
    check_variable("dropout", "x", x)
    helper = LayerHelper("dropout", name=name)
    if (seed is None or seed == 0) and helper.main_program.random_seed != 0:
        seed = helper.main_program.random_seed
    out = helper.create_variable_for_type_inference(x.dtype)
    mask = helper.create_variable_for_type_inference("uint8", stop_gradient=True)
    helper.append_op(
        type="dropout",
        inputs={"X": [x]},
        outputs={"Out": [out], "Mask": [mask]},
        attrs={
            "dropout_prob": dropout_prob,
            "is_test": is_test,
            "fix_seed": seed is not None,
            "seed": 0 if seed is None else seed,
            "dropout_implementation": dropout_implementation,
        },
    )
    return out


def random_crop(x: Variable, shape: Any, seed: Any = None) -> Variable:
    """Cut a random piece out of each instance; `shape` gives its last dims. The seed advances with every run.

    As in Fluid, NumPy draws a seed when the layer is built unless one is given.
    """
    helper = LayerHelper("random_crop")
    if seed is None:
        seed = int(np.random.randint(-65536, 65536))
    attrs: dict[str, Any] = {"shape": plain_dims(shape)}
    if isinstance(seed, int):
        attrs["startup_seed"] = seed
        seed_variable = helper.create_variable(
            name=unique_name.generate("random_crop_seed"), dtype="int64", persistable=True
        )
    elif isinstance(seed, Variable):
        seed_variable = seed
    else:
        raise ValueError(f"random_crop: seed must be an int or a Variable, got {type(seed).__name__}")
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(
        type="random_crop",
        inputs={"X": [x], "Seed": [seed_variable]},
        outputs={"Out": [out], "SeedOut": [seed_variable]},
        attrs=attrs,
    )
    return out


def shape_arguments(
    helper: LayerHelper, shape: ShapeLike, inputs: dict[str, Any], attrs: dict[str, Any], dtype: str = "int32"
) -> None:
    if isinstance(shape, Variable):
        shape.stop_gradient = True
        inputs["ShapeTensor"] = [shape]
        return
    attrs["shape"] = plain_dims(shape)
    if has_variables(shape):
        inputs["ShapeTensorList"] = dims_as_variables(helper, shape, dtype)


def uniform_random(
    shape: ShapeLike, dtype: DTypeLike = "float32", min: float = -1.0, max: float = 1.0, seed: int = 0
) -> Variable:
    """Uniform random numbers in [min, max); with seed 0, different in every run.

    Fluid: they are float32 whatever dtype says; `cast` converts them.
    """
    helper = LayerHelper("uniform_random")
    inputs: dict[str, Any] = {}
    attrs: dict[str, Any] = {"min": min, "max": max, "seed": seed}
    if to_vartype(dtype) is not VarType.FP32:
        warn_like_fluid(
            "uniform_random", "the numbers are float32 whatever dtype says; use layers.cast to convert them"
        )
    shape_arguments(helper, shape, inputs, attrs, "int64")
    out = helper.create_variable_for_type_inference(dtype)
    helper.append_op(type="uniform_random", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def gaussian_random(
    shape: ShapeLike, mean: float = 0.0, std: float = 1.0, seed: int = 0, dtype: DTypeLike = "float32"
) -> Variable:
    """Normal random numbers; with seed 0, different in every run."""
    helper = LayerHelper("gaussian_random")
    attrs: dict[str, Any] = {"dtype": to_vartype(dtype), "mean": mean, "std": std, "seed": seed}
    inputs: dict[str, Any] = {}
    if isinstance(shape, Variable):
        inputs["ShapeTensor"] = [as_int32(shape)]
    else:
        attrs["shape"] = plain_dims(shape)
        if has_variables(shape):
            inputs["ShapeTensorList"] = dims_as_int32(shape)
    out = helper.create_variable_for_type_inference(dtype)
    helper.append_op(type="gaussian_random", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def _like(op_type: str, input: Variable, shape: Any, dtype: DTypeLike, **attrs: Any) -> Variable:
    helper = LayerHelper(op_type)
    out = helper.create_variable_for_type_inference(dtype)
    helper.append_op(
        type=op_type,
        inputs={"Input": [input]},
        outputs={"Out": [out]},
        attrs={"shape": as_list(shape), "dtype": to_vartype(dtype), **attrs},
    )
    return out


def uniform_random_batch_size_like(
    input: Variable,
    shape: ShapeLike,
    dtype: DTypeLike = "float32",
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    min: float = -1.0,
    max: float = 1.0,
    seed: int = 0,
) -> Variable:
    """Uniform random numbers with as many rows as the input."""
    return _like(
        "uniform_random_batch_size_like",
        input,
        shape,
        dtype,
        input_dim_idx=input_dim_idx,
        output_dim_idx=output_dim_idx,
        min=min,
        max=max,
        seed=seed,
    )


def gaussian_random_batch_size_like(
    input: Variable,
    shape: ShapeLike,
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    mean: float = 0.0,
    std: float = 1.0,
    seed: int = 0,
    dtype: DTypeLike = "float32",
) -> Variable:
    """Normal random numbers with as many rows as the input."""
    return _like(
        "gaussian_random_batch_size_like",
        input,
        shape,
        dtype,
        input_dim_idx=input_dim_idx,
        output_dim_idx=output_dim_idx,
        mean=mean,
        std=std,
        seed=seed,
    )


def sampling_id(
    x: Variable, min: float = 0.0, max: float = 1.0, seed: int = 0, dtype: DTypeLike = "float32"
) -> Variable:
    """A random column for each row, drawn with the row's probabilities.

    Fluid: the result is int64 whatever dtype says.
    """
    helper = LayerHelper("sampling_id")
    out = helper.create_variable_for_type_inference(dtype)
    attrs = {"min": min, "max": max, "seed": seed}
    helper.append_op(type="sampling_id", inputs={"X": x}, outputs={"Out": [out]}, attrs=attrs)
    return out

"""Pooling."""

from __future__ import annotations

from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.layers._vision.conv import padding_attrs
from fluidio.layers.arguments import check_variable, per_dim
from fluidio.program import Variable
from fluidio.program.arguments import Sizes

__all__ = ["adaptive_pool2d", "adaptive_pool3d", "pool2d", "pool3d"]


def _pool(
    op_type: str,
    dims: int,
    input: Variable,
    pool_size: Sizes,
    pool_type: str,
    pool_stride: Sizes,
    pool_padding: Sizes | str,
    global_pooling: bool,
    use_cudnn: bool,
    ceil_mode: bool,
    name: str | None,
    exclusive: bool,
    data_format: str,
) -> Variable:
    input = check_variable(op_type, "input", input)
    if pool_type not in ("max", "avg"):
        raise ValueError(f"{op_type}: pool_type must be 'max' or 'avg', got {pool_type!r}")
    if global_pooling is False and pool_size == -1:
        raise ValueError(f"{op_type}: give pool_size, or pass global_pooling=True to pool the whole image")
    paddings, algorithm = padding_attrs(pool_padding, dims, data_format)
    if algorithm == "VALID" and ceil_mode:
        raise ValueError(f"{op_type}: ceil_mode=True cannot be combined with pool_padding='VALID'")
    helper = LayerHelper(op_type, name=name)
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type=op_type,
        inputs={"X": [input]},
        outputs={"Out": [out]},
        attrs={
            "pooling_type": pool_type,
            "ksize": per_dim(pool_size, dims, "pool_size"),
            "global_pooling": global_pooling,
            "strides": per_dim(pool_stride, dims, "pool_stride"),
            "paddings": paddings,
            "padding_algorithm": algorithm,
            "use_cudnn": use_cudnn,
            "ceil_mode": ceil_mode,
            "exclusive": exclusive,
            "data_format": data_format,
        },
    )
    return out


def pool2d(
    input: Variable,
    pool_size: Sizes = -1,
    pool_type: str = "max",
    pool_stride: Sizes = 1,
    pool_padding: Sizes | str = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    exclusive: bool = True,
    data_format: str = "NCHW",
) -> Variable:
    """The largest element or the mean of each window of an image.

    Args:
        ceil_mode: windows may extend past the end.
        exclusive: leave padding out of means.
    """
    return _pool(
        "pool2d",
        2,
        input,
        pool_size,
        pool_type,
        pool_stride,
        pool_padding,
        global_pooling,
        use_cudnn,
        ceil_mode,
        name,
        exclusive,
        data_format,
    )


def pool3d(
    input: Variable,
    pool_size: Sizes = -1,
    pool_type: str = "max",
    pool_stride: Sizes = 1,
    pool_padding: Sizes | str = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    exclusive: bool = True,
    data_format: str = "NCDHW",
) -> Variable:
    """The largest element or the mean of each window of a volume."""
    return _pool(
        "pool3d",
        3,
        input,
        pool_size,
        pool_type,
        pool_stride,
        pool_padding,
        global_pooling,
        use_cudnn,
        ceil_mode,
        name,
        exclusive,
        data_format,
    )


def _adaptive(
    input: Variable, pool_size: Sizes, pool_type: str, require_index: bool, name: str | None, dims: int
) -> Any:
    if pool_type not in ("max", "avg"):
        raise ValueError(f"adaptive_pool{dims}d: pool_type must be 'max' or 'avg', got {pool_type!r}")
    if pool_type == "avg" and require_index:
        raise ValueError(
            f"adaptive_pool{dims}d: require_index=True works only with pool_type='max': an average has no position"
        )
    op_type = f"max_pool{dims}d_with_index" if pool_type == "max" else f"pool{dims}d"
    helper = LayerHelper(op_type, name=name)
    out = helper.create_variable_for_type_inference(input.dtype)
    outputs = {"Out": [out]}
    attrs: dict[str, Any] = {"ksize": per_dim(pool_size, dims, "pool_size"), "adaptive": True}
    mask = None
    if pool_type == "max":
        mask = helper.create_variable_for_type_inference(input.dtype)
        outputs["Mask"] = [mask]
    else:
        attrs["pooling_type"] = pool_type
    helper.append_op(type=op_type, inputs={"X": [input]}, outputs=outputs, attrs=attrs)
    return (out, mask) if require_index else out


def adaptive_pool2d(
    input: Variable, pool_size: Sizes, pool_type: str = "max", require_index: bool = False, name: str | None = None
) -> Any:
    """Pool an image of any size to an output of pool_size; with require_index also return positions."""
    return _adaptive(input, pool_size, pool_type, require_index, name, 2)


def adaptive_pool3d(
    input: Variable, pool_size: Sizes, pool_type: str = "max", require_index: bool = False, name: str | None = None
) -> Any:
    """Pool a volume of any size to an output of pool_size."""
    return _adaptive(input, pool_size, pool_type, require_index, name, 3)

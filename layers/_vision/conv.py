"""Convolutions and their transposes."""

from __future__ import annotations

import math
from typing import Any

from fluidio.initializer import Normal
from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import check_variable, per_dim
from fluidio.param_attr import AttrLike
from fluidio.program import Variable
from fluidio.program.arguments import Sizes

__all__ = ["conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose", "unfold"]


def padding_attrs(padding: Any, dims: int, data_format: str) -> tuple[list[int], str]:
    """Return paddings and padding_algorithm for any form of `padding` a user may write.

    A number, one for each dim, (before, after) for each dim in a flat list or in pairs (batch and channels included),
    "SAME" or "VALID".
    """
    if isinstance(padding, str):
        algorithm = padding.upper()
        if algorithm not in ("SAME", "VALID"):
            raise ValueError(f"padding {padding!r} is unknown: use 'SAME', 'VALID' or numbers")
        return [0] * dims, algorithm
    if isinstance(padding, (list, tuple)) and padding and isinstance(padding[0], (list, tuple)):
        pairs = [list(pair) for pair in padding]
        if len(pairs) == dims + 2:
            outer = [pairs[0], pairs[-1]] if data_format.endswith("C") else pairs[:2]
            if any(pair != [0, 0] for pair in outer):
                raise ValueError(
                    f"padding {padding} pads the batch or the channels: only the spatial dims can be padded"
                )
            pairs = pairs[1:-1] if data_format.endswith("C") else pairs[2:]
        padding = [number for pair in pairs for number in pair]
    if isinstance(padding, (list, tuple)) and len(padding) == 2 * dims:
        flat = [int(p) for p in padding]
        before, after = flat[::2], flat[1::2]
        return (before if before == after else flat), "EXPLICIT"
    return per_dim(padding, dims, "padding"), "EXPLICIT"


def group_count(op_type: str, groups: int | None) -> int:
    """The number of groups of channels: one by default."""
    if groups == 0:
        raise ZeroDivisionError(f"{op_type}: groups is 0; leave it out, or pass 1 for an ordinary convolution")
    return groups or 1


def _conv(
    op_type: str,
    dims: int,
    input: Variable,
    num_filters: int,
    filter_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int | None,
    param_attr: Any,
    bias_attr: Any,
    use_cudnn: bool,
    act: Any,
    name: str | None,
    data_format: str,
) -> Variable:
    last = data_format.endswith("C")
    layouts = ("NCHW", "NHWC") if dims == 2 else ("NCDHW", "NDHWC")
    if data_format not in layouts:
        raise ValueError(f"data_format must be {layouts[0]!r} or {layouts[1]!r}, got {data_format!r}")
    check_variable(op_type, "input", input)
    if len(input.shape) != dims + 2:
        raise ValueError(f"{op_type}: input must have {dims + 2} dims, {input.name} has shape {list(input.shape)}")
    channels = input.shape[-1 if last else 1]
    if channels < 0:
        raise ValueError(
            f"{op_type}: the number of channels of {input.name} {list(input.shape)} must be known: it decides "
            "the size of the filters"
        )
    if num_filters <= 0:
        raise ValueError(f"{op_type}: num_filters must be above 0, got {num_filters}")
    # Fluid: a convolution is depthwise only if `groups` was given, even with one channel.
    depthwise = groups == channels and num_filters % channels == 0 and not use_cudnn
    groups = group_count(op_type, groups)
    if channels % groups:
        raise ValueError(f"{op_type}: the {channels} channels of the input cannot be divided into {groups} groups")
    if op_type == "conv2d" and depthwise:
        op_type = "depthwise_conv2d"
    helper = LayerHelper(
        op_type, input=input, param_attr=param_attr, bias_attr=bias_attr, act=act, name=name, use_cudnn=use_cudnn
    )
    kernel = per_dim(filter_size, dims, "filter_size")
    paddings, algorithm = padding_attrs(padding, dims, data_format)
    std = math.sqrt(2.0 / (math.prod(kernel) * channels))
    weight = helper.create_parameter(
        helper.param_attr, [num_filters, channels // groups, *kernel], input.dtype, default_initializer=Normal(0.0, std)
    )
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type=op_type,
        inputs={"Input": [input], "Filter": [weight]},
        outputs={"Output": [out]},
        attrs={
            "strides": per_dim(stride, dims, "stride"),
            "paddings": paddings,
            "dilations": per_dim(dilation, dims, "dilation"),
            "groups": groups,
            "use_cudnn": use_cudnn,
            "padding_algorithm": algorithm,
            "data_format": data_format,
        },
    )
    axis = dims + 1 if last else 1
    return helper.append_activation(helper.append_bias_op(out, dim_start=axis, dim_end=axis + 1))


def conv2d(
    input: Variable,
    num_filters: int,
    filter_size: object,
    stride: object = 1,
    padding: object = 0,
    dilation: object = 1,
    groups: int | None = None,
    param_attr: object = None,
    bias_attr: object = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Variable:
    """Convolve images [N, C, H, W] (or [N, H, W, C]) with `num_filters` filters.

    Args:
        padding: a number, [height, width], [top, bottom, left, right], "SAME" or "VALID".
        groups: each group of filters sees only its share of the channels.

    As in Fluid, filters start as Normal(0, sqrt(2 / (kernel area * channels))).
    """
    return _conv(
        "conv2d",
        2,
        input,
        num_filters,
        filter_size,
        stride,
        padding,
        dilation,
        groups,
        param_attr,
        bias_attr,
        use_cudnn,
        act,
        name,
        data_format,
    )


def conv3d(
    input: Variable,
    num_filters: int,
    filter_size: Sizes,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int | None = None,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCDHW",
) -> Variable:
    """Convolve volumes [N, C, D, H, W]; arguments as for conv2d."""
    return _conv(
        "conv3d",
        3,
        input,
        num_filters,
        filter_size,
        stride,
        padding,
        dilation,
        groups,
        param_attr,
        bias_attr,
        use_cudnn,
        act,
        name,
        data_format,
    )


def _transpose(
    op_type: str,
    dims: int,
    input: Variable,
    num_filters: int,
    output_size: Any,
    filter_size: Any,
    padding: Any,
    stride: Any,
    dilation: Any,
    groups: int | None,
    param_attr: Any,
    bias_attr: Any,
    use_cudnn: bool,
    act: Any,
    name: str | None,
    data_format: str,
) -> Variable:
    check_variable(op_type, "input", input)
    last = data_format.endswith("C")
    channels = input.shape[-1 if last else 1]
    depthwise = groups == channels == num_filters and not use_cudnn
    groups = group_count(op_type, groups)
    strides, dilations = per_dim(stride, dims, "stride"), per_dim(dilation, dims, "dilation")
    paddings, algorithm = padding_attrs(padding, dims, data_format)
    wanted = [] if output_size is None else per_dim(output_size, dims, "output_size")
    if filter_size is None:
        if not wanted:
            raise ValueError(f"{op_type}: give filter_size, or output_size to compute it from")
        sizes = input.shape[1:-1] if last else input.shape[2:]
        both = paddings if len(paddings) == 2 * dims else [p for p in paddings for _ in range(2)]
        pairs = [a + b for a, b in zip(both[::2], both[1::2])]
        kernel = [
            (want - (n - 1) * s + p - 1) // d + 1 for want, n, s, p, d in zip(wanted, sizes, strides, pairs, dilations)
        ]
    else:
        kernel = per_dim(filter_size, dims, "filter_size")
    if op_type == "conv2d_transpose" and depthwise:
        op_type = "depthwise_conv2d_transpose"
    helper = LayerHelper(
        op_type, input=input, param_attr=param_attr, bias_attr=bias_attr, act=act, name=name, use_cudnn=use_cudnn
    )
    weight = helper.create_parameter(helper.param_attr, [channels, num_filters // groups, *kernel], input.dtype)
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type=op_type,
        inputs={"Input": [input], "Filter": [weight]},
        outputs={"Output": [out]},
        attrs={
            "output_size": wanted,
            "strides": strides,
            "paddings": paddings,
            "padding_algorithm": algorithm,
            "dilations": dilations,
            "groups": groups,
            "use_cudnn": use_cudnn,
            "data_format": "NHWC" if last else "NCHW",
        },
    )
    axis = dims + 1 if last else 1
    return helper.append_activation(helper.append_bias_op(out, dim_start=axis, dim_end=axis + 1))


def conv2d_transpose(
    input: Variable,
    num_filters: int,
    output_size: Sizes | None = None,
    filter_size: Sizes | None = None,
    padding: Sizes | str = 0,
    stride: Sizes = 1,
    dilation: Sizes = 1,
    groups: int | None = None,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Variable:
    """Transposed convolution: the gradient of conv2d as a layer; give filter_size, output_size or both."""
    return _transpose(
        "conv2d_transpose",
        2,
        input,
        num_filters,
        output_size,
        filter_size,
        padding,
        stride,
        dilation,
        groups,
        param_attr,
        bias_attr,
        use_cudnn,
        act,
        name,
        data_format,
    )


def conv3d_transpose(
    input: Variable,
    num_filters: int,
    output_size: Sizes | None = None,
    filter_size: Sizes | None = None,
    padding: Sizes | str = 0,
    stride: Sizes = 1,
    dilation: Sizes = 1,
    groups: int | None = None,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCDHW",
) -> Variable:
    """Transposed convolution of volumes; arguments as for conv2d_transpose."""
    return _transpose(
        "conv3d_transpose",
        3,
        input,
        num_filters,
        output_size,
        filter_size,
        padding,
        stride,
        dilation,
        groups,
        param_attr,
        bias_attr,
        use_cudnn,
        act,
        name,
        data_format,
    )


def unfold(
    x: Variable, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1, name: str | None = None
) -> Variable:
    """All windows of images as columns [N, C * kernel area, windows]; paddings are [top, left, bottom, right]."""
    if len(x.shape) != 4:
        raise AssertionError(f"unfold: x must have 4 dims [N, C, H, W], it has shape {list(x.shape)}")
    helper = LayerHelper("unfold", name=name)
    pads = [int(p) for p in paddings] if isinstance(paddings, (list, tuple)) else [int(paddings)] * 4
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(
        type="unfold",
        inputs={"X": [x]},
        outputs={"Y": [out]},
        attrs={
            "kernel_sizes": per_dim(kernel_sizes, 2, "kernel_sizes"),
            "strides": per_dim(strides, 2, "strides"),
            "paddings": pads * 2 if len(pads) == 2 else pads,
            "dilations": per_dim(dilations, 2, "dilations"),
        },
    )
    return out

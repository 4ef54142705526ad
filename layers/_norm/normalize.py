"""Normalisation layers."""

from __future__ import annotations

import math
from typing import Any

from fluidio.initializer import Constant, Normal
from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import check_variable, warn_ignored
from fluidio.param_attr import AttrLike, ParamAttr
from fluidio.program import Variable

__all__ = [
    "batch_norm",
    "data_norm",
    "group_norm",
    "instance_norm",
    "l2_normalize",
    "layer_norm",
    "lrn",
    "spectral_norm",
]


def batch_norm(
    input: Variable,
    act: str | None = None,
    is_test: bool = False,
    momentum: object = 0.9,
    epsilon: float = 1e-05,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    use_global_stats: bool = False,
) -> Variable:
    """Normalise each channel by the batch's mean and variance; moving averages are kept for testing.

    Args:
        momentum: moving = momentum * moving + (1 - momentum) * batch.
        use_global_stats: use the moving statistics in training too.
        in_place: write into the input variable.
    """
    check_variable("batch_norm", "input", input)
    helper = LayerHelper("batch_norm", input=input, act=act, param_attr=param_attr, bias_attr=bias_attr, name=name)
    channels = [input.shape[-1 if data_layout == "NHWC" else 1]]
    dtype = "float32" if input.dtype.name == "FP16" else input.dtype
    scale = helper.create_parameter(helper.param_attr, channels, dtype, default_initializer=Constant(1.0))
    bias = helper.create_parameter(helper.bias_attr, channels, dtype, is_bias=True)
    if scale is None or bias is None:
        raise ValueError(
            "batch_norm: param_attr and bias_attr must not be False: its scale and shift are always parameters"
        )

    def moving(given: str | None, value: float) -> Variable:
        attr = ParamAttr(
            name=given, initializer=Constant(value), trainable=False, do_model_average=do_model_average_for_mean_and_var
        )
        variable: Variable = helper.create_parameter(attr, channels, dtype)
        variable.stop_gradient = True
        return variable

    mean = moving(moving_mean_name, 0.0)
    variance = moving(moving_variance_name, 1.0)
    saved_mean = helper.create_variable_for_type_inference(dtype, stop_gradient=True)
    saved_variance = helper.create_variable_for_type_inference(dtype, stop_gradient=True)
    out = input if in_place else helper.create_variable_for_type_inference(dtype)
    inputs: dict[str, Any] = {"X": [input], "Scale": [scale], "Bias": [bias], "Mean": [mean], "Variance": [variance]}
    attrs = {
        "epsilon": epsilon,
        "is_test": is_test,
        "data_layout": data_layout,
        "fuse_with_relu": False,
        "use_global_stats": use_global_stats,
    }
    if isinstance(momentum, Variable):
        inputs["MomentumTensor"] = [momentum]
    else:
        attrs["momentum"] = momentum
    helper.append_op(
        type="batch_norm",
        inputs=inputs,
        outputs={
            "Y": [out],
            "MeanOut": [mean],
            "VarianceOut": [variance],
            "SavedMean": [saved_mean],
            "SavedVariance": [saved_variance],
        },
        attrs=attrs,
    )
    return helper.append_activation(out)


def layer_norm(
    input: Variable,
    scale: bool = True,
    shift: bool = True,
    begin_norm_axis: int = 1,
    epsilon: float = 1e-05,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Normalise each example over the dims from begin_norm_axis on, then scale and shift each element."""
    check_variable("layer_norm", "input", input)
    helper = LayerHelper("layer_norm", input=input, act=act, param_attr=param_attr, bias_attr=bias_attr, name=name)
    shape = [math.prod(input.shape[begin_norm_axis:])]
    inputs: dict[str, Any] = {"X": [input]}
    if scale:
        weight = helper.create_parameter(helper.param_attr, shape, input.dtype, default_initializer=Constant(1.0))
        if weight is None:
            raise ValueError(
                "layer_norm: param_attr=False leaves no parameter for the scale; pass scale=False to have none"
            )
        inputs["Scale"] = [weight]
    if shift:
        bias = helper.create_parameter(helper.bias_attr, shape, input.dtype, is_bias=True)
        if bias is None:
            raise ValueError(
                "layer_norm: bias_attr=False leaves no parameter for the shift; pass shift=False to have none"
            )
        inputs["Bias"] = [bias]
    mean = helper.create_variable_for_type_inference(input.dtype, stop_gradient=True)
    variance = helper.create_variable_for_type_inference(input.dtype, stop_gradient=True)
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="layer_norm",
        inputs=inputs,
        outputs={"Y": [out], "Mean": [mean], "Variance": [variance]},
        attrs={"epsilon": epsilon, "begin_norm_axis": begin_norm_axis},
    )
    return helper.append_activation(out)


def group_norm(
    input: Variable,
    groups: int,
    epsilon: float = 1e-05,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    act: str | None = None,
    data_layout: str = "NCHW",
    name: str | None = None,
) -> Variable:
    """Normalise each group of channels of each example.

    As in Fluid, there is no scale without param_attr, and no shift without bias_attr.
    """
    check_variable("group_norm", "input", input)
    if data_layout not in ("NCHW", "NHWC"):
        raise ValueError(f"data_layout must be 'NCHW' or 'NHWC', got {data_layout!r}")
    helper = LayerHelper("group_norm", input=input, act=act, param_attr=param_attr, bias_attr=bias_attr, name=name)
    shape = [input.shape[1 if data_layout == "NCHW" else -1]]
    inputs: dict[str, Any] = {"X": [input]}
    if param_attr:
        inputs["Scale"] = [
            helper.create_parameter(helper.param_attr, shape, input.dtype, default_initializer=Constant(1.0))
        ]
    if bias_attr:
        inputs["Bias"] = [helper.create_parameter(helper.bias_attr, shape, input.dtype, is_bias=True)]
    mean = helper.create_variable(dtype=input.dtype, stop_gradient=True)
    variance = helper.create_variable(dtype=input.dtype, stop_gradient=True)
    out = helper.create_variable(dtype=input.dtype)
    helper.append_op(
        type="group_norm",
        inputs=inputs,
        outputs={"Y": [out], "Mean": [mean], "Variance": [variance]},
        attrs={"epsilon": epsilon, "groups": groups, "data_layout": data_layout},
    )
    return helper.append_activation(out)


def instance_norm(
    input: Variable,
    epsilon: float = 1e-05,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    name: str | None = None,
) -> Variable:
    """Normalise each channel of each example."""
    check_variable("instance_norm", "input", input)
    helper = LayerHelper("instance_norm", input=input, param_attr=param_attr, bias_attr=bias_attr, name=name)
    shape = [input.shape[1]]
    inputs: dict[str, Any] = {"X": [input]}
    if param_attr is not False and bias_attr is not False:
        scale = helper.create_parameter(helper.param_attr, shape, input.dtype, default_initializer=Constant(1.0))
        bias = helper.create_parameter(helper.bias_attr, shape, input.dtype, is_bias=True)
        inputs.update({"Scale": [scale], "Bias": [bias]})
    saved_mean = helper.create_variable_for_type_inference(input.dtype, stop_gradient=True)
    saved_variance = helper.create_variable_for_type_inference(input.dtype, stop_gradient=True)
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="instance_norm",
        inputs=inputs,
        outputs={"Y": [out], "SavedMean": [saved_mean], "SavedVariance": [saved_variance]},
        attrs={"epsilon": epsilon},
    )
    return out


def spectral_norm(
    weight: Variable, dim: int = 0, power_iters: int = 1, eps: float = 1e-12, name: str | None = None
) -> Variable:
    """The weight divided by its largest singular value, which the power method finds from two stored vectors."""
    helper = LayerHelper("spectral_norm", name=name)
    rows = weight.shape[dim]
    inputs: dict[str, Any] = {"Weight": [weight]}
    for slot, size in (("U", rows), ("V", math.prod(weight.shape) // rows)):
        vector = helper.create_parameter(ParamAttr(), [size], weight.dtype, default_initializer=Normal(0.0, 1.0))
        vector.stop_gradient = True
        inputs[slot] = [vector]
    out = helper.create_variable(dtype=weight.dtype)
    attrs = {"dim": dim, "power_iters": power_iters, "eps": eps}
    helper.append_op(type="spectral_norm", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def data_norm(
    input: Variable,
    act: str | None = None,
    epsilon: float = 1e-05,
    param_attr: object = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    slot_dim: int = -1,
    sync_stats: bool = False,
    summary_decay_rate: float = 0.9999999,
    enable_scale_and_shift: bool = False,
) -> Variable:
    """Normalise each column by sums over all batches seen so far.

    Args:
        param_attr: a dict of initial values:
            batch_size (1e4), batch_sum (0), batch_square (1e4), scale_w (1), bias (0).
        moving_mean_name, moving_variance_name, do_model_average_for_mean_and_var: no effect, as in Fluid.
        slot_dim: columns per slot; a slot that begins with zero is not counted and gives zeros.
        sync_stats: no effect; there is one trainer.
        enable_scale_and_shift: multiply by a trained scale and add a trained bias, by column.
    """
    ignored = {
        "moving_mean_name": moving_mean_name is not None,
        "moving_variance_name": moving_variance_name is not None,
        "do_model_average_for_mean_and_var": not do_model_average_for_mean_and_var,
        "sync_stats": sync_stats,
    }
    for keyword in (keyword for keyword, given in ignored.items() if given):
        warn_ignored("data_norm", keyword)
    helper = LayerHelper("data_norm", input=input, act=act, name=name)
    starts = {"batch_size": 1e4, "batch_sum": 0.0, "batch_square": 1e4, "scale_w": 1.0, "bias": 0.0}
    if isinstance(param_attr, dict):
        starts.update({key: param_attr[key] for key in starts if key in param_attr})
    prefix = name or "dn"
    inputs: dict[str, Any] = {"X": [input]}
    kept = [
        ("BatchSize", "batch_size", "batch_size"),
        ("BatchSum", "batch_sum", "batch_sum"),
        ("BatchSquareSum", "batch_square_sum", "batch_square"),
    ]
    affine = [("scale_w", "scale_w", "scale_w"), ("bias", "bias", "bias")] if enable_scale_and_shift else []
    for slot, suffix, key in [*affine, *kept]:
        attr = ParamAttr(name=f"{prefix}.{suffix}", initializer=Constant(float(starts[key])), trainable=True)
        inputs[slot] = [helper.create_parameter(attr, [input.shape[-1]], input.dtype)]
    means = helper.create_variable(dtype=input.dtype, stop_gradient=True)
    scales = helper.create_variable(dtype=input.dtype, stop_gradient=True)
    out = input if in_place else helper.create_variable(dtype=input.dtype)
    helper.append_op(
        type="data_norm",
        inputs=inputs,
        outputs={"Y": [out], "Means": [means], "Scales": [scales]},
        attrs={
            "epsilon": epsilon,
            "data_layout": data_layout,
            "slot_dim": slot_dim,
            "summary_decay_rate": summary_decay_rate,
            "enable_scale_and_shift": enable_scale_and_shift,
        },
    )
    return helper.append_activation(out)


def lrn(
    input: Variable,
    n: int = 5,
    k: float = 1.0,
    alpha: float = 1e-4,
    beta: float = 0.75,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Variable:
    """Local response normalisation over n neighbouring channels."""
    helper = LayerHelper("lrn", name=name)
    if len(input.shape) != 4:
        raise ValueError(f"lrn: input must have 4 dims, it has shape {list(input.shape)}")
    mid = helper.create_variable_for_type_inference(input.dtype, stop_gradient=True)
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="lrn",
        inputs={"X": [input]},
        outputs={"Out": [out], "MidOut": [mid]},
        attrs={"n": n, "k": k, "alpha": alpha, "beta": beta, "data_format": data_format},
    )
    return out


def l2_normalize(x: Variable, axis: int | None, epsilon: float = 1e-12, name: str | None = None) -> Variable:
    """x divided by its length along axis."""
    helper = LayerHelper("l2_normalize", name=name)
    if len(x.shape) == 1:
        axis = 0
    out = helper.create_variable_for_type_inference(x.dtype)
    length = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(
        type="norm",
        inputs={"X": [x]},
        outputs={"Out": [out], "Norm": [length]},
        attrs={"axis": 1 if axis is None else axis, "epsilon": epsilon},
    )
    return out

"""Batch normalisation and activation that overwrite their input."""

from __future__ import annotations

from typing import Any

from fluidio.initializer import Constant
from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import check_variable
from fluidio.param_attr import AttrLike, ParamAttr
from fluidio.program import Variable

__all__ = ["inplace_abn"]

_ACTIVATIONS = (None, "identity", "leaky_relu", "elu")


def inplace_abn(
    input: Variable,
    act: str | None = None,
    is_test: bool = False,
    momentum: object = 0.9,
    epsilon: float = 1e-05,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    data_layout: str = "NCHW",
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    use_global_stats: bool = False,
    act_alpha: float = 1.0,
) -> Variable:
    """Normalise each channel and apply an activation (identity, leaky_relu or elu), overwriting the input.

    Fluid: its gradient ran only under a CompiledProgram; here it runs everywhere.
    """
    if act not in _ACTIVATIONS:
        raise AssertionError(f"inplace_abn: act must be one of {', '.join(map(str, _ACTIVATIONS))}, got {act!r}")
    check_variable("inplace_abn", "input", input)
    helper = LayerHelper("inplace_abn", name=name, param_attr=param_attr, bias_attr=bias_attr)
    channels, dtype = [input.shape[-1 if data_layout == "NHWC" else 1]], input.dtype
    scale = helper.create_parameter(helper.param_attr, channels, dtype, default_initializer=Constant(1.0))
    bias = helper.create_parameter(helper.bias_attr, channels, dtype, is_bias=True)
    moving = []
    for given, value in ((moving_mean_name, 0.0), (moving_variance_name, 1.0)):
        attr = ParamAttr(
            name=given, initializer=Constant(value), trainable=False, do_model_average=do_model_average_for_mean_and_var
        )
        moving.append(helper.create_parameter(attr, channels, dtype))
        moving[-1].stop_gradient = True
    saved = [helper.create_variable_for_type_inference(dtype, stop_gradient=True) for _ in range(2)]
    inputs: dict[str, Any] = {"X": [input], "Scale": [scale], "Bias": [bias], "Mean": [moving[0]]}
    attrs = {
        "epsilon": epsilon,
        "is_test": is_test,
        "data_layout": data_layout,
        "use_global_stats": use_global_stats,
        "activation": act or "",
        "alpha": act_alpha,
    }
    if isinstance(momentum, Variable):
        inputs["MomentumTensor"] = [momentum]
    else:
        attrs["momentum"] = momentum
    outputs = {
        "Y": [input],
        "MeanOut": [moving[0]],
        "VarianceOut": [moving[1]],
        "SavedMean": [saved[0]],
        "SavedVariance": [saved[1]],
    }
    inputs["Variance"] = [moving[1]]
    helper.append_op(type="inplace_abn", inputs=inputs, outputs=outputs, attrs=attrs)
    return input

"""Layers on sequences: pooling, convolution, expanding, padding, LoD."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import DTypeLike, VarType, to_vartype
from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import as_list, check_variable, warn_ignored
from fluidio.param_attr import AttrLike
from fluidio.program import Variable
from fluidio.program.arguments import Arguments, Attrs, Sizes

__all__ = [
    "im2sequence",
    "lod_append",
    "lod_reset",
    "row_conv",
    "sequence_concat",
    "sequence_conv",
    "sequence_enumerate",
    "sequence_erase",
    "sequence_expand",
    "sequence_expand_as",
    "sequence_first_step",
    "sequence_last_step",
    "sequence_mask",
    "sequence_pad",
    "sequence_pool",
    "sequence_reshape",
    "sequence_reverse",
    "sequence_scatter",
    "sequence_slice",
    "sequence_softmax",
    "sequence_unpad",
]


def _check(layer: str, **variables: object) -> None:
    for name, value in variables.items():
        if not isinstance(value, Variable):
            raise TypeError(f"{layer}: {name} must be a Variable, got {type(value).__name__}")


def _apply(
    layer: str,
    source: Variable,
    inputs: Arguments,
    attrs: Attrs | None = None,
    *,
    name: str | None = None,
    out: str = "Out",
    op: str | None = None,
    dtype: DTypeLike | None = None,
    stop_gradient: bool = False,
) -> Variable:
    """Append an op with one output and return the output."""
    helper = LayerHelper(layer, name=name)
    result = helper.create_variable_for_type_inference(
        source.dtype if dtype is None else dtype, stop_gradient=stop_gradient
    )
    helper.append_op(type=op or layer, inputs=inputs, outputs={out: [result]}, attrs=attrs)
    return result


def sequence_pool(input: Variable, pool_type: str, is_test: bool = False, pad_value: float = 0.0) -> Variable:
    """Reduce each sequence to one row.

    Args:
        pool_type: sum, average, sqrt (sum / sqrt(length)), max, first or last.
        pad_value: the row of an empty sequence.
    """
    _check("sequence_pool", input=input)
    helper = LayerHelper("sequence_pool", **locals())
    out = helper.create_variable_for_type_inference(input.dtype)
    index = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="sequence_pool",
        inputs={"X": input},
        outputs={"Out": out, "MaxIndex": index},
        attrs={"pooltype": pool_type.upper(), "is_test": is_test, "pad_value": pad_value},
    )
    if pool_type == "max":
        index.stop_gradient = True  # positions are not differentiable
    return out


def sequence_first_step(input: Variable) -> Variable:
    """Return the first row of each sequence."""
    return sequence_pool(input=input, pool_type="first")


def sequence_last_step(input: Variable) -> Variable:
    """Return the last row of each sequence."""
    return sequence_pool(input=input, pool_type="last")


def sequence_conv(
    input: Variable,
    num_filters: int,
    filter_size: int = 3,
    filter_stride: int = 1,
    padding: Sizes | str = True,
    padding_start: int | None = None,
    bias_attr: AttrLike = None,
    param_attr: AttrLike = None,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Convolve each sequence over time; rows outside a sequence are zeros.

    Args:
        padding: no effect, as in Fluid: sequences are always padded with zeros.
        padding_start: start of the window relative to its row; -(filter_size // 2) by default.
    """
    _check("sequence_conv", input=input)
    if padding is False:
        warn_ignored("sequence_conv", "padding=False")
    helper = LayerHelper("sequence_conv", **locals())
    weight = helper.create_parameter(helper.param_attr, [filter_size * input.shape[1], num_filters], input.dtype)
    before_bias = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="sequence_conv",
        inputs={"X": [input], "Filter": [weight]},
        outputs={"Out": before_bias},
        attrs={
            "contextStride": filter_stride,
            "contextStart": -int(filter_size // 2) if padding_start is None else padding_start,
            "contextLength": filter_size,
        },
    )
    return helper.append_activation(helper.append_bias_op(before_bias))


def sequence_softmax(input: Variable, use_cudnn: bool = False, name: str | None = None) -> Variable:
    """Softmax over the rows of each sequence; the input has one column."""
    _check("sequence_softmax", input=input)
    return _apply("sequence_softmax", input, {"X": input}, {"use_cudnn": use_cudnn}, name=name)


def sequence_expand(x: Variable, y: Variable, ref_level: int = -1, name: str | None = None) -> Variable:
    """Repeat row (or sequence) i of x as often as sequence i of y at `ref_level` has entries."""
    _check("sequence_expand", x=x)
    y = check_variable("sequence_expand", "y", y)
    return _apply("sequence_expand", x, {"X": x, "Y": y}, {"ref_level": ref_level}, name=name)


def sequence_expand_as(x: Variable, y: Variable, name: str | None = None) -> Variable:
    """Repeat row i of x once for each row of sequence i of y."""
    _check("sequence_expand_as", x=x, y=y)
    return _apply("sequence_expand_as", x, {"X": x, "Y": y}, name=name)


def sequence_pad(
    x: Variable, pad_value: Variable, maxlen: int | None = None, name: str | None = None
) -> tuple[Variable, Variable]:
    """Return a padded tensor [sequences, maxlen, ...] and the lengths."""
    _check("sequence_pad", x=x, pad_value=pad_value)
    helper = LayerHelper("sequence_pad", **locals())
    out = helper.create_variable_for_type_inference(x.dtype)
    length = helper.create_variable_for_type_inference(VarType.INT64)
    pad_value.stop_gradient = True
    length.stop_gradient = True
    helper.append_op(
        type="sequence_pad",
        inputs={"X": x, "PadValue": pad_value},
        outputs={"Out": out, "Length": length},
        attrs={"padded_length": -1 if maxlen is None else maxlen},
    )
    return out, length


def sequence_unpad(x: Variable, length: Variable, name: str | None = None) -> Variable:
    """Turn a padded tensor and lengths into sequences."""
    _check("sequence_unpad", x=x, length=length)
    length.stop_gradient = True
    return _apply("sequence_unpad", x, {"X": x, "Length": length}, name=name)


def sequence_concat(input: Sequence[Variable], name: str | None = None) -> Variable:
    """Join sequence i of every input, for each i."""
    helper = LayerHelper("sequence_concat", **locals())
    out = helper.create_variable_for_type_inference(helper.input_dtype())
    helper.append_op(type="sequence_concat", inputs={"X": list(input)}, outputs={"Out": [out]})
    return out


def sequence_reshape(input: Variable, new_dim: int) -> Variable:
    """Change the width of rows; each sequence keeps its elements."""
    _check("sequence_reshape", input=input)
    return _apply("sequence_reshape", input, {"X": [input]}, {"new_dim": new_dim})


def sequence_reverse(x: Variable, name: str | None = None) -> Variable:
    """Reverse the rows of each sequence."""
    _check("sequence_reverse", x=x)
    return _apply("sequence_reverse", x, {"X": x}, name=name, out="Y")


def sequence_slice(input: Variable, offset: Variable, length: Variable, name: str | None = None) -> Variable:
    """Take length[i] rows of sequence i from offset[i] on."""
    _check("sequence_slice", input=input, offset=offset, length=length)
    offset.stop_gradient = True
    length.stop_gradient = True
    return _apply("sequence_slice", input, {"X": input, "Offset": offset, "Length": length}, name=name)


def sequence_enumerate(input: Variable, win_size: int, pad_value: int = 0, name: str | None = None) -> Variable:
    """List the `win_size` ids from each position on."""
    _check("sequence_enumerate", input=input)
    attrs = {"win_size": win_size, "pad_value": pad_value}
    return _apply("sequence_enumerate", input, {"X": input}, attrs, name=name, stop_gradient=True)


def sequence_erase(input: Variable, tokens: Sequence[int], name: str | None = None) -> Variable:
    """Drop the rows that hold one of the tokens."""
    _check("sequence_erase", input=input)
    return _apply("sequence_erase", input, {"X": [input]}, {"tokens": list(tokens)}, name=name, stop_gradient=True)


def sequence_scatter(input: Variable, index: Variable, updates: Variable, name: str | None = None) -> Variable:
    """Add sequence i of `updates` to row i of the input, at the columns of sequence i of `index`."""
    _check("sequence_scatter", input=input, index=index, updates=updates)
    return _apply("sequence_scatter", input, {"X": input, "Ids": index, "Updates": updates}, name=name)


def sequence_mask(x: Variable, maxlen: object = None, dtype: DTypeLike = "int64", name: str | None = None) -> Variable:
    """Turn lengths into rows of ones and zeros, `maxlen` wide (default: the largest length)."""
    _check("sequence_mask", x=x)
    kind = VarType.BOOL if dtype is None else to_vartype(dtype)  # Fluid: without a dtype the mask is bool
    inputs: dict[str, Any] = {"X": [x]}
    attrs: dict[str, Any] = {"out_dtype": kind}
    if isinstance(maxlen, Variable):
        inputs["MaxLenTensor"] = maxlen
    else:
        attrs["maxlen"] = -1 if maxlen is None else maxlen
    return _apply("sequence_mask", x, inputs, attrs, name=name, out="Y", dtype=kind, stop_gradient=True)


def lod_reset(x: Variable, y: Variable | None = None, target_lod: Sequence[int] | None = None) -> Variable:
    """Set the LoD of x to that of y (or to the offsets y holds), or to the offsets `target_lod`."""
    _check("lod_reset", x=x)
    if y is not None:
        return _apply("lod_reset", x, {"X": x, "Y": y})
    if target_lod is None:
        raise ValueError("lod_reset: give y or target_lod")
    return _apply("lod_reset", x, {"X": x}, {"target_lod": as_list(target_lod)})


def lod_append(x: Variable, level: object) -> Variable:
    """Add an innermost LoD level: a list of offsets, or a Variable that holds them or has them as LoD."""
    _check("lod_append", x=x)
    if isinstance(level, Variable):
        return _apply("lod_append", x, {"X": x, "Y": level}, {"append": True}, op="lod_reset")
    if not isinstance(level, (list, tuple, np.ndarray)):
        raise ValueError(f"lod_append: level must be a Variable or a list of numbers, got {type(level).__name__}")
    return _apply("lod_append", x, {"X": x}, {"append": True, "target_lod": list(level)}, op="lod_reset")


def row_conv(
    input: Variable, future_context_size: int, param_attr: AttrLike = None, act: str | None = None
) -> Variable:
    """Sum each row and the `future_context_size` rows after it with learned weights for each column."""
    _check("row_conv", input=input)
    helper = LayerHelper("row_conv", **locals())
    weight = helper.create_parameter(helper.param_attr, [future_context_size + 1, input.shape[-1]], input.dtype)
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type="row_conv", inputs={"X": [input], "Filter": [weight]}, outputs={"Out": [out]})
    return helper.append_activation(out)


def _pair(value: Any) -> list[int]:
    return [value, value] if isinstance(value, int) else list(value)


def im2sequence(
    input: Variable,
    filter_size: Sizes = 1,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    input_image_size: Variable | None = None,
    out_stride: object = 1,
    name: str | None = None,
) -> Variable:
    """Cut images into patches; each image becomes a sequence of them."""
    _check("im2sequence", input=input)
    paddings = _pair(padding)
    if len(paddings) == 2:
        paddings = [*paddings, *paddings]
    inputs: dict[str, Any] = {"X": input}
    attrs = {"kernels": _pair(filter_size), "strides": _pair(stride), "paddings": paddings}
    if input_image_size is not None:
        inputs["Y"] = input_image_size
        attrs["out_stride"] = _pair(out_stride)
    return _apply("im2sequence", input, inputs, attrs, name=name)

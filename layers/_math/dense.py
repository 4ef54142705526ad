"""Matrix products and other staples: fc, matmul, mean, softmax, topk."""

from __future__ import annotations

import math
from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import check_variable, warn_ignored
from fluidio.param_attr import AttrLike
from fluidio.program import Variable

__all__ = ["bilinear_tensor_product", "bmm", "fc", "matmul", "mean", "mul", "scale", "softmax", "topk"]


def fc(
    input: object,
    size: int,
    num_flatten_dims: int = 1,
    param_attr: object = None,
    bias_attr: object = None,
    act: str | None = None,
    name: str | None = None,
    *,
    is_test: bool | None = None,
) -> Variable:
    """Fully connected layer: act(sum of input W + b); each input has its own weight.

    Args:
        num_flatten_dims: leading dims that count as rows; -1 is all but the last.
        is_test: an argument of Fluid before 1.4; ignored, as it was there.
    """
    if is_test is not None:
        warn_ignored("fc", "is_test")
    helper = LayerHelper("fc", input=input, param_attr=param_attr, bias_attr=bias_attr, act=act, name=name)
    dtype = helper.input_dtype()
    products = []
    for variable, attr in helper.iter_inputs_and_params():
        if num_flatten_dims == -1:
            num_flatten_dims = len(variable.shape) - 1
        columns = math.prod(variable.shape[num_flatten_dims:])
        if columns < 0:
            raise ValueError(
                f"fc: the dims of {variable.name} {list(variable.shape)} from dim {num_flatten_dims} on must "
                "be known: they decide the size of the weight"
            )
        weight = helper.create_parameter(attr, [columns, size], dtype)
        out = helper.create_variable_for_type_inference(dtype)
        helper.append_op(
            type="mul",
            inputs={"X": [variable], "Y": [weight]},
            outputs={"Out": [out]},
            attrs={"x_num_col_dims": num_flatten_dims, "y_num_col_dims": 1},
        )
        products.append(out)
    if len(products) == 1:
        before_bias = products[0]
    else:
        before_bias = helper.create_variable_for_type_inference(dtype)
        helper.append_op(type="sum", inputs={"X": products}, outputs={"Out": [before_bias]})
    return helper.append_activation(helper.append_bias_op(before_bias, dim_start=num_flatten_dims))


def mul(
    x: Variable, y: Variable, x_num_col_dims: int = 1, y_num_col_dims: int = 1, name: str | None = None
) -> Variable:
    """Matrix product of x and y flattened to matrices."""
    helper = LayerHelper("mul", **locals())
    out = helper.create_variable_for_type_inference(x.dtype)
    attrs = {"x_num_col_dims": x_num_col_dims, "y_num_col_dims": y_num_col_dims}
    helper.append_op(type="mul", inputs={"X": [x], "Y": [y]}, outputs={"Out": [out]}, attrs=attrs)
    return out


def matmul(
    x: Variable,
    y: Variable,
    transpose_x: bool = False,
    transpose_y: bool = False,
    alpha: float = 1.0,
    name: str | None = None,
) -> Variable:
    """alpha * (x @ y) on the last two dims; a vector is a row on the left and a column on the right."""
    helper = LayerHelper("matmul", name=name)
    out = helper.create_variable_for_type_inference(check_variable("matmul", "x", x).dtype)
    helper.append_op(
        type="matmul",
        inputs={"X": [x], "Y": [check_variable("matmul", "y", y)]},
        outputs={"Out": [out]},
        attrs={"transpose_X": transpose_x, "transpose_Y": transpose_y, "alpha": float(alpha)},
    )
    return out


def bmm(x: Variable, y: Variable, name: str | None = None) -> Variable:
    """x @ y for each pair of matrices in a batch."""
    helper = LayerHelper("bmm", name=name)
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="bmm", inputs={"X": [x], "Y": y}, outputs={"Out": [out]})
    return out


def bilinear_tensor_product(
    x: Variable,
    y: Variable,
    size: int,
    act: str | None = None,
    name: str | None = None,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
) -> Variable:
    """act(x @ W_i @ y' + b) with one matrix W_i for each i below size."""
    helper = LayerHelper("bilinear_tensor_product", act=act, name=name, param_attr=param_attr, bias_attr=bias_attr)
    weight = helper.create_parameter(helper.param_attr, [size, x.shape[1], y.shape[1]], x.dtype)
    out = helper.create_variable_for_type_inference(x.dtype)
    inputs: dict[str, Any] = {"X": [x], "Y": [y], "Weight": [weight]}
    bias = helper.create_parameter(helper.bias_attr, [1, size], x.dtype, is_bias=True)
    if bias is not None:
        inputs["Bias"] = [bias]
    helper.append_op(type="bilinear_tensor_product", inputs=inputs, outputs={"Out": [out]})
    return helper.append_activation(out)


def scale(
    x: Variable,
    scale: float | Variable = 1.0,
    bias: float = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """scale * x + bias or, with bias_after_scale=False, scale * (x + bias); scale may be a Variable."""
    helper = LayerHelper("scale", act=act, name=name)
    inputs: dict[str, Any] = {"X": [check_variable("scale", "x", x)]}
    attrs: dict[str, Any] = {"bias": float(bias), "bias_after_scale": bias_after_scale}
    if isinstance(scale, Variable):
        inputs["ScaleTensor"] = [scale]
    else:
        attrs["scale"] = float(scale)
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="scale", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return helper.append_activation(out)


def mean(x: Variable, name: str | None = None) -> Variable:
    """Mean of all elements, shape [1]."""
    helper = LayerHelper("mean", **locals())
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="mean", inputs={"X": [x]}, outputs={"Out": [out]})
    return out


def softmax(input: Variable, use_cudnn: bool = False, name: str | None = None, axis: int = -1) -> Variable:
    """Softmax along `axis`."""
    helper = LayerHelper("softmax", **locals())
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="softmax", inputs={"X": [input]}, outputs={"Out": [out]}, attrs={"axis": axis, "use_cudnn": use_cudnn}
    )
    return out


def topk(input: Variable, k: object, name: str | None = None) -> tuple[Variable, Variable]:
    """Return the k largest entries of each row and their positions."""
    helper = LayerHelper("top_k", **locals())
    values = helper.create_variable_for_type_inference(input.dtype)
    indices = helper.create_variable_for_type_inference("int64")
    inputs: dict[str, Any] = {"X": [input]}
    if isinstance(k, Variable):
        inputs["K"] = [k]
    attrs = {} if isinstance(k, Variable) else {"k": k}
    helper.append_op(type="top_k", inputs=inputs, outputs={"Out": [values], "Indices": [indices]}, attrs=attrs)
    values.stop_gradient = True
    indices.stop_gradient = True
    return values, indices

"""Products of tensors other than matmul, and related functions."""

from __future__ import annotations

import warnings

from fluidio.layer_helper import LayerHelper
from fluidio.layers._create.tensors import assign
from fluidio.layers._math.elementwise import elementwise_add, elementwise_mul
from fluidio.layers.arguments import apply, check_variable
from fluidio.program import Variable

__all__ = [
    "addcmul",
    "addmm",
    "allclose",
    "clamp",
    "continuous_value_model",
    "cross",
    "dist",
    "dot",
    "elementwise_equal",
    "kron",
    "similarity_focus",
]


def _pair(op_type: str, x: Variable, y: Variable, out: Variable, helper: LayerHelper, attrs: object = None) -> Variable:
    inputs = {"X": [check_variable(op_type, "x", x)], "Y": [check_variable(op_type, "y", y)]}
    helper.append_op(type=op_type, inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def addmm(
    input: Variable, x: Variable, y: Variable, alpha: float = 1.0, beta: float = 1.0, name: str | None = None
) -> Variable:
    """beta * input + alpha * (x @ y)."""
    helper = LayerHelper("addmm", name=name)
    out = helper.create_variable_for_type_inference(check_variable("addmm", "x", x).dtype)
    inputs = {"Input": input, "X": [x], "Y": [check_variable("addmm", "y", y)]}
    attrs = {"Alpha": alpha, "Beta": beta}
    helper.append_op(type="addmm", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def addcmul(
    input: Variable,
    tensor1: Variable,
    tensor2: Variable,
    value: float = 1.0,
    out: Variable | None = None,
    name: str | None = None,
) -> Variable:
    """input + value * tensor1 * tensor2."""
    found = elementwise_add(input, elementwise_mul(tensor1, tensor2) * value)
    return found if out is None else assign(found, out)


def allclose(
    input: Variable,
    other: Variable,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
    name: str | None = None,
) -> Variable:
    """Whether every |input - other| <= atol + rtol |other|, shape [1]."""
    helper = LayerHelper("allclose", name=name)
    out = helper.create_variable_for_type_inference("bool")
    inputs = {"Input": input, "Other": other}
    attrs = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
    helper.append_op(type="allclose", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def clamp(
    input: Variable,
    min: float | Variable | None = None,
    max: float | Variable | None = None,
    output: Variable | None = None,
    name: str | None = None,
) -> Variable:
    """Clip values to [min, max], numbers or Variables; either may be omitted.

    Fluid: without min, values are clipped at 0 from below; a warning says so, and min=float("-inf") avoids it.
    """
    if min is None and max is None:
        raise ValueError("clamp: give min, max or both")
    helper = LayerHelper("clamp", name=name)
    out = output
    if out is None:
        out = helper.create_variable_for_type_inference(check_variable("clamp", "input", input).dtype)
    if min is None:
        warnings.warn(
            'clamp without min also cuts values below 0, as in Fluid; pass min=float("-inf") to keep them', stacklevel=2
        )
    inputs, attrs = {"X": [input]}, {"min": 0.0, "max": float("inf")}
    for word, bound in (("min", min), ("max", max)):
        if isinstance(bound, Variable):
            bound.stop_gradient = True
            inputs[word.capitalize()] = [bound]
        elif bound is not None:
            attrs[word] = float(bound)
    helper.append_op(type="clip", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def cross(input: Variable, other: Variable, dim: int | None = None) -> Variable:
    """Cross products along a dim of size 3, by default the first such dim.

    Fluid: dim 0 counts as none given.
    """
    helper = LayerHelper("cross")
    out = helper.create_variable_for_type_inference(check_variable("cross", "input", input).dtype)
    return _pair("cross", input, other, out, helper, {"dim": dim} if dim else None)


def dist(x: Variable, y: Variable, p: float = 2) -> Variable:
    """The p-norm of x - y, shape [1]."""
    helper = LayerHelper("dist")
    out = helper.create_variable_for_type_inference(check_variable("dist", "x", x).dtype)
    return _pair("dist", x, y, out, helper, {"p": float(p)})


def dot(x: Variable, y: Variable, name: str | None = None) -> Variable:
    """The sum of x * y along the last dim, which is kept with size 1."""
    helper = LayerHelper("dot", name=name)
    dtype = check_variable("dot", "x", x).dtype
    if name is None:
        out = helper.create_variable_for_type_inference(dtype)
    else:
        out = helper.create_variable(name=name, dtype=dtype, persistable=False)
    return _pair("dot", x, y, out, helper)


def kron(x: Variable, y: Variable, out: Variable | None = None, name: str | None = None) -> Variable:
    """The Kronecker product: every element of x times all of y, dim by dim."""
    helper = LayerHelper("kron", name=name)
    if out is None:
        out = helper.create_variable_for_type_inference(check_variable("kron", "x", x).dtype)
    return _pair("kron", x, y, out, helper)


def elementwise_equal(x: Variable, y: Variable, name: str | None = None) -> Variable:
    """Where x and y are equal."""
    helper = LayerHelper("elementwise_equal", name=name)
    out = helper.create_variable_for_type_inference("bool", stop_gradient=True)
    return _pair("equal", x, y, out, helper)


def similarity_focus(input: Variable, axis: int, indexes: list[int], name: str | None = None) -> Variable:
    """Ones along `axis` where a slice in `indexes` has one of its largest elements, zeros elsewhere."""
    if axis not in (1, 2, 3):
        raise ValueError(f"similarity_focus: axis must be 1, 2 or 3, got {axis}")
    if not indexes:
        raise ValueError("similarity_focus: indexes is empty")
    helper = LayerHelper("similarity_focus", name=name)
    return apply(helper, "similarity_focus", input, {"axis": axis, "indexes": list(indexes)})


def continuous_value_model(input: Variable, cvm: Variable, use_cvm: bool = True) -> Variable:
    """An embedding with logarithms of its first two columns (shows and clicks), or without these columns."""
    helper = LayerHelper("cvm", input=input)
    check_variable("cvm", "input", input)
    out = helper.create_variable(dtype=input.dtype)
    inputs = {"X": [input], "CVM": [check_variable("cvm", "cvm", cvm)]}
    helper.append_op(type="cvm", inputs=inputs, outputs={"Y": [out]}, attrs={"use_cvm": use_cvm})
    return out

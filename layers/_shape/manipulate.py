"""Reshape, slice, join and repeat tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.dtypes import VarType
from fluidio.era import era
from fluidio.layer_helper import LayerHelper
from fluidio.layers._create.joined import join_array
from fluidio.layers.arguments import as_list, check_variable, dims_as_variables, has_variables, plain_dims, whole
from fluidio.program import Variable
from fluidio.program.arguments import ShapeLike, Sizes

__all__ = [
    "crop",
    "crop_tensor",
    "expand",
    "expand_as",
    "flatten",
    "rank",
    "reshape",
    "shape",
    "size",
    "slice",
    "split",
    "squeeze",
    "stack",
    "strided_slice",
    "transpose",
    "unsqueeze",
    "unstack",
]


def reshape(
    x: Variable,
    shape: Any,
    actual_shape: Variable | None = None,
    act: str | None = None,
    inplace: bool = False,
    name: str | None = None,
) -> Variable:
    """x in another shape: 0 copies a dim of x, one -1 is inferred; dims or the whole shape may be Variables.

    Args:
        actual_shape: a Variable that overrides `shape` at run time.
        inplace: write into x itself.
    """
    check_variable("reshape", "x", x)
    helper = LayerHelper("reshape2", act=act, name=name)
    inputs: dict[str, Any] = {"X": [x]}
    attrs: dict[str, Any] = {}
    if isinstance(shape, Variable):
        shape.stop_gradient = True
        inputs["Shape"] = [shape]
    else:
        if not shape:
            raise ValueError("reshape: shape must not be empty")
        if plain_dims([d for d in shape if not isinstance(d, Variable)]).count(-1) > 1:
            raise ValueError(f"reshape: only one size in shape can be -1 (the rest of the elements), got {list(shape)}")
        attrs["shape"] = plain_dims(shape)
        if has_variables(shape):
            inputs["ShapeTensor"] = dims_as_variables(helper, shape)
        elif isinstance(actual_shape, Variable):
            actual_shape.stop_gradient = True
            inputs["Shape"] = [actual_shape]
    out = x if inplace else helper.create_variable_for_type_inference(x.dtype)
    x_shape = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="reshape2", inputs=inputs, outputs={"Out": [out], "XShape": [x_shape]}, attrs=attrs)
    return helper.append_activation(out)


def _with_x_shape(op_type: str, helper: LayerHelper, inputs: dict[str, Any], attrs: dict[str, Any]) -> Variable:
    x = inputs["X"][0]
    out = helper.create_variable_for_type_inference(x.dtype)
    x_shape = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type=op_type, inputs=inputs, outputs={"Out": [out], "XShape": [x_shape]}, attrs=attrs)
    return out


def transpose(x: Variable, perm: Sequence[int], name: str | None = None) -> Variable:
    """x with its dims in the order of perm."""
    check_variable("transpose", "x", x)
    if len(perm) != len(x.shape):
        raise ValueError(
            f"transpose: perm must name each of the {len(x.shape)} dims of {x.name} once, got {list(perm)}"
        )
    if any(p >= len(x.shape) for p in perm):
        raise ValueError(
            f"transpose: perm {list(perm)} names a dim that {x.name} does not have; it has {len(x.shape)} dims"
        )
    return _with_x_shape(
        "transpose2", LayerHelper("transpose", name=name), {"X": [x]}, {"axis": [int(p) for p in perm]}
    )


def squeeze(input: Variable, axes: Sequence[int], name: str | None = None) -> Variable:
    """x without the dims of size one among `axes` (all of them if empty)."""
    check_variable("squeeze", "input", input)
    return _with_x_shape("squeeze2", LayerHelper("squeeze", name=name), {"X": [input]}, {"axes": list(axes)})


def unsqueeze(input: Variable, axes: Sequence[int], name: str | None = None) -> Variable:
    """x with dims of size one inserted at `axes`: a number, a list, or Variables."""
    check_variable("unsqueeze", "input", input)
    helper = LayerHelper("unsqueeze2", name=name)
    inputs: dict[str, Any] = {"X": [input]}
    attrs: dict[str, Any] = {}
    if isinstance(axes, int):
        attrs["axes"] = [axes]
    elif isinstance(axes, Variable):
        axes.stop_gradient = True
        inputs["AxesTensor"] = [axes]
    elif has_variables(axes):
        inputs["AxesTensorList"] = dims_as_variables(helper, axes)
    else:
        attrs["axes"] = [int(a) for a in axes]
    return _with_x_shape("unsqueeze2", helper, inputs, attrs)


def flatten(x: Variable, axis: int = 1, name: str | None = None) -> Variable:
    """x as a matrix: the dims before `axis` are its rows."""
    check_variable("flatten", "x", x)
    if not isinstance(axis, int) or not 0 <= axis <= len(x.shape):
        raise ValueError(
            f"flatten: axis must be an int from 0 to {len(x.shape)}, the number of dims of {x.name}, got {axis!r}"
        )
    return _with_x_shape("flatten2", LayerHelper("flatten", name=name), {"X": [x]}, {"axis": axis})


def stack(x: Any, axis: int = 0) -> Variable:
    """Tensors of one shape along a new axis."""
    helper = LayerHelper("stack")
    if isinstance(x, Variable) and x.type is VarType.LOD_TENSOR_ARRAY:
        return join_array(helper, x, axis, use_stack=True)
    parts = list(x) if isinstance(x, (list, tuple)) else [x]
    out = helper.create_variable_for_type_inference(parts[0].dtype)
    helper.append_op(type="stack", inputs={"X": x}, outputs={"Y": [out]}, attrs={"axis": axis})
    return out


def unstack(x: Variable, axis: int = 0, num: int | None = None) -> list[Variable]:
    """The slices of x along axis, as a list."""
    helper = LayerHelper("unstack")
    if num is None:
        num = x.shape[axis]
        if num is None or num < 0:
            raise ValueError(f"unstack: the size of dim {axis} of {x.name} {list(x.shape)} is unknown: pass num")
    outs = [helper.create_variable_for_type_inference(x.dtype) for _ in range(num)]
    helper.append_op(type="unstack", inputs={"X": [x]}, outputs={"Y": outs}, attrs={"axis": axis, "num": num})
    return outs


def split(input: Variable, num_or_sections: Any, dim: Any = -1, name: str | None = None) -> list[Variable]:
    """Split along a dim into a number of equal parts, or into parts of given sizes (one may be -1)."""
    check_variable("split", "input", input)
    helper = LayerHelper("split", name=name)
    inputs: dict[str, Any] = {"X": [input]}
    attrs: dict[str, Any] = {}
    if isinstance(dim, Variable):
        dim.stop_gradient = True
        inputs["AxisTensor"] = [dim]
    else:
        if not -len(input.shape) <= dim < len(input.shape):
            raise ValueError(f"split: {input.name} has {len(input.shape)} dims and no dim {dim}")
        attrs["axis"] = dim % len(input.shape)
    if isinstance(num_or_sections, int):
        count = num_or_sections
        size = -1 if isinstance(dim, Variable) else input.shape[dim]
        if era().checks_layer_arguments and (count < 1 or (size > 0 and size % count)):
            raise AssertionError(f"split: dim {dim} has {size} entries, which cannot be cut into {count} equal parts")
        attrs["num"] = count
    else:
        count = len(num_or_sections)
        attrs["sections"] = plain_dims(num_or_sections)
        if has_variables(num_or_sections):
            inputs["SectionsTensorList"] = dims_as_variables(helper, num_or_sections)
    outs = [helper.create_variable_for_type_inference(input.dtype) for _ in range(count)]
    helper.append_op(type="split", inputs=inputs, outputs={"Out": outs}, attrs=attrs)
    return outs


def _bounds(
    helper: LayerHelper, inputs: dict[str, Any], attrs: dict[str, Any], bounds: dict[str, Any], dims: int
) -> None:
    """Set starts, ends and strides: plain numbers as attributes, Variables as inputs."""
    attrs["infer_flags"] = [1] * dims
    for word, values in bounds.items():
        if isinstance(values, Variable):
            values.stop_gradient = True
            inputs[f"{word}Tensor"] = [values]
            if word != "Strides":  # Fluid: strides in one tensor change no flag
                attrs["infer_flags"] = [-1] * dims
            continue
        attrs[word.lower()] = plain_dims(values)
        if has_variables(values):
            inputs[f"{word}TensorList"] = dims_as_variables(helper, values)
            for at, value in enumerate(values):
                if isinstance(value, Variable):
                    attrs["infer_flags"][at] = -1


def slice(
    input: Variable,
    axes: Sequence[int],
    starts: Sequence[int | Variable] | Variable,
    ends: Sequence[int | Variable] | Variable,
) -> Variable:
    """The part from starts to ends along axes; negative numbers count from the end."""
    input = check_variable("slice", "input", input)
    helper = LayerHelper("slice")
    inputs: dict[str, Any] = {"Input": input}
    attrs: dict[str, Any] = {"axes": list(axes)}
    _bounds(helper, inputs, attrs, {"Starts": starts, "Ends": ends}, len(axes))
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type="slice", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def strided_slice(
    input: Variable,
    axes: Sequence[int],
    starts: Sequence[int | Variable] | Variable,
    ends: Sequence[int | Variable] | Variable,
    strides: Sizes,
) -> Variable:
    """The part from starts to ends along axes, in steps of strides."""
    check_variable("strided_slice", "input", input)
    helper = LayerHelper("strided_slice")
    inputs: dict[str, Any] = {"Input": [input]}
    attrs: dict[str, Any] = {"axes": list(axes)}
    _bounds(helper, inputs, attrs, {"Starts": starts, "Ends": ends, "Strides": strides}, len(axes))
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type="strided_slice", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def crop(x: Variable, shape: Any = None, offsets: Any = None, name: str | None = None) -> Variable:
    """The piece of x of the given shape (a list, or the shape of a Variable) at offsets (zeros by default)."""
    helper = LayerHelper("crop", name=name)
    if not isinstance(shape, (list, tuple, Variable)):
        raise ValueError(f"crop: shape must be a list, a tuple or a Variable, got {type(shape).__name__}")
    inputs: dict[str, Any] = {"X": [x]}
    attrs: dict[str, Any] = {}
    if isinstance(shape, Variable):
        inputs["Y"] = [shape]
    else:
        attrs["shape"] = as_list(shape)
    if isinstance(offsets, Variable):
        inputs["Offsets"] = [offsets]
    else:
        attrs["offsets"] = [0] * len(x.shape) if offsets is None else as_list(offsets)
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="crop", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def crop_tensor(x: Variable, shape: ShapeLike | None = None, offsets: Any = None, name: str | None = None) -> Variable:
    """The piece of x of the given shape at offsets; -1 in shape reaches to the end; both may be Variables."""
    helper = LayerHelper("crop_tensor", name=name)
    inputs: dict[str, Any] = {"X": [x]}
    attrs: dict[str, Any] = {}
    out = helper.create_variable_for_type_inference(x.dtype)
    if isinstance(offsets, Variable):
        inputs["Offsets"] = [offsets]
    else:
        starts = [0] * len(x.shape) if offsets is None else offsets
        attrs["offsets"] = plain_dims(starts)
        if has_variables(starts):
            inputs["OffsetsTensor"] = dims_as_variables(helper, starts)
    if isinstance(shape, Variable):
        inputs["Shape"] = [shape]
    else:
        wanted = list(x.shape) if shape is None else shape
        attrs["shape"] = [0 if isinstance(d, Variable) else whole(d) for d in wanted]  # Fluid: 0, elsewhere -1
        if has_variables(wanted):
            inputs["ShapeTensor"] = dims_as_variables(helper, wanted)
    helper.append_op(type="crop_tensor", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def expand(x: Variable, expand_times: Any, name: str | None = None) -> Variable:
    """x repeated along each dim."""
    check_variable("expand", "x", x)
    helper = LayerHelper("expand", name=name)
    inputs: dict[str, Any] = {"X": [x]}
    attrs: dict[str, Any] = {}
    if isinstance(expand_times, Variable):
        expand_times.stop_gradient = True
        inputs["ExpandTimes"] = [expand_times]
    else:
        if any(not isinstance(times, Variable) and times <= 0 for times in expand_times):
            raise AssertionError(f"expand: expand_times must be above 0, got {list(expand_times)}")
        attrs["expand_times"] = plain_dims(expand_times)
        if has_variables(expand_times):
            inputs["expand_times_tensor"] = dims_as_variables(helper, expand_times)
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="expand", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def expand_as(x: Variable, target_tensor: Variable, name: str | None = None) -> Variable:
    """x repeated to the shape of the target."""
    helper = LayerHelper("expand_as", name=name)
    out = helper.create_variable_for_type_inference(x.dtype)
    inputs = {"X": [x], "target_tensor": [target_tensor]}
    helper.append_op(type="expand_as", inputs=inputs, outputs={"Out": [out]})
    return out


def shape(input: Variable) -> Variable:
    """The dims at run time, as an int32 tensor."""
    helper = LayerHelper("shape")
    out = helper.create_variable_for_type_inference("int32")
    helper.append_op(type="shape", inputs={"Input": [input]}, outputs={"Out": [out]})
    return out


def size(input: Variable) -> Variable:
    """The number of elements at run time."""
    helper = LayerHelper("size")
    out = helper.create_variable_for_type_inference("int64")
    helper.append_op(type="size", inputs={"Input": input}, outputs={"Out": [out]})
    return out


def rank(input: Variable) -> Variable:
    """The number of dims as a tensor."""
    import numpy as np

    from fluidio.layers._create.tensors import assign

    return assign(np.array(len(input.shape), "int32"))

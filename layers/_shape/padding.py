"""Put a border around tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import apply, as_list, check_variable
from fluidio.program import Variable
from fluidio.program.op_def import RIGHT_GRADIENT_ATTR

__all__ = ["pad", "pad2d", "pad_constant_like"]


def pad(
    x: Variable,
    paddings: Sequence[int],
    pad_value: float = 0.0,
    name: str | None = None,
    *,
    right_gradient: bool = False,
) -> Variable:
    """x with pad_value around it: paddings are (before, after) of every dim in a flat list.

    Fluid: on the CPU, gradients of the padding reach elements of the next row, and so they do here in era 1.8;
    `right_gradient` keeps them out.
    """
    attrs = {"paddings": as_list(paddings), "pad_value": float(pad_value), **_which_gradient(right_gradient)}
    return apply(LayerHelper("pad", name=name), "pad", check_variable("pad", "x", x), attrs)


def pad2d(
    input: Variable,
    paddings: Any = (0, 0, 0, 0),
    mode: str = "constant",
    pad_value: float = 0.0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Variable:
    """Images with a border [top, bottom, left, right]: "constant", "reflect" or "edge"."""
    if mode not in ("constant", "reflect", "edge"):
        raise ValueError(f"pad2d: mode must be 'constant', 'reflect' or 'edge', got {mode!r}")
    helper = LayerHelper("pad2d", name=name)
    inputs: dict[str, Any] = {"X": [check_variable("pad2d", "input", input)]}
    attrs: dict[str, Any] = {"mode": mode, "pad_value": pad_value, "data_format": data_format}
    if isinstance(paddings, Variable):
        inputs["Paddings"], attrs["paddings"] = [paddings], []
    else:
        attrs["paddings"] = as_list(paddings)
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type="pad2d", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def _which_gradient(right: bool) -> dict[str, bool]:
    return {RIGHT_GRADIENT_ATTR: True} if right else {}


def pad_constant_like(
    x: Variable,
    y: Variable,
    pad_value: float = 0.0,
    name: str | None = None,
    *,
    right_gradient: bool = False,
) -> Variable:
    """y padded with pad_value to the shape of x; for `right_gradient` see `pad`."""
    helper = LayerHelper("pad_constant_like", name=name)
    out = helper.create_variable_for_type_inference(y.dtype)
    helper.append_op(
        type="pad_constant_like",
        inputs={"X": [x], "Y": [y]},
        outputs={"Out": [out]},
        attrs={"pad_value": float(pad_value), **_which_gradient(right_gradient)},
    )
    return out

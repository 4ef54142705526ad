"""The few ops that optimizers around optimizers are made of, as `layers` of the same names append them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from fluidio.dtypes import VarType
from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable
from fluidio.program.sub_blocks import append_conditional, sub_block

__all__ = ["assign", "assign_number", "cast", "constant", "elementwise", "otherwise", "summed", "when"]


def constant(value: float, dtype: VarType = VarType.FP32) -> Variable:
    """Append a `fill_constant` of one element."""
    helper = LayerHelper("fill_constant")
    out = helper.create_variable_for_type_inference(dtype)
    attrs = {"shape": [1], "dtype": dtype, "value": float(value), "str_value": str(float(value)), "force_cpu": False}
    helper.append_op(type="fill_constant", outputs={"Out": [out]}, attrs=attrs)
    out.stop_gradient = True
    return out


def elementwise(kind: str, x: Variable, y: Variable, out: Variable | None = None) -> Variable:
    """Append `elementwise_<kind>`."""
    helper = LayerHelper(f"elementwise_{kind}")
    result = out or helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(
        type=f"elementwise_{kind}", inputs={"X": [x], "Y": [y]}, outputs={"Out": [result]}, attrs={"axis": -1}
    )
    return result


def cast(x: Variable, dtype: VarType) -> Variable:
    """Append a `cast`."""
    helper = LayerHelper("cast")
    out = helper.create_variable_for_type_inference(dtype)
    helper.append_op(
        type="cast", inputs={"X": [x]}, outputs={"Out": [out]}, attrs={"in_dtype": x.dtype, "out_dtype": dtype}
    )
    return out


def summed(variables: Sequence[Variable]) -> Variable:
    """Append a `sum`."""
    helper = LayerHelper("sum")
    out = helper.create_variable_for_type_inference(variables[0].dtype)
    helper.append_op(type="sum", inputs={"X": list(variables)}, outputs={"Out": [out]})
    return out


def assign(source: Variable, target: Variable) -> None:
    """Append an `assign`."""
    LayerHelper("assign").append_op(type="assign", inputs={"X": [source]}, outputs={"Out": [target]})


def assign_number(value: float, target: Variable) -> None:
    """Append an `assign_value` of one float."""
    attrs = {"shape": [1], "dtype": VarType.FP32, "fp32_values": [float(value)]}
    LayerHelper("assign").append_op(type="assign_value", outputs={"Out": [target]}, attrs=attrs)


@contextlib.contextmanager
def when(condition: Variable) -> Iterator[Variable]:
    """Build a block that runs if the condition is true, and yield the condition's opposite for `otherwise`."""
    helper = LayerHelper("logical_not")
    opposite = helper.create_variable_for_type_inference(VarType.BOOL)
    helper.append_op(type="logical_not", inputs={"X": [condition]}, outputs={"Out": [opposite]})
    with sub_block() as body:
        yield opposite
    append_conditional([condition], body, True)


@contextlib.contextmanager
def otherwise(opposite: Variable) -> Iterator[None]:
    """Build the block that runs if the condition of `when` is false."""
    with sub_block() as body:
        yield
    append_conditional([opposite], body, True)

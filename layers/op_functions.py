"""Layers made from descriptions of ops: `generate_layer_fn("scale")` is a function of inputs and attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluidio.dtypes import DTypeLike
from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable
from fluidio.program.op_proto import OpProto, SlotProto, all_op_protos
from fluidio.program.type_checks import check_variable_and_dtype

__all__ = ["generate_activation_fn", "generate_layer_fn"]


def _proto(op_type: str) -> OpProto:
    found = all_op_protos().get(op_type)
    if found is None:
        raise ValueError(f"there is no op {op_type!r}; `fluidio apis --ops` lists them")
    return found


def generate_layer_fn(op_type: str) -> Callable[..., Any]:
    """Return a function that appends ops of a type; the type must have exactly one output that is not intermediate.

    It takes inputs by lower-case slot name or in order, attributes by name, and an existing output as `out`.
    """
    proto = _proto(op_type)
    outputs = [slot for slot in proto.outputs if not slot.intermediate]
    if len(outputs) != 1:
        raise ValueError(
            f"a layer function has one output, but op {op_type} has several: {', '.join(s.name for s in outputs)}"
        )
    if outputs[0].duplicable:
        raise ValueError(
            f"a layer function has one output Variable, but {outputs[0].name} of op {op_type} takes a list"
        )

    def layer(*args: object, **options: object) -> Variable:
        helper = LayerHelper(op_type, **options)
        given = list(args)
        inputs = {slot.name: _input(slot, options, given, op_type) for slot in proto.inputs}
        values = [value for found in inputs.values() for value in found]
        dtype = values[0].dtype
        if any(value.dtype != dtype for value in values):
            raise ValueError(
                f"{op_type}: all inputs must have the same dtype, got {', '.join(v.dtype.name for v in values)}"
            )
        out = _output(helper, options, dtype)
        made = {outputs[0].name: [out]}
        for slot in proto.outputs:
            if slot.intermediate:
                made[slot.name] = [helper.create_variable_for_type_inference(dtype=dtype)]
        attrs = {attr.name: options[attr.name] for attr in proto.attrs if attr.name in options}
        helper.append_op(type=op_type, inputs=inputs, outputs=made, attrs=attrs)
        return helper.append_activation(out)

    layer.__name__ = op_type
    layer.__doc__ = f"Append an op {op_type}; inputs {', '.join(slot.name.lower() for slot in proto.inputs)}."
    return layer


def _input(slot: SlotProto, options: dict[str, Any], given: list[Any], op_type: str) -> list[Variable]:
    value = options.pop(slot.name.lower(), None)
    if value is None and given:
        value = given.pop(0)
    found = [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]
    for one in found:
        if not isinstance(one, Variable):
            raise ValueError(f"{op_type}: {slot.name.lower()} must be a Variable, got {type(one).__name__}")
    return found


def _output(helper: LayerHelper, options: dict[str, Any], dtype: DTypeLike) -> Variable:
    for name in ("out", "output"):
        out = options.get(name)
        if isinstance(out, (list, tuple)):
            out = out[0]
        if isinstance(out, Variable):
            return out
    made: Variable = helper.create_variable_for_type_inference(dtype=dtype)
    return made


def generate_activation_fn(op_type: str) -> Callable[..., Variable]:
    """Return a function that appends an activation: one input X, one output Out."""
    _proto(op_type)

    def activation(x: Variable, name: str | None = None) -> Variable:
        check_variable_and_dtype(x, "x", ["float16", "float32", "float64"], op_type)
        helper = LayerHelper(op_type, x=x, name=name)
        out: Variable = helper.create_variable_for_type_inference(dtype=x.dtype)
        helper.append_op(type=op_type, inputs={"X": [x]}, outputs={"Out": [out]})
        return out

    activation.__name__ = op_type
    activation.__doc__ = f"Append an op {op_type}."
    return activation

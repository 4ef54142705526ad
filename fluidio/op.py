"""`fluid.op`: single ops, created from names and run on the variables of a scope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from fluidio.dtypes import VarType, to_vartype
from fluidio.executor import Executor
from fluidio.places import PlaceLike
from fluidio.program import Block, Program
from fluidio.program.op_proto import COMMON_ATTRS, OpProto, all_op_protos
from fluidio.proto.op_messages import op_messages
from fluidio.tensor import LoDTensor, LoDTensorArray, Scope, SelectedRows

__all__ = ["Operator", "OperatorFactory", "RunnableOp", "get_all_op_protos"]

Names = dict[str, list[str]]


def get_all_op_protos() -> list[Any]:
    """Return the descriptions of all op types of Fluid 1.8.5, as `framework_pb2.OpProto` messages."""
    return op_messages()


class RunnableOp:
    """`core.Operator`: one op with names for its arguments; `run` reads and writes a scope."""

    def __init__(self, type: str, inputs: Names, outputs: Names, attrs: dict[str, Any]) -> None:
        self._type = type
        self._inputs = inputs
        self._outputs = outputs
        self._attrs = attrs
        self._built: tuple[object, Program] | None = None

    def type(self) -> str:
        return self._type

    def inputs(self) -> Names:
        return self._inputs

    def outputs(self) -> Names:
        return self._outputs

    def input_vars(self) -> list[str]:
        return [name for names in self._inputs.values() for name in names]

    def output_vars(self) -> list[str]:
        return [name for names in self._outputs.values() for name in names]

    def no_intermediate_outputs(self) -> list[str]:
        proto = all_op_protos()[self._type]
        hidden = {slot.name for slot in proto.outputs if slot.intermediate}
        return [name for slot, names in self._outputs.items() if slot not in hidden for name in names]

    def support_gpu(self) -> bool:
        return False

    def run(self, scope: Scope, place: PlaceLike) -> None:
        """Run the op on the variables of a scope."""
        Executor(place).run(self._program(scope), scope=scope, use_program_cache=True)

    def _program(self, scope: Scope) -> Program:
        """Return a program of this op alone, rebuilt if the scope's variables have changed."""
        found = {name: _describe(scope, name) for name in (*self.input_vars(), *self.output_vars())}
        if self._built is None or self._built[0] != found:
            program = Program()
            block = program.global_block()
            for name, options in found.items():
                _declare(block, name, options)
            block.append_op(type=self._type, inputs=self._inputs, outputs=self._outputs, attrs=self._attrs)
            self._built = (found, program)
        return self._built[1]

    def __str__(self) -> str:
        return f"Op({self._type}), inputs:{_listed(self._inputs)}, outputs:{_listed(self._outputs)}."


def _listed(names: Names) -> str:
    return "{" + ", ".join(f"{slot}[{', '.join(given)}]" for slot, given in names.items()) + "}"


def _describe(scope: Scope, name: str) -> tuple[VarType, tuple[int, ...], VarType]:
    variable = scope.find_var(name)
    value = None if variable is None else variable.value
    if isinstance(value, SelectedRows):
        return VarType.SELECTED_ROWS, (value.height(), *value.get_tensor().shape()[1:]), value.get_tensor()._dtype()
    if isinstance(value, LoDTensorArray):
        return VarType.LOD_TENSOR_ARRAY, (), VarType.FP32
    if isinstance(value, LoDTensor) and value.array is not None:
        return VarType.LOD_TENSOR, tuple(value.array.shape), to_vartype(value.array.dtype)
    return VarType.LOD_TENSOR, (), VarType.FP32


def _declare(block: Block, name: str, described: tuple[VarType, tuple[int, ...], VarType]) -> None:
    kind, shape, dtype = described
    block.create_var(name=name, type=kind, shape=shape, dtype=dtype, persistable=True)


@dataclass(frozen=True)
class OpInfo:
    """The factory's description of an op type."""

    name: str
    method: Callable[..., object]
    inputs: list[tuple[str, bool]]
    outputs: list[tuple[str, bool]]
    attrs: list[str]


class OperatorFactory:
    """`fluid.op.Operator`: `Operator("mul", X="x", Y="y", Out="out", x_num_col_dims=1)` makes a runnable op."""

    def __call__(self, *args: str, **options: Any) -> RunnableOp:
        if "type" in options:
            if args:
                raise ValueError("Operator: pass inputs, outputs and attributes by name, for example X='x'")
            op_type = options.pop("type")
        elif len(args) == 1:
            op_type = args[0]
        else:
            raise ValueError(
                "Operator takes the type of the op, and inputs, outputs and attributes by name, for example X='x'"
            )
        proto = _proto(op_type)
        slots = {slot.name: slot.duplicable for slot in (*proto.inputs, *proto.outputs)}
        given = {name: _argument(name, options.get(name, []), many) for name, many in slots.items()}
        known = {attr.name for attr in proto.attrs}
        attrs = {name: value for name, value in options.items() if name in known}
        return RunnableOp(
            op_type,
            {slot.name: given[slot.name] for slot in proto.inputs if given[slot.name]},
            {slot.name: given[slot.name] for slot in proto.outputs if given[slot.name]},
            attrs,
        )

    def types(self) -> list[str]:
        return list(all_op_protos())

    def get_op_info(self, type: str) -> OpInfo:
        proto = _proto(type)
        return OpInfo(
            type,
            partial(self, type),
            [(slot.name, slot.duplicable) for slot in proto.inputs],
            [(slot.name, slot.duplicable) for slot in proto.outputs],
            [attr.name for attr in (*proto.attrs, *COMMON_ATTRS)],
        )

    def get_op_input_names(self, type: str) -> list[str]:
        return [name for name, _ in self.get_op_inputs(type)]

    def get_op_inputs(self, type: str) -> list[tuple[str, bool]]:
        return self.get_op_info(type).inputs

    def get_op_output_names(self, type: str) -> list[str]:
        return [name for name, _ in self.get_op_outputs(type)]

    def get_op_outputs(self, type: str) -> list[tuple[str, bool]]:
        return self.get_op_info(type).outputs

    def get_op_attr_names(self, type: str) -> list[str]:
        return self.get_op_info(type).attrs


def _proto(op_type: str) -> OpProto:
    try:
        return all_op_protos()[op_type]
    except KeyError:
        raise ValueError(f"there is no op {op_type!r}") from None


def _argument(name: str, given: Any, many: bool) -> list[str]:
    names = [given] if isinstance(given, (str, bytes)) else list(given)
    if len(names) > 1 and not many:
        raise ValueError(f"{name} takes one variable, got {len(names)}")
    return [n.decode() if isinstance(n, bytes) else n for n in names]


Operator = OperatorFactory()

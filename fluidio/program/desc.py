"""The `desc` faces of Fluid's objects: methods where Python has attributes, as old scripts call them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fluidio import dtypes
from fluidio.dtypes import to_vartype

if TYPE_CHECKING:
    from fluidio.program.block import Block
    from fluidio.program.operator import Operator
    from fluidio.program.program import Program
    from fluidio.program.variable import Variable

__all__ = ["BlockDesc", "OpDesc", "ProgramDesc", "VarDesc"]


class VarDesc:
    """`variable.desc`; `core.VarDesc.VarType` is the enum."""

    VarType = dtypes.VarType

    def __init__(self, variable: Variable) -> None:
        self._variable = variable

    def name(self) -> str:
        return self._variable.name

    def shape(self) -> list[int]:
        return list(self._variable.shape)

    def set_shape(self, shape: Sequence[int]) -> None:
        self._variable._shape = tuple(shape)

    def dtype(self) -> dtypes.VarType:
        return self._variable.dtype

    def set_dtype(self, dtype: Any) -> None:
        self._variable._dtype = to_vartype(dtype)
        self._variable.block.program._bump()

    def type(self) -> dtypes.VarType:
        return self._variable.type

    def set_type(self, type: dtypes.VarType) -> None:
        self._variable.type = type

    def lod_level(self) -> int:
        return self._variable.lod_level

    def set_lod_level(self, level: int) -> None:
        self._variable.lod_level = level

    def persistable(self) -> bool:
        return self._variable.persistable

    def set_persistable(self, persistable: bool) -> None:
        self._variable.persistable = persistable

    def need_check_feed(self) -> bool:
        return self._variable.need_check_feed

    def set_need_check_feed(self, need: bool) -> None:
        self._variable.need_check_feed = need

    def shapes(self) -> list[list[int]]:
        return [list(shape) for shape, _, _ in self._variable.reader_slots]

    def dtypes(self) -> list[dtypes.VarType]:
        return [dtype for _, dtype, _ in self._variable.reader_slots]

    def lod_levels(self) -> list[int]:
        return [level for _, _, level in self._variable.reader_slots]

    def set_shapes(self, shapes: Sequence[Sequence[int]]) -> None:
        self._update([tuple(int(d) for d in shape) for shape in shapes], 0)

    def set_dtypes(self, dtypes: Sequence[Any]) -> None:
        self._update([to_vartype(dtype) for dtype in dtypes], 1)

    def set_lod_levels(self, levels: Sequence[int]) -> None:
        self._update(list(levels), 2)

    def _update(self, values: list[Any], field: int) -> None:
        slots = [list(slot) for slot in self._variable.reader_slots]
        while len(slots) < len(values):
            slots.append([(), dtypes.VarType.FP32, 0])
        for slot, value in zip(slots, values):
            slot[field] = value
        self._variable.reader_slots = [tuple(slot) for slot in slots]  # type: ignore[misc]


class OpDesc:
    """`operator.desc`."""

    def __init__(self, op: Operator) -> None:
        self._op = op

    def type(self) -> str:
        return self._op.type

    def input(self, name: str) -> list[str]:
        return self._op.input(name)

    def output(self, name: str) -> list[str]:
        return self._op.output(name)

    def input_names(self) -> list[str]:
        return self._op.input_names

    def output_names(self) -> list[str]:
        return self._op.output_names

    def input_arg_names(self) -> list[str]:
        return self._op.input_arg_names

    def output_arg_names(self) -> list[str]:
        return self._op.output_arg_names

    def attr(self, name: str) -> Any:
        return self._op.attr(name)

    def has_attr(self, name: str) -> bool:
        return self._op.has_attr(name)

    def attr_names(self) -> list[str]:
        return self._op.attr_names

    def set_input(self, name: str, arguments: Sequence[str]) -> None:
        self._op._inputs[name] = list(arguments)
        self._op.block.program._bump()

    def set_output(self, name: str, arguments: Sequence[str]) -> None:
        self._op._outputs[name] = list(arguments)
        self._op.block.program._bump()

    def _set_attr(self, name: str, value: Any) -> None:
        self._op._set_attr(name, value)

    set_attr = _set_attr


class BlockDesc:
    """`block.desc`."""

    def __init__(self, block: Block) -> None:
        self._block = block

    @property
    def id(self) -> int:
        return self._block.idx

    @property
    def parent(self) -> int:
        return self._block.parent_idx

    def op_size(self) -> int:
        return len(self._block.ops)

    def op(self, index: int) -> OpDesc:
        return OpDesc(self._block.ops[index])

    def var(self, name: str | bytes) -> VarDesc:
        return VarDesc(self._block.var(name.decode() if isinstance(name, bytes) else name))

    def all_vars(self) -> list[VarDesc]:
        return [VarDesc(v) for v in self._block.vars.values()]


class ProgramDesc:
    """`program.desc`."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def num_blocks(self) -> int:
        return self._program.num_blocks

    def block(self, index: int) -> BlockDesc:
        return BlockDesc(self._program.block(index))

    def serialize_to_string(self) -> bytes:
        """Return the ProgramDesc bytes that Fluid writes to `__model__`."""
        from fluidio.program.proto import serialize_program

        return serialize_program(self._program)

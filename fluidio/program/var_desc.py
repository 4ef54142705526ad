"""`core.VarDesc`: a variable's description, with methods where Python has attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from fluidio.dtypes import VarType, to_vartype
from fluidio.errors import EnforceNotMet
from fluidio.program.block import Block
from fluidio.program.program import Program
from fluidio.program.variable import Variable, to_dim

Kind = VarType  # the class below has an attribute VarType

__all__ = ["VarDesc", "as_name", "declare"]

_TENSORS = (VarType.LOD_TENSOR, VarType.LOD_TENSOR_ARRAY, VarType.SELECTED_ROWS)


def as_name(name: str | bytes) -> str:
    """Return a name that may come as bytes, as Fluid's C++ methods took it."""
    return name.decode() if isinstance(name, bytes) else name


def declare(block: Block, name: str) -> Variable:
    """Create a variable without a description, as C++ does: a tensor of BOOL without dims."""
    return Variable(block, name=name, dtype=VarType.BOOL)


class VarDesc:
    """`variable.desc`; `core.VarDesc(name)` belongs to no block. `core.VarDesc.VarType` is the enum."""

    VarType = VarType

    def __init__(self, variable: Variable | str | bytes) -> None:
        if isinstance(variable, (str, bytes)):
            variable = declare(Program().global_block(), as_name(variable))
        self._variable = variable

    def name(self) -> str:
        return self._variable.name

    def set_name(self, name: str) -> None:
        self._variable.name = name

    def shape(self) -> list[int]:
        self._need_tensor("tensor_desc")
        return list(self._variable.shape)

    get_shape = shape

    def set_shape(self, shape: Sequence[int]) -> None:
        self._need_tensor("tensor_desc")
        if isinstance(shape, str):
            raise TypeError(f"set_shape() takes a list of ints, got {shape!r}")
        self._variable._shape = tuple(to_dim(size) for size in shape)
        self.note_change()

    def dtype(self) -> Kind:
        self._need_tensor("tensor_desc")
        return self._variable.dtype

    def set_dtype(self, dtype: Any) -> None:
        self._variable._dtype = to_vartype(dtype)
        self.note_change()

    def type(self) -> Kind:
        return self._variable.type

    def set_type(self, type: Kind) -> None:
        self._variable.type = type
        self.note_change()

    def lod_level(self) -> int:
        return self._variable.lod_level

    def set_lod_level(self, level: int) -> None:
        self._variable.lod_level, self._variable.states_lod_level = level, True
        self.note_change()

    def persistable(self) -> bool:
        return self._variable.persistable

    def set_persistable(self, persistable: bool) -> None:
        self._variable.persistable = persistable

    def need_check_feed(self) -> bool:
        return self._variable.need_check_feed

    def set_need_check_feed(self, need: bool) -> None:
        self._variable.need_check_feed = need

    def shapes(self) -> list[list[int]]:
        return [list(shape) for shape, _, _ in self._reader_slots("sub_tensor_number")]

    def dtypes(self) -> list[Kind]:
        return [dtype for _, dtype, _ in self._reader_slots("sub_tensor_number")]

    def lod_levels(self) -> list[int]:
        return [level for _, _, level in self._reader_slots("lod_levels")]

    def set_shapes(self, shapes: Sequence[Sequence[int]]) -> None:
        self._update([tuple(int(d) for d in shape) for shape in shapes], 0)

    def set_dtypes(self, kinds: Sequence[Kind]) -> None:
        if not all(isinstance(kind, VarType) for kind in kinds):
            raise TypeError(f"set_dtypes() takes a list of VarType, got {kinds!r}")
        self._update(list(kinds), 1)

    def set_lod_levels(self, levels: Sequence[int]) -> None:
        self._update(list(levels), 2)

    def serialize_to_string(self) -> bytes:
        """Return the VarDesc message as bytes."""
        from fluidio.program.proto import serialize_variable

        return serialize_variable(self._variable)

    def _update(self, values: Sequence[object], field: int) -> None:
        slots: list[list[Any]] = [list(slot) for slot in self._reader_slots("sub_tensor_number")]
        while len(slots) < len(values):
            slots.append([(), VarType.FP32, 0])
        for slot, value in zip(slots, values):
            slot[field] = value
        self._variable.reader_slots = [(shape, dtype, level) for shape, dtype, level in slots]

    def _reader_slots(self, what: str) -> list[tuple[tuple[int, ...], Kind, int]]:
        if self._variable.type is not VarType.READER:
            self._refuse(what)
        return self._variable.reader_slots

    def _need_tensor(self, what: str) -> None:
        if self._variable.type not in _TENSORS:
            self._refuse(what)

    def _refuse(self, what: str) -> NoReturn:
        raise EnforceNotMet(f"the variable {self._variable.name} is a {self._variable.type.name}, which has no {what}")

    def note_change(self) -> None:
        self._variable.block.program.note_change()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VarDesc) and other._variable is self._variable

    def __hash__(self) -> int:
        return hash(id(self._variable))

    def __repr__(self) -> str:
        return f"VarDesc({self._variable.name!r})"

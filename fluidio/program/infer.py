"""The view of an op that shape inference gets while the op is appended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fluidio.dtypes import DTypeLike, VarType, to_vartype
from fluidio.errors import EnforceNotMet
from fluidio.program.call_site import describe
from fluidio.program.op_def import EMPTY

if TYPE_CHECKING:
    from fluidio.program.operator import Operator
    from fluidio.program.variable import Variable

__all__ = ["InferContext", "Shape"]

Shape = tuple[int, ...]


class InferContext:
    """Inputs, attributes and outputs of the op whose outputs are being described."""

    __slots__ = ("attrs", "block", "op")

    def __init__(self, op: Operator) -> None:
        self.op = op
        self.block = op.block
        self.attrs = op.attrs

    def inputs(self, slot: str) -> list[Variable]:
        return [self.block._var_recursive(name) for name in self.op.input(slot)]

    def has(self, slot: str) -> bool:
        return bool(self.op.input(slot))

    def input(self, slot: str) -> Variable:
        names = self.op.input(slot)
        if not names:
            self.fail(f"input {slot} is missing")
        return self.block._var_recursive(names[0])

    def shape(self, slot: str) -> Shape:
        return self.input(slot).shape

    def dtype(self, slot: str) -> VarType:
        return self.input(slot).dtype

    def wants(self, slot: str) -> bool:
        return bool(self.op.output(slot))

    def set(
        self,
        slot: str,
        shape: Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        lod_level: int | None = None,
        index: int = 0,
        type: VarType | None = None,
    ) -> None:
        """Describe an output; None leaves a property unchanged. An absent output is ignored."""
        names = self.op.output(slot)
        if index >= len(names):
            return
        variable = self.block._find_var_recursive(names[index])
        if variable is None:
            return
        if shape is not None:
            variable._shape = tuple(int(d) for d in shape)
        if dtype is not None:
            variable._dtype = to_vartype(dtype)
        if lod_level is not None:
            variable.lod_level, variable.states_lod_level = lod_level, True
        if type is not None:
            variable.type = type

    def same(self, slot: str, source: str, index: int = 0) -> None:
        """Describe an output like an input."""
        variable = self.inputs(source)[index]
        self.set(slot, variable.shape, variable.dtype, variable.lod_level, index)

    def share_lod_level(self, slot: str, source: str) -> None:
        """Give an output the LoD level of an input; with "~X" only if both have equal rows, with "" none."""
        names = self.op.input(source.removeprefix("~"))
        given = self.block._find_var_recursive(names[0]) if names else None
        for index, name in enumerate(self.op.output(slot)):
            made = self.block._find_var_recursive(name)
            apart = source[:1] == "~" and made is not None and given is not None and made.shape[:1] != given.shape[:1]
            if given is not None and not apart:
                self.set(slot, lod_level=given.lod_level, index=index)
            elif made is not None:
                made.lod_level = 0

    def check_inputs(self, slots: Iterable[str]) -> None:
        """Fail if an input is a name that no block has a variable for."""
        for slot in slots:
            for name in self.op.input(slot):
                if name != EMPTY and self.block._find_var_recursive(name) is None:
                    self.fail(f"input {slot} is {name!r}, which neither this block nor an outer one has")

    def check(self, condition: object, problem: str) -> None:
        if not condition:
            self.fail(problem)

    def fail(self, problem: str, cause: Exception | None = None) -> None:
        """Raise an EnforceNotMet that names the op, its inputs and the user's line."""
        inputs = "; ".join(
            f"{slot}={v.name} {list(v.shape)} {v.dtype.name}"
            for slot in self.op.slots_in
            for v in (self.block._find_var_recursive(n) for n in self.op.input(slot))
            if v is not None and v.type is VarType.LOD_TENSOR
        )
        site = describe(self.op.site)
        raise EnforceNotMet(
            f"op {self.op.type}: {problem}"
            + (f"\n  inputs: {inputs}" if inputs else "")
            + (f"\n  built at {site}" if site else "")
        ) from cause

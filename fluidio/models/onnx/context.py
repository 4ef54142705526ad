"""The context of a mapping function: the graph, the op's attributes, and the LoDs of its variables."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from fluidio.dtypes import VarType, to_numpy
from fluidio.models.onnx.graph import Graph, Input, Value
from fluidio.models.onnx.table import Refused
from fluidio.program.operator import Operator

if TYPE_CHECKING:
    from fluidio.models.onnx.blocks import Frame

__all__ = ["Lod", "Op"]

Lod = tuple[Value, ...]
"""Offsets of each level, the outermost first."""


class Op:
    """The op being written; call it to append a node: `k("Relu", x)`."""

    def __init__(self, frame: Frame, op: Operator) -> None:
        self.frame = frame
        self.op = op
        self.g: Graph = frame.graph
        self.lods: dict[str, list[Lod]] = {slot: [frame.lod(n) for n in op.input(slot)] for slot in op.slots_in}
        self.out_lods: dict[str, Lod | list[Lod]] = {}
        self._defaults: dict[str, Any] | None = None

    def __call__(self, op_type: str, *inputs: Input, **options: Any) -> Value:
        return self.g(op_type, *inputs, **options)

    def within(self, graph: Graph) -> Op:
        """Return the same op, writing into the body of a loop or a branch."""
        inner = copy.copy(self)
        inner.g = graph
        return inner

    # -- attributes -----------------------------------------------------------------------------------------------

    def attr(self, name: str, default: object = None) -> Any:
        """Return an attribute, or the op's own default."""
        attrs = self.op.attrs
        if name in attrs:
            return attrs[name]
        if self._defaults is None:
            self._defaults = self.op.all_attrs()
        return self._defaults.get(name, default)

    def ints(self, name: str) -> list[int]:
        found = self.attr(name)
        return [int(number) for number in found] if found is not None else []

    def dtype_attr(self, name: str) -> Any:
        return to_numpy(VarType(int(self.attr(name))))

    def refuse(self, reason: str) -> NoReturn:
        raise Refused(reason)

    # -- declarations in the program ------------------------------------------------------------------------------

    def dims(self, slot: str, index: int = 0, output: bool = False) -> tuple[int, ...]:
        """Return the declared dims of a variable; -1 is unknown."""
        names = self.op.output(slot) if output else self.op.input(slot)
        held = self.frame.held_shape(names[index]) if not output else None
        if held is not None:
            return held
        var = self.op.block._find_var_recursive(names[index])
        return tuple(var.shape) if var is not None else ()

    def declared(self, slot: str) -> Any:
        """Return the NumPy dtype that the program declares for an output."""
        var = self.op.block._find_var_recursive(self.op.output(slot)[0])
        return to_numpy(var.dtype) if var is not None else np.dtype(np.float32)

    def rank(self, value: Value, what: str = "an input") -> int:
        """Return the rank of a value; refuse an unknown one."""
        if value.rank is None:
            raise Refused(f"the rank of {what} is not known")
        return value.rank

    def axis(self, number: int, rank: int) -> int:
        return number + rank if number < 0 else number

    # -- LoD ------------------------------------------------------------------------------------------------------

    def lod(self, slot: str, index: int = 0) -> Lod:
        """Return the LoD of an input; () for none."""
        found = self.lods.get(slot, [])
        return found[index] if index < len(found) else ()

    def last_level(self, slot: str) -> Value:
        """Return the offsets of the innermost level; refuse an input without LoD."""
        found = self.lod(slot)
        if not found:
            raise Refused(f"input {slot} ({self.op.input(slot)[0]}) has no LoD: its data variable needs lod_level=1")
        return found[-1]

    def pass_lod(self, slot: str = "X", out: str = "Out") -> None:
        self.out_lods[out] = self.lod(slot)

    def wanted(self, slot: str) -> bool:
        return bool(self.op.output(slot))

    def const(self, value: Value, what: str) -> Any:
        """Return the array of a value; refuse one that is not known when the model is written."""
        if value.constant is None:
            raise Refused(f"{what} is computed when the model runs; ONNX needs it when the model is written")
        return value.constant

    def same_dtype(self, *values: Value) -> list[Value]:
        """Convert values to the widest of their dtypes."""
        dtype = np.result_type(*[value.dtype for value in values])
        return [self.g.cast(value, dtype) for value in values]

    def tensor_dims(self, tensors: Sequence[Value] | None) -> list[int | Value] | None:
        """Return a list of shape tensors as dims for `Graph.reshape`; None without a list."""
        if not tensors:
            return None
        found: list[int | Value] = []
        for tensor in tensors:
            if tensor.constant is not None:
                found.append(int(tensor.constant.reshape(-1)[0]))
            else:
                found.append(self.g.flat(self.g.cast(tensor, np.int64)))
        return found

"""Frame: the values of one run of a plan, by slot number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fluidio.distributed.table import DividedTensor
from fluidio.tensor import LoDTensor, LoDTensorArray, Scope, ScopeVariable, SelectedRows
from fluidio.tensor.lod import LoD

if TYPE_CHECKING:
    from fluidio.executor.plan import Plan

__all__ = ["Frame", "value_of"]


class Frame:
    """The values shared by the steps of one run.

    Attributes:
        values: one entry for each slot: an array, SelectedRows, a LoDTensorArray, a reader ... or None while unset.
        lods: the LoD of each slot.
        variables: the scope variable behind each persistable slot, else None.
    """

    __slots__ = ("lods", "plan", "scope", "values", "variables")

    def __init__(
        self, plan: Plan, scope: Scope, values: list[Any], lods: list[LoD], variables: list[ScopeVariable | None]
    ) -> None:
        self.plan = plan
        self.scope = scope
        self.values = values
        self.lods = lods
        self.variables = variables

    def store(self, slot: int) -> None:
        """Write a persistable slot through to its scope variable."""
        variable = self.variables[slot]
        if variable is None:
            return
        variable.writes += 1
        value = self.values[slot]
        held = variable.value
        if type(held) is DividedTensor:
            if value is not held.table:
                held.array = value  # this trainer keeps its rows
        elif hasattr(value, "dtype"):
            if type(held) is LoDTensor:
                if held.array is not value:
                    held.array = value
                held.levels = self.lods[slot]
            elif type(held) is SelectedRows and not len(held.index):  # a handle to rows not set yet
                held.value = value
                held.set_height(value.shape[0] if value.ndim else 0)
            else:
                variable.value = LoDTensor.wrap(value, self.lods[slot])
        elif type(held) is SelectedRows and type(value) is SelectedRows:
            held.become(value)  # a handle taken before the run sees what the run wrote
        elif type(held) is LoDTensorArray and type(value) is LoDTensorArray:
            held.items = value.items
        else:
            variable.value = value

    def tensor(self, slot: int) -> LoDTensor:
        """Return a slot as a LoDTensor that shares its data."""
        return LoDTensor.wrap(self.values[slot], self.lods[slot])

    def set(self, slot: int, value: object, lod: LoD = ()) -> None:
        """Set a slot and write it through if it persists."""
        self.values[slot] = value
        self.lods[slot] = lod
        if self.variables[slot] is not None:
            self.store(slot)


def value_of(variable: ScopeVariable) -> tuple[Any, LoD]:
    """Return the value and LoD of a scope variable in the form a frame holds them."""
    held = variable.value
    if type(held) is LoDTensor:
        return held.array, held.levels
    return held.table if type(held) is DividedTensor else held, ()

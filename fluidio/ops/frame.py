"""Frame, RunningPlan, SubBlock, BoundStep: the executor as kernels of control-flow ops see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from fluidio.program import Block, Operator
from fluidio.tensor import LoDTensor, Scope, ScopeVariable
from fluidio.tensor.lod import LoD

if TYPE_CHECKING:
    from fluidio.ops.kernel import Backend, Call

__all__ = ["BoundStep", "Frame", "RunningPlan", "SubBlock"]

Saved = tuple[list[Any], list[LoD]]


class BoundStep(Protocol):
    """One op of a block, bound to slots."""

    @property
    def op(self) -> Operator: ...

    @property
    def call(self) -> Call: ...

    @property
    def reads(self) -> Sequence[int]: ...

    @property
    def writes(self) -> Sequence[int]: ...


class RunningPlan(Protocol):
    """The compiled program that a frame belongs to."""

    @property
    def dev(self) -> Backend: ...

    @property
    def sub_blocks(self) -> Mapping[int, SubBlock]:
        """Bodies of loops and branches, by the number of their block."""
        ...

    def name_of(self, slot: int) -> str:
        """Return the variable behind a slot."""
        ...

    def touched(self, step: BoundStep) -> tuple[set[int], set[int]]:
        """Return the slots a step reads and writes, including those of its sub-blocks."""
        ...


class Frame(Protocol):
    """The values of one run, by slot number.

    Attributes:
        values: an array, SelectedRows, a LoDTensorArray, a reader ... or None while unset.
        lods: the LoD of each slot.
        variables: the scope variable behind each persistable slot, else None.
    """

    values: list[Any]
    lods: list[LoD]
    variables: list[ScopeVariable | None]
    scope: Scope

    @property
    def plan(self) -> RunningPlan: ...

    def store(self, slot: int) -> None:
        """Write a persistable slot through to its scope variable."""
        ...

    def tensor(self, slot: int) -> LoDTensor:
        """Return a slot as a LoDTensor that shares its data."""
        ...

    def set(self, slot: int, value: Any, lod: LoD = ()) -> None:
        """Set a slot and write it through if it persists."""
        ...


class SubBlock(Protocol):
    """A loop or branch body, which runs on the frame of the whole plan."""

    @property
    def block(self) -> Block: ...

    @property
    def steps(self) -> Sequence[BoundStep]: ...

    @property
    def slots(self) -> Mapping[str, int]:
        """Slot numbers of the variables that belong to this block alone."""
        ...

    @property
    def inner(self) -> tuple[int, ...]:
        """Slots of this block and of all nested blocks: the values that one iteration leaves behind."""
        ...

    def run(self, f: Any) -> None:
        """Run all steps."""
        ...

    def clear(self, f: Any) -> None:
        """Unset the block's own variables, as at the start of an iteration."""
        ...

    def save(self, f: Any) -> Saved:
        """Return the block's own values, to be restored for its gradient."""
        ...

    def restore(self, f: Any, saved: Saved) -> None:
        """Restore saved values."""
        ...

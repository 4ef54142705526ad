"""Recompute values in the backward pass instead of keeping them: the ops between checkpoints are repeated.

Each run of ops up to a checkpoint is a segment. Before its gradient ops, backward appends the segment's ops again, with
outputs named `NAME.subprog_N`, and makes the gradient ops read those. The original values are then last used in the
forward pass and freed there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluidio.backward.grad_vars import create_grad
from fluidio.dtypes import VarType
from fluidio.program import Block, Operator, OpRole, unique_name
from fluidio.program.op_def import EMPTY, SAVED_ATTR, GradOp

__all__ = ["Recompute", "seed_dropouts"]

_DRAWS = frozenset(
    {"uniform_random", "gaussian_random", "truncated_gaussian_random", "sampling_id", "random_crop", "seed"}
)


def seed_dropouts(block: Block) -> None:
    """Seed each dropout by a separate op, so that it draws the same mask when it is repeated."""
    for op in [op for op in block.ops if op.type == "dropout" and not op.input("Seed")]:
        seed = block.create_var(name=unique_name.generate("seed") + ".tmp_0", dtype=VarType.INT32, stop_gradient=True)
        fixed = int(op.attr("seed")) if op.attr("fix_seed") else 0
        with block.program.role_guard(OpRole.Forward):
            block._insert_op(block.ops.index(op), type="seed", outputs={"Out": [seed]}, attrs={"seed": fixed})
        op.slots_in["Seed"] = [seed.name]
    block.program.note_change()


class Recompute:
    """The segments of one backward pass.

    Args:
        ops: the ops that the loss depends on, in order.
        checkpoints: names of the variables to keep.
    """

    def __init__(self, block: Block, ops: Sequence[Operator], checkpoints: set[str]) -> None:
        self.block = block
        self.checkpoints = checkpoints
        self._segments = _split(ops, checkpoints)
        self._number = {id(op): number for number, segment in enumerate(self._segments) for op in segment}
        self._outside = [self._used_outside(ops, number) for number in range(len(self._segments))]
        self._again: dict[int, dict[str, str]] = {}

    def _used_outside(self, ops: Sequence[Operator], number: int) -> set[str]:
        others = (op for op in ops if self._number.get(id(op)) != number)
        return {name for op in others for name in op.input_arg_names}

    def before(self, op: Operator, target: Block) -> None:
        """Append the ops of the segment that `op` belongs to, if it is the first of them in the backward pass."""
        number = self._number.get(id(op))
        if number is None or number in self._again:
            return
        names: dict[str, str] = {}
        self._again[number] = names
        kept = self._kept(self._segments[number])
        for forward in self._segments[number]:
            stays = _stays(forward) or kept.intersection(forward.output_arg_names)
            made = {} if stays else self._renamed(forward, number)
            if made:
                names.update(made)
                self._repeat(forward, names, target)

    def _renamed(self, op: Operator, number: int) -> dict[str, str]:
        """Return the recomputed outputs with their new names."""
        names = [name for name in op.output_arg_names if name != EMPTY and name not in self.checkpoints]
        free = [name for name in names if name not in self._outside[number] and self._is_free(op, name)]
        return {name: f"{name}.subprog_{number}" for name in free}

    def _is_free(self, op: Operator, name: str) -> bool:
        variable = self.block._find_var_recursive(name)
        return variable is not None and not variable.persistable and name not in op.input_arg_names

    def _kept(self, ops: Sequence[Operator]) -> set[str]:
        """Return what ops write that are not repeated, or change in place: repeating its maker would undo that.

        State that outlives the step (the running mean of a batch_norm) has no maker, and moves again as in 1.8.5.
        """
        return {name for op in ops for name in op.output_arg_names if _stays(op) or self._is_changed(op, name)}

    def _is_changed(self, op: Operator, name: str) -> bool:
        variable = self.block._find_var_recursive(name)
        return name in op.input_arg_names and not (variable is not None and variable.persistable)

    def _repeat(self, op: Operator, names: dict[str, str], target: Block) -> None:
        for name in op.output_arg_names:
            if name in names:
                create_grad(target, self.block._find_var_recursive(name), names[name])
        attrs = {key: value for key, value in op.attrs.items() if key not in ("op_role", "op_role_var", SAVED_ATTR)}
        made = target.append_op(
            type=op.type,
            inputs=_mapped(op.slots_in, names),
            outputs=_mapped(op.slots_out, names),
            attrs={**attrs, "op_role": int(OpRole.Backward)},
        )
        made.site = op.site

    def apply(self, grad_op: GradOp, forward: Operator) -> None:
        """Make a gradient op read the recomputed values."""
        names = self._again.get(self._number.get(id(forward), -1))
        if names:
            grad_op.inputs = _mapped(grad_op.inputs, names)


def _split(ops: Sequence[Operator], checkpoints: set[str]) -> list[list[Operator]]:
    """Return the segments, the last one first; what follows the last checkpoint belongs to none."""
    segments: list[list[Operator]] = []
    current: list[Operator] = []
    for op in ops:
        current.append(op)
        if checkpoints.intersection(op.output_arg_names):
            segments.append(current)
            current = []
    return segments[::-1]


def _stays(op: Operator) -> bool:
    """Return whether an op is not repeated: it draws numbers, has side effects or runs a block."""
    has_block = any(isinstance(value, Block) for value in op.attrs.values())
    return op.type in _DRAWS or op.definition.side_effect or has_block


def _mapped(slots: dict[str, list[str]], names: dict[str, str]) -> dict[str, Any]:
    return {slot: [names.get(name, name) for name in given] for slot, given in slots.items()}

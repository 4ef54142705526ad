"""Saved values of variables that change: a gradient op reads the values its forward op saw.

1.8.5 saves none: outside loops its gradients read what a variable holds at last (a queue of keys that the step has
already moved on, say). Programs of that era get the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fluidio.backward.grad_vars import create_grad, is_array
from fluidio.backward.loop_path import Inside
from fluidio.era import era
from fluidio.program import Block, Operator
from fluidio.program.op_def import EMPTY, GRAD_SUFFIX, SAVED_ATTR, GradOp

__all__ = ["Versions", "written"]


class Versions:
    """The values of changing variables that gradient ops need, as they were when the forward op ran.

    A counter may be read, changed and read again; the gradient of each reader needs the value it read. The forward op
    saves it under another name.

    Args:
        inside: where the block stands, if it is a body.
    """

    def __init__(self, block: Block, inside: Inside | None) -> None:
        self.block = block
        self.writes: defaultdict[str, list[int]] = defaultdict(list)
        self.position = {id(op): index for index, op in enumerate(block.ops)}
        for index, op in enumerate(block.ops):
            for name in written(op):
                self.writes[name].append(index)
        self.body = inside is not None
        self.reads_last = era().gradients_read_last_values and (inside is None or inside.as_fluid)

    def replaced(self, op: Operator) -> set[str]:
        """Return the outputs of an op that had another value before it."""
        names = {n for n in written(op) if n != EMPTY}
        return {n for n in names if n in op.input_arg_names or (self._changes(n) and not is_array(self.block, n))}

    def _changes(self, name: str) -> bool:
        return len(self.writes[name]) > 1 or (self.body and name not in self.block.vars)

    def _of_array(self, op: Operator) -> bool:
        return any(is_array(self.block, name) for name in (*op.input_arg_names, *op.output_arg_names))

    def _reads_last(self, name: str, forward: Operator, index: int) -> bool:
        """Return whether the last value is read: no index of an array, nothing that has only changed its shape."""
        if self.body and name not in self.block.vars:  # the gradient of an increment counts back
            return any(op.type != "increment" for op in _writers_inside(self.block, name))
        later = (self.block.ops[write] for write in self.writes.get(name, ()) if write > index)
        return not self._of_array(forward) and any(op.type not in _RESHAPE for op in later)

    def apply(self, grad_op: GradOp, forward: Operator) -> None:
        """Make the gradient op read saved versions instead of the variables themselves."""
        for slot, names in grad_op.inputs.items():
            if not slot.endswith(GRAD_SUFFIX):
                made = slot in forward.slots_out and slot not in forward.slots_in
                grad_op.inputs[slot] = [
                    self._version(name, forward, made or _only_made(forward, name)) for name in names
                ]

    def _version(self, name: str, forward: Operator, after: bool) -> str:
        index = self.position[id(forward)]
        if name == EMPTY or name.endswith(GRAD_SUFFIX) or (self.reads_last and self._reads_last(name, forward, index)):
            return name
        last = self.writes[name][-1] if self.writes.get(name) else -1
        later = last > index or (last == index and not after)
        outside = self.body and name not in self.block.vars
        if not later and not (outside and (last >= 0 or _changes_around(self.block, name))):
            return name
        when = "after" if after else "before"
        kept = f"{name}@{when}@{index}"
        entry = f"{when}|{name}|{kept}"
        noted = forward.attrs.get(SAVED_ATTR, [])
        if entry not in noted:
            forward._set_attr(SAVED_ATTR, [*noted, entry])
            create_grad(self.block, self.block._find_var_recursive(name), kept)
        return kept


# Slots that pass on an input unchanged, or (in batch_norm) change values that its gradient reads only if unchanged.
_PASSED_ON = {"W_Out", "MeanOut", "VarianceOut"}

_RESHAPE = {name + number for name in ("reshape", "squeeze", "unsqueeze", "flatten") for number in ("", "2")}


def written(op: Operator) -> list[str]:
    """Return the names of an op's outputs, without those that pass an input on."""
    return [name for slot, names in op.slots_out.items() if slot not in _PASSED_ON for name in names]


def _only_made(op: Operator, name: str) -> bool:
    return name in op.output_arg_names and name not in op.input_arg_names


def _writers_inside(block: Block, name: str) -> Iterator[Operator]:
    """Yield the ops that write a variable in a body and in the bodies around it, inside of where it is kept."""
    inner: Block | None = block
    while inner is not None and inner.parent is not None and name not in inner.vars:
        yield from (op for op in inner.ops if name in op.output_arg_names)
        inner = inner.parent


def _changes_around(block: Block, name: str) -> bool:
    """Return whether a variable changes around a body: in a loop from run to run, elsewhere by a second write."""
    around = block.parent
    while around is not None:
        times = around.writers.count(name)
        inside_loop = around.parent is not None
        if times > 1 or (times and inside_loop and name not in around.vars):
            return True
        around = around.parent
    return False

"""IfElse: route each row through one of two blocks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.layers._control.branches import ConditionalBlock
from fluidio.layers._control.loops import assign_to
from fluidio.program import Block, Variable, unique_name

__all__ = ["IfElse", "merge_lod_tensor", "split_lod_tensor"]


def split_lod_tensor(input: Variable, mask: Variable, level: int = 0) -> tuple[Variable, Variable]:
    """Return the rows where the mask is set, and the rest."""
    helper = LayerHelper("split_lod_tensor", **locals())
    yes = helper.create_variable_for_type_inference(input.dtype)
    no = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(
        type="split_lod_tensor",
        inputs={"X": input, "Mask": mask},
        outputs={"OutTrue": yes, "OutFalse": no},
        attrs={"level": level},
    )
    return yes, no


def merge_lod_tensor(in_true: Variable, in_false: Variable, x: Variable, mask: Variable, level: int = 0) -> Variable:
    """Merge the rows of two branches in the order of the mask."""
    helper = LayerHelper("merge_lod_tensor", **locals())
    out = helper.create_variable_for_type_inference(in_true.dtype)
    helper.append_op(
        type="merge_lod_tensor",
        inputs={"X": x, "Mask": mask, "InTrue": in_true, "InFalse": in_false},
        outputs={"Out": out},
        attrs={"level": level},
    )
    return out


class IfElse:
    """Route each row through one of two blocks by a mask of shape [rows, 1]."""

    OUT_IF_ELSE_BLOCKS = 0
    IN_IF_ELSE_TRUE_BLOCKS = 1
    IN_IF_ELSE_FALSE_BLOCKS = 2

    def __init__(self, cond: Variable, name: str | None = None) -> None:
        if not isinstance(cond, Variable):
            raise TypeError(f"IfElse: cond must be a Variable, got {type(cond).__name__}")
        self.helper = LayerHelper("ifelse", name=name)
        self.cond = cond
        self.input_table: dict[str, tuple[Variable, Variable]] = {}
        self.status = IfElse.OUT_IF_ELSE_BLOCKS
        self.output_table: tuple[list[Variable], list[Variable]] = ([], [])

    def input(self, x: Variable) -> Variable:
        """Return the rows of x that belong to the block being built."""
        if self.status == IfElse.OUT_IF_ELSE_BLOCKS:
            raise ValueError("IfElse.input() works only inside `with ie.true_block():` or `with ie.false_block():`")
        if x.name not in self.input_table:
            parent = self._parent()
            prefix = "ifelse_input" + self.helper.name
            yes, no = [parent.create_var(name=unique_name.generate(prefix), dtype=x.dtype) for _ in range(2)]
            parent.append_op(
                type="split_lod_tensor",
                inputs={"X": x, "Mask": self.cond},
                outputs={"OutTrue": yes, "OutFalse": no},
                attrs={"level": 0},
            )
            self.input_table[x.name] = (yes, no)
        yes, no = self.input_table[x.name]
        return yes if self.status == IfElse.IN_IF_ELSE_TRUE_BLOCKS else no

    def _parent(self) -> Block:
        parent = self.helper.main_program.current_block().parent
        assert parent is not None
        return parent

    @contextlib.contextmanager
    def _block(self, status: int) -> Iterator[None]:
        if self.status != IfElse.OUT_IF_ELSE_BLOCKS:
            raise ValueError("IfElse: true_block() and false_block() cannot be nested")
        with ConditionalBlock([self.cond]).block():
            self.status = status
            try:
                yield
            finally:
                self.status = IfElse.OUT_IF_ELSE_BLOCKS
        if not self.output_table[status - 1]:
            raise ValueError("IfElse: this block has no result: call output() inside it")

    def true_block(self) -> Any:
        return self._block(IfElse.IN_IF_ELSE_TRUE_BLOCKS)

    def false_block(self) -> Any:
        return self._block(IfElse.IN_IF_ELSE_FALSE_BLOCKS)

    def output(self, *outs: Variable) -> None:
        """Declare the results of the block being built."""
        if self.status == IfElse.OUT_IF_ELSE_BLOCKS:
            raise ValueError("IfElse.output() works only inside `with ie.true_block():` or `with ie.false_block():`")
        for out in outs:
            if not isinstance(out, Variable):
                raise TypeError(f"IfElse.output takes Variables, got {type(out).__name__}")
            outside = self._parent().create_var(
                name=unique_name.generate("_".join([self.helper.name, "output"])), dtype=out.dtype
            )
            outside._shape, outside.lod_level = out.shape, out.lod_level
            self.output_table[self.status - 1].append(outside)
            assign_to(out, outside)

    def __call__(self) -> list[Variable]:
        if self.status != IfElse.OUT_IF_ELSE_BLOCKS:
            raise ValueError("IfElse: get the results after both blocks have ended, not inside one")
        yes, no = self.output_table
        if not yes and not no:
            raise ValueError("IfElse: there are no results yet: build true_block() or false_block() first")
        if not yes or not no:
            return yes or no
        if len(yes) != len(no):
            raise ValueError(
                f"IfElse: the true block has {len(yes)} outputs, the false block {len(no)}; both need the same number"
            )
        return [merge_lod_tensor(in_true=a, in_false=b, x=self.cond, mask=self.cond) for a, b in zip(yes, no)]

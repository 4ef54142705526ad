"""Copy variables, ops and whole programs."""

from __future__ import annotations

import copy
from typing import Any

from fluidio.era import era
from fluidio.program.block import Block
from fluidio.program.collector import without_collections
from fluidio.program.op_roles import OpRole
from fluidio.program.operator import Operator
from fluidio.program.program import Program
from fluidio.program.variable import Variable

__all__ = ["clone_program", "copy_op", "copy_variable"]

# What readers and loaders hang on a variable belongs to the original alone.
_DESCRIPTION = (
    "name",
    "type",
    "_shape",
    "_dtype",
    "lod_level",
    "_persistable",
    "error_clip",
    "stop_gradient",
    "is_data",
    "need_check_feed",
    "belong_to_optimizer",
    "reader_slots",
    "trainer_share",
    "trainable",
    "optimize_attr",
    "regularizer",
    "gradient_clip_attr",
    "do_model_average",
    "is_distributed",
)


def copy_variable(variable: Variable, block: Block) -> Variable:
    """Return a description of the same variable for another block; it is not entered there."""
    twin = type(variable).__new__(type(variable))
    twin.__dict__.update({k: variable.__dict__[k] for k in _DESCRIPTION if k in variable.__dict__})
    twin.block = block
    twin.op = None
    return twin


def copy_op(op: Operator, block: Block, blocks: list[Block]) -> Operator:
    """Return the same op for another block; attributes that are blocks point into `blocks`."""
    twin = copy.copy(op)
    twin.block = block
    twin._inputs = {slot: list(names) for slot, names in op._inputs.items()}
    twin._outputs = {slot: list(names) for slot, names in op._outputs.items()}
    twin._attrs = {name: _attr(value, blocks) for name, value in op._attrs.items()}
    return twin


def _attr(value: Any, blocks: list[Block]) -> Any:
    if isinstance(value, Block):
        return blocks[value.idx]
    if isinstance(value, list):
        return [_attr(v, blocks) for v in value] if value and isinstance(value[0], Block) else list(value)
    return value


@without_collections()
def clone_program(program: Program, for_test: bool) -> Program:
    """Copy a program; see Program.clone."""
    twin = Program()
    twin.blocks = [Block(twin, b.idx, b.parent_idx) for b in program.blocks]
    twin.current_block_idx = program.current_block_idx
    twin._is_mem_optimized = program._is_mem_optimized
    twin._is_distributed = program._is_distributed
    if era().clone_keeps_seed:
        twin._seed = program._seed
    # A test pass that trains is nobody's wish: only a strict old era keeps the training ops.
    drop = for_test and (era().clone_for_test_prunes or not era().strict)
    for source, block in zip(program.blocks, twin.blocks):
        block.forward_block_idx = source.forward_block_idx
        block.vars = {name: copy_variable(v, block) for name, v in source.vars.items()}
        kept = [op for op in source.ops if not (drop and _is_training_only(op))]
        block.ops = [copy_op(op, block, twin.blocks) for op in kept]
        for op in block.ops:
            for name in op.output_arg_names:
                if name in block.vars:
                    block.vars[name].op = op
    if for_test:
        _set_test(twin)
        twin._is_for_test = True
    twin._bump()
    return twin


def _is_training_only(op: Operator) -> bool:
    return bool(op._attrs.get("op_role", 0) & (OpRole.Backward | OpRole.Optimize))


def _set_test(program: Program) -> None:
    for block in program.blocks:
        for op in block.ops:
            if "is_test" in op._attrs:
                op._attrs["is_test"] = True

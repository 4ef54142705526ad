"""Copy variables, ops and whole programs."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from fluidio.era import era
from fluidio.program.block import Block
from fluidio.program.collector import without_collections
from fluidio.program.op_def import SAVED_ATTR
from fluidio.program.op_roles import OpRole
from fluidio.program.operator import Operator
from fluidio.program.program import Program
from fluidio.program.variable import Parameter, Variable

__all__ = ["clone_program", "copy_op", "copy_variable", "declare_again", "declare_persistable", "drop_unused"]

# Attributes that readers and loaders set on a variable belong only to the original.
_DESCRIPTION = (
    "name",
    "type",
    "_shape",
    "_dtype",
    "lod_level",
    "states_lod_level",
    "_persistable",
    "states_persistable",
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

_PLAIN = _DESCRIPTION[: _DESCRIPTION.index("trainable")]  # the others are a parameter's own


def copy_variable(variable: Variable, block: Block) -> Variable:
    """Return a description of the same variable for another block, without adding it there."""
    return _described(type(variable), variable, _DESCRIPTION, block)


def _described(kind: type[Variable], variable: Variable, names: tuple[str, ...], block: Block) -> Variable:
    twin, said = kind.__new__(kind), variable.__dict__
    twin.__dict__.update({name: said[name] for name in names if name in said})
    twin.block = block
    twin.op = None
    return twin


def declare_again(variable: Variable, block: Block) -> Variable:
    """Return the same variable for another program's block, without adding it there.

    Fluid: a parameter becomes a plain variable, which optimizers leave alone, and nothing stops its gradient.
    """
    is_parameter = isinstance(variable, Parameter)
    twin = _described(Variable, variable, _PLAIN, block) if is_parameter else copy_variable(variable, block)
    twin.stop_gradient, twin.error_clip = False, None
    return twin


def declare_persistable(variables: Iterable[Variable], block: Block) -> list[Variable]:
    """Add the same variables, as persistable ones, to another program's block and return them there."""
    twins = [declare_again(variable, block) for variable in variables]
    for twin in twins:
        twin._persistable = twin.states_persistable = True
        block.vars[twin.name] = twin
    block.program.note_change()
    return twins


def copy_op(op: Operator, block: Block, blocks: list[Block]) -> Operator:
    """Return the same op for another block; attributes that are blocks point into `blocks`."""
    twin = copy.copy(op)
    twin.block = block
    twin.slots_in = {slot: list(names) for slot, names in op.slots_in.items()}
    twin.slots_out = {slot: list(names) for slot, names in op.slots_out.items()}
    twin.attrs = {name: _attr(value, blocks) for name, value in op.attrs.items()}
    return twin


def _attr(value: object, blocks: list[Block]) -> Any:
    if isinstance(value, Block):
        return blocks[value.idx]
    if isinstance(value, list):
        return [_attr(v, blocks) for v in value] if value and isinstance(value[0], Block) else list(value)
    return value


@without_collections()
def clone_program(program: Program, for_test: bool, drop_training: bool = False) -> Program:
    """Copy a program; see Program.clone. `drop_training` drops the training ops whatever the era."""
    twin = Program()
    twin.blocks = [Block(twin, b.idx, b.parent_idx) for b in program.blocks]
    twin.current_block_idx = program.current_block_idx
    twin._is_mem_optimized = program._is_mem_optimized
    twin._is_distributed = program._is_distributed
    if era().clone_keeps_seed and not for_test:
        twin._seed = program._seed
    # No one wants a test pass that trains: only a strict old era keeps the training ops.
    drop_training = drop_training or (for_test and (era().clone_for_test_prunes or not era().strict))
    drop = drop_training and _minimises(program)
    for source, block in zip(program.blocks, twin.blocks):
        block.forward_block_idx = source.forward_block_idx
        block.vars = {name: copy_variable(v, block) for name, v in source.vars.items()}
        kept = [op for op in source.ops if not (drop and _is_training_only(op))]
        block.ops = [copy_op(op, block, twin.blocks) for op in kept]
        for op in block.ops:
            for name in op.output_arg_names:
                if name in block.vars:
                    block.vars[name].op = op
    if drop:
        _forget_saved_values(twin)
        drop_unused(twin)
    if for_test:
        _set_test(twin)
        twin.is_for_test = True
    twin.note_change()
    return twin


def _minimises(program: Program) -> bool:
    """Return whether a loss is trained. Fluid: gradients without a loss (`fluid.gradients`) stay in a clone."""
    start = OpRole.Backward | OpRole.Loss
    return any(op.attrs.get("op_role", 0) & start == start for block in program.blocks for op in block.ops)


def _is_training_only(op: Operator) -> bool:
    return bool(op.attrs.get("op_role", 0) & (OpRole.Backward | OpRole.Optimize | OpRole.LRSched))


def _forget_saved_values(program: Program) -> None:
    """Make ops stop saving the values that gradients would read."""
    for block in program.blocks:
        for op in block.ops:
            op.attrs.pop(SAVED_ATTR, None)


def drop_unused(program: Program, keep: Iterable[str] = ()) -> None:
    """Drop the blocks that no op runs, and the variables that no op names."""
    reached = {program.global_block().idx}
    used = _used_names(program.global_block(), reached) | set(keep)
    program.blocks = [block for block in program.blocks if block.idx in reached]
    numbers = {block.idx: i for i, block in enumerate(program.blocks)}
    for block in program.blocks:
        block.idx = numbers[block.idx]
        block.parent_idx = numbers.get(block.parent_idx, -1)
        block.forward_block_idx = numbers.get(block.forward_block_idx, -1)
        block.vars = {name: v for name, v in block.vars.items() if name in used}
    program.current_block_idx = numbers.get(program.current_block_idx, 0)


def _used_names(block: Block, reached: set[int]) -> set[str]:
    """Return the names used by the ops of a block and of the blocks they run; add those blocks to `reached`."""
    names: set[str] = set()
    for op in block.ops:
        names.update(op.input_arg_names, op.output_arg_names)
        names.update(entry.split("|")[2] for entry in op.attrs.get(SAVED_ATTR, ()))
        for value in op.attrs.values():
            for inner in value if isinstance(value, list) else (value,):
                if isinstance(inner, Block) and inner.idx not in reached:
                    reached.add(inner.idx)
                    names |= _used_names(inner, reached)
    return names


def _set_test(program: Program) -> None:
    for block in program.blocks:
        for op in block.ops:
            if "is_test" in op.attrs or op.has_attr("is_test"):
                op.attrs["is_test"] = True

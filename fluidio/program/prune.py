"""Keep only the ops that some targets need."""

from __future__ import annotations

from collections.abc import Sequence

from fluidio.dtypes import VarType
from fluidio.program.block import Block
from fluidio.program.clone import _set_test, clone_program, drop_unused
from fluidio.program.op_roles import OpRole
from fluidio.program.operator import Operator
from fluidio.program.program import Program
from fluidio.program.variable import Variable

__all__ = ["check_produced", "inference_optimize", "needed_ops", "prune"]


def needed_ops(
    block: Block, targets: set[str], stop_at: set[str], target_ops: Sequence[Operator] = ()
) -> list[Operator]:
    """Return the ops of a block, in order, that produce `targets`, tracing back no further than `stop_at`.

    Optimizer ops do not count as producers: they are kept only if they are targets themselves.
    """
    wanted = set(targets)
    kept: list[Operator] = []
    for op in reversed(block.ops):
        produces = any(name in wanted and name not in stop_at for name in op.output_arg_names)
        updates = bool(op.attrs.get("op_role", 0) & OpRole.Optimize)
        if (produces and not updates) or any(op is target for target in target_ops):
            kept.append(op)
            wanted.update(op.input_arg_names)
            wanted.update(_names_read_inside(op))
    return kept[::-1]


def _names_read_inside(op: Operator) -> set[str]:
    """Return the names that sub-blocks of an op read."""
    names: set[str] = set()
    for value in op.attrs.values():
        if isinstance(value, Block):
            for inner in value.ops:
                names.update(inner.input_arg_names)
                names.update(_names_read_inside(inner))
    return names


def prune(program: Program, targets: Sequence[object], feeds: Sequence[str] = ()) -> Program:
    """Return a copy with only the ops that the targets (variables, names or ops) need."""
    if not isinstance(targets, (list, tuple)):
        targets = [targets]
    for feed in [feeds] if isinstance(feeds, Variable) else feeds:
        if not isinstance(feed, str):
            raise ValueError(f"_prune_with_input: feeded_var_names must hold only str, got {type(feed).__name__}")
    names: set[str] = set()
    target_ops: list[int] = []
    source = program.global_block()
    for target in targets:
        if isinstance(target, Variable):
            names.add(target.name)
        elif isinstance(target, str):
            names.add(target)
        elif isinstance(target, Operator):
            target_ops.append(target.idx)
        else:
            raise ValueError(
                "All targets of Program._prune_with_input() can only be Variable or Operator, but received "
                f"{type(target)}."
            )
    wanted = [source.ops[i] for i in target_ops]
    kept = {id(op) for op in needed_ops(source, names, set(feeds), wanted)}
    flags = [id(op) in kept for op in source.ops]
    twin = clone_program(program, for_test=False)
    block = twin.global_block()
    block.ops = [op for op, keep in zip(block.ops, flags) if keep]
    drop_unused(twin, names | set(feeds))
    twin.note_change()
    return twin


def check_produced(program: Program, targets: Sequence[Variable | str], feeds: Sequence[str] = ()) -> None:
    """Raise for a target that no op computes, including parameters that only an optimizer writes."""
    feeds = [feeds] if isinstance(feeds, (str, Variable)) else feeds
    for target in targets if isinstance(targets, (list, tuple)) else [targets]:
        name = target.name if isinstance(target, Variable) else target
        if not isinstance(name, str) or name in feeds:
            continue
        writers = (op for op in program.global_block().ops if name in op.output_arg_names)
        if all(op._is_optimize_op() for op in writers):
            raise ValueError(f"no op computes the target {name!r}, so the program cannot be pruned to it")


def inference_optimize(program: Program, prune_read_op: bool = True) -> Program:
    """Return a copy for inference: `is_test` set and, on request, everything up to the first `read` op dropped."""
    twin = clone_program(program, for_test=False)
    block = twin.global_block()
    if prune_read_op:
        reads = [i for i, op in enumerate(block.ops) if op.type == "read"]
        if reads:
            del block.ops[: reads[0] + 1]
        block.vars = {name: v for name, v in block.vars.items() if v.type is not VarType.READER}
    _set_test(twin)
    twin.note_change()
    return twin

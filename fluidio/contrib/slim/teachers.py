"""A program inside another one: its variables are constants there."""

from __future__ import annotations

from fluidio.program import Program

__all__ = ["append_constants"]


def append_constants(program: Program, teacher: Program) -> None:
    """Append the teacher's ops; its variables pass no gradient, and variables with the same name are the student's."""
    if len(teacher.blocks) > 1:
        raise ValueError(
            "DistillationStrategy: the teacher has loops or branches; only ops of its main block are joined"
        )
    block = program.global_block()
    for variable in teacher.list_vars():
        if not block.has_var(variable.name):
            block._clone_variable(variable, force_persistable=False).stop_gradient = True
    for op in teacher.global_block().ops:
        block.append_op(
            type=op.type,
            inputs={slot: [block.var(name) for name in op.input(slot)] for slot in op.input_names},
            outputs={slot: [block.var(name) for name in op.output(slot)] for slot in op.output_names},
            attrs=dict(op.attrs),
        )

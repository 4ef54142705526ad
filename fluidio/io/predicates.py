"""Select the variables to save: parameters, persistables, optimizer state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluidio.dtypes import VarType
from fluidio.program import Block, Parameter, Program, Variable, default_main_program

__all__ = [
    "get_program_parameter",
    "get_program_persistable_vars",
    "is_belong_to_optimizer",
    "is_parameter",
    "is_persistable",
    "variables_of",
]

_NO_DATA = (VarType.FEED_MINIBATCH, VarType.FETCH_LIST, VarType.READER)


def is_parameter(var: Variable) -> bool:
    """Return whether a variable is a Parameter."""
    return isinstance(var, Parameter)


def is_persistable(var: Variable) -> bool:
    """Return whether a variable persists between runs; feed and fetch variables and readers do not count."""
    return var.type not in _NO_DATA and var.persistable


def is_belong_to_optimizer(var: Variable) -> bool:
    """Return whether a variable is an optimizer's: an accumulator, a learning rate, a counter."""
    if not (isinstance(var, Parameter) or var.need_check_feed):
        return is_persistable(var)
    return False


def get_program_parameter(program: Program) -> list[Variable]:
    """Return the parameters of a program."""
    return [v for v in program.list_vars() if is_parameter(v)]


def get_program_persistable_vars(program: Program) -> list[Variable]:
    """Return the persistable variables of a program."""
    return [v for v in program.list_vars() if is_persistable(v)]


def as_program(main_program: object) -> Program:
    """Return the program an argument refers to: the default one for None, the inner one of a CompiledProgram."""
    if main_program is None:
        return default_main_program()
    inner = getattr(main_program, "_program", main_program)
    if not isinstance(inner, Program):
        raise TypeError(f"main_program must be a Program or None, got {type(main_program).__name__}")
    return inner


_get_valid_program = as_program  # scripts know it by this name


def _clone_var_in_block_(block: Block, var: Variable) -> Variable:
    """Create a persistable variable in a block that is described like another one."""
    return block.create_var(
        name=var.name, shape=var.shape, dtype=var.dtype, type=var.type, lod_level=var.lod_level, persistable=True
    )


def variables_of(program: Program, vars: Any, predicate: Callable[[Variable], bool] | None) -> list[Variable]:
    """Return the given variables, or those the predicate selects, sorted by name without duplicates."""
    if vars is not None:
        chosen = [program.global_block()._var_recursive(v) if isinstance(v, str) else v for v in vars]
    elif predicate is None:
        raise ValueError("save_vars and load_vars need vars= or predicate=")
    else:
        chosen = [v for v in program.list_vars() if predicate(v)]
    for variable in chosen:
        if not isinstance(variable, Variable):
            raise TypeError(f"vars must be Variables of the program or their names, got {type(variable).__name__}")
    named = {v.name: v for v in chosen if v.type is not VarType.RAW}
    return [named[name] for name in sorted(named)]

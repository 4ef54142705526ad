"""Save variables: one file each, or all in one."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from fluidio.dtypes import VarType
from fluidio.executor import Executor
from fluidio.io.predicates import as_program, is_parameter, is_persistable, variables_of
from fluidio.ops.io.save_load import FILES
from fluidio.ops.io.whole_files import saving_together
from fluidio.program import Program, Variable, unique_name
from fluidio.program.consent import inside
from fluidio.tensor import global_scope

MODEL_KEY = "model"  # of what `saving_together` puts into a folder

__all__ = ["MODEL_KEY", "save_params", "save_persistables", "save_vars"]


def save_vars(
    executor: Any,
    dirname: str | os.PathLike[str] | None,
    main_program: Any = None,
    vars: Any = None,
    predicate: Callable[[Variable], bool] | None = None,
    filename: str | None = None,
) -> bytes | None:
    """Save variables of the scope to files.

    Args:
        executor: runs the saving program.
        dirname: the folder; with `filename` None too, the bytes are returned instead (Fluid 1.8).
        vars: variables or names; else `predicate` picks them from `main_program`.
        filename: one file for all, in the order of their names; else one file for each, named after it.

    Fluid: files were visible while being written; here they appear only when complete and synced, all together.
    """
    program = as_program(main_program)
    variables = variables_of(program, vars, predicate)
    sink_name = unique_name.generate("saved_params")  # Fluid takes the name for files of their own, too
    if not variables:
        warnings.warn("nothing to save: the program has no such variables", stacklevel=2)
        return None
    in_memory = dirname is None and filename is None
    saving = Program()
    block = saving.global_block()
    block.vars.update({variable.name: variable for variable in variables})  # they are only read
    if filename is None and not in_memory:
        paths = [inside(os.fspath(dirname or ""), variable.name) for variable in variables]
        block.append_op(
            type="save_combine", inputs={"X": variables}, attrs={"file_path": os.fspath(dirname or ""), FILES: paths}
        )
        with saving_together(os.fspath(dirname or ""), MODEL_KEY):
            executor.run(saving)
        return None
    sink = block.create_var(name=sink_name, type=VarType.RAW, persistable=in_memory)
    path = "" if in_memory else os.path.join(os.fspath(dirname or ""), filename or "")
    block.append_op(
        type="save_combine",
        inputs={"X": variables},
        outputs={"Y": [sink]},
        attrs={"file_path": path, "save_to_memory": in_memory},
    )
    executor.run(saving)
    if not in_memory:
        return None
    held = global_scope().find_var(sink.name)
    data: bytes = held.value if held is not None else b""
    global_scope().root().erase([sink.name])
    return data


def save_params(
    executor: Any, dirname: str | os.PathLike[str] | None, main_program: Any = None, filename: str | None = None
) -> bytes | None:
    """Save the parameters of a program."""
    return save_vars(executor, dirname, main_program, predicate=is_parameter, filename=filename)


def save_persistables(
    executor: Executor,
    dirname: str | os.PathLike[str] | None,
    main_program: Program | None = None,
    filename: str | None = None,
) -> bytes | None:
    """Save all persistable variables: parameters, optimizer state, learning rates."""
    return save_vars(executor, dirname, main_program, predicate=is_persistable, filename=filename)

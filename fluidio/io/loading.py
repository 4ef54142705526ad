"""Load variables that were saved by Fluid or fluidio."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from fluidio.era import era
from fluidio.errors import EnforceNotMet, not_supported
from fluidio.executor import Executor
from fluidio.io.predicates import as_program, is_parameter, is_persistable, variables_of
from fluidio.io.saving import MODEL_KEY
from fluidio.ops.io.save_load import FILES
from fluidio.ops.io.whole_files import finish_saving
from fluidio.program import Parameter, Program, Variable
from fluidio.program.clone import declare_persistable
from fluidio.program.consent import inside
from fluidio.tensor import global_scope

__all__ = ["get_parameter_value", "get_parameter_value_by_name", "load_params", "load_persistables", "load_vars"]


def load_vars(
    executor: Any,
    dirname: Any,
    main_program: Any = None,
    vars: Any = None,
    predicate: Callable[[Variable], bool] | None = None,
    filename: Any = None,
) -> None:
    """Load variables from files into the scope.

    Args:
        dirname: the folder.
        vars: variables or names; else `predicate` picks them from `main_program`.
        filename: one file with all of them in the order of their names; or their bytes, with `dirname` None.

    Raises:
        EnforceNotMet: a file is missing or damaged; the text names it.

    As in Fluid, era 1.8 requires a loaded parameter to have the declared shape; before, it replaced the shape.
    """
    if dirname is None and filename is None:
        raise ValueError("load_vars: give dirname, or the bytes of the variables as filename")
    program = as_program(main_program)
    if vars is None and _loads_on_a_server(program, dirname, filename):
        return
    variables = variables_of(program, vars, predicate)
    if not variables:
        return
    if isinstance(dirname, (str, os.PathLike)):
        finish_saving(os.fspath(dirname), MODEL_KEY)
    loading = Program()
    block = loading.global_block()
    copies = declare_persistable(variables, block)
    from_memory = isinstance(filename, (bytes, bytearray))
    if filename is None:
        paths = [inside(os.fspath(dirname or ""), copy.name) for copy in copies]
        attrs: dict[str, Any] = {"file_path": os.fspath(dirname or ""), FILES: paths}
        block.append_op(type="load_combine", outputs={"Out": copies}, attrs=attrs)
    else:
        source = bytes(filename) if from_memory else os.path.join(os.fspath(dirname or ""), filename)
        attrs = {"file_path": source, "model_from_memory": from_memory}
        block.append_op(type="load_combine", outputs={"Out": copies}, attrs=attrs)
    executor.run(loading)
    if era().load_checks_shape:
        _check_shapes(variables)


def _loads_on_a_server(program: Program, dirname: Any, filename: Any) -> bool:
    """Note what is loaded on a parameter server, which holds nothing here: the first trainer will load it."""
    servers = [op for op in program.global_block().ops if op.type == "listen_and_serv"]
    if not servers:
        return False
    if filename is not None:
        not_supported(
            "loading one file on a parameter server",
            "load it in the trainers after their startup program, or save each variable in a file of its own",
        )
    folder = os.path.abspath(os.fspath(dirname))
    if not os.path.isdir(folder):
        raise EnforceNotMet(f"cannot load {folder} on a parameter server: it is not a folder")
    servers[0]._set_attr("model", folder)
    return True


def _check_shapes(variables: list[Variable]) -> None:
    for variable in variables:
        held = global_scope().find_var(variable.name)
        found = held.get_tensor().shape() if held is not None else []
        wanted = list(variable.shape)
        if isinstance(variable, Parameter) and found != wanted:
            raise RuntimeError(
                f"the parameter {variable.name} has shape {tuple(wanted)} in the program, but {tuple(found)} "
                "in the file: it was saved by another program"
            )


def load_params(
    executor: Executor, dirname: str, main_program: Program | None = None, filename: str | None = None
) -> None:
    """Load the parameters of a program."""
    load_vars(executor, dirname, main_program, predicate=is_parameter, filename=filename)


def load_persistables(executor: Any, dirname: Any, main_program: Any = None, filename: Any = None) -> None:
    """Load all persistable variables."""
    load_vars(executor, dirname, main_program, predicate=is_persistable, filename=filename)


def get_parameter_value(para: Parameter, executor: Executor) -> Any:
    """Return the value of a parameter."""
    if not is_parameter(para):
        raise AssertionError(f"{para!r} is not a parameter")
    held = global_scope().find_var(para.name)
    if held is None or held.value is None:
        raise ValueError(f"parameter {para.name} has no value yet: run the startup program first")
    return np.array(held.get_tensor())


def get_parameter_value_by_name(name: str, executor: Executor, program: Program | None = None) -> Any:
    """Return the value of the parameter of that name."""
    variable = as_program(program).global_block().var(name)
    if not isinstance(variable, Parameter):
        raise AssertionError(f"{name!r} is not a parameter of this program")
    return get_parameter_value(variable, executor)

"""`fluid.save` and `fluid.load`: a program, its parameters and its optimizer's state under one path."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.executor import Executor
from fluidio.io.loading import load_vars
from fluidio.io.pickled import read_arrays, write_arrays
from fluidio.io.predicates import as_program, is_belong_to_optimizer, is_parameter, is_persistable
from fluidio.io.saving import MODEL_KEY
from fluidio.ops.io.whole_files import finish_saving, is_hidden, saving_together, write_whole
from fluidio.places import CPUPlace, PlaceLike
from fluidio.program import Program, Variable
from fluidio.program.proto import serialize_program
from fluidio.tensor import LoDTensor, Scope, global_scope, scope_guard
from fluidio.tensor.array import Array

__all__ = ["load", "load_program_state", "save", "set_program_state"]

_SUFFIXES = (".pdparams", ".pdopt", ".pdmodel")


def save(program: Program, model_path: str) -> None:
    """Save `PATH.pdparams` (parameters), `PATH.pdopt` (optimizer state) and `PATH.pdmodel` (the program).

    All three appear together, or none of them.
    """
    model_path = os.fspath(model_path)
    if not os.path.basename(model_path):
        raise AssertionError(
            "fluid.save: model_path must end with the name of the files, for example 'folder/model'; got "
            f"{model_path!r}"
        )
    whole = as_program(program)
    with saving_together(*os.path.split(model_path)):
        write_arrays(model_path + ".pdparams", _values([v for v in whole.list_vars() if is_parameter(v)]))
        write_arrays(model_path + ".pdopt", _values([v for v in whole.list_vars() if is_belong_to_optimizer(v)]))
        with write_whole(model_path + ".pdmodel") as file:
            file.write(serialize_program(whole))


def _values(variables: list[Variable]) -> dict[str, Any]:
    arrays = {}
    for variable in variables:
        held = global_scope().find_var(variable.name)
        if held is None or not isinstance(held.value, LoDTensor) or held.value.array is None:
            raise ValueError(f"the variable {variable.name} has no value to save: run the startup program first")
        arrays[variable.name] = np.array(held.value)
    return arrays


def load(program: Any, model_path: str, executor: Any = None, var_list: Any = None) -> None:
    """Load files written by `save`, save_params, save_persistables or save_vars, of Fluid or fluidio.

    Args:
        model_path: the path given to `save`, with or without a suffix; a folder or a combined file otherwise.
        executor: where the values go; needed for folders and combined files.
        var_list: the variables of a combined file.
    """
    if executor is not None and not hasattr(executor, "place"):
        raise AssertionError(f"fluid.load: executor must be a fluid.Executor or None, got {type(executor).__name__}")
    whole = as_program(program)
    prefix = _prefix(model_path)
    finish_saving(*os.path.split(prefix))
    if not os.path.exists(prefix + ".pdparams"):
        _load_older(whole, prefix, executor, var_list)
        return
    place = getattr(executor, "place", None)
    _assign(whole, [v for v in whole.list_vars() if is_parameter(v)], read_arrays(prefix + ".pdparams"), place)
    optimizer = [v for v in whole.list_vars() if is_belong_to_optimizer(v)]
    if optimizer:
        if not os.path.exists(prefix + ".pdopt"):
            raise AssertionError(f"{prefix}.pdopt is missing: the program has an optimizer, whose state is saved there")
        _assign(whole, optimizer, read_arrays(prefix + ".pdopt"), place)


def _prefix(model_path: str) -> str:
    model_path = os.fspath(model_path)
    for suffix in _SUFFIXES:
        if model_path.endswith(suffix):
            return model_path.removesuffix(suffix)
    return model_path


def _load_older(program: Program, path: str, executor: Any, var_list: Any) -> None:
    if executor is None:
        raise ValueError(
            f"{path}.pdparams is missing; to load what save_params, save_persistables or save_vars wrote, "
            "pass executor="
        )
    if os.path.isdir(path):
        finish_saving(path, MODEL_KEY)
        found = set(_files(path))
        chosen = [v for v in program.list_vars() if is_persistable(v) and v.name in found]
        load_vars(executor, path, program, vars=chosen)
    elif os.path.isfile(path):
        if var_list is None:
            raise ValueError(
                f"{path} is one file, as save_params, save_persistables and save_vars write it with "
                "filename=: pass var_list, the Variables that it holds"
            )
        known = {v.name for v in program.list_vars()}
        unknown = [v.name for v in var_list if v.name not in known]
        if unknown:
            raise LookupError(f"var_list names variables that the program does not have: {', '.join(unknown)}")
        folder, filename = os.path.split(path)
        load_vars(executor, folder, program, vars=var_list, filename=filename)
    else:
        raise FileNotFoundError(f"{path}: neither {path}.pdparams nor a folder or file of variables")


def _files(folder: str) -> list[str]:
    found = []
    for root, _, names in os.walk(folder):
        shown = [name for name in names if not is_hidden(name)]
        found += [os.path.relpath(os.path.join(root, name), folder).replace(os.sep, "/") for name in shown]
    return found


def _assign(program: Program, variables: list[Variable], arrays: dict[str, Any], place: Any) -> None:
    for variable in variables:
        if variable.name not in arrays:
            raise AssertionError(f"the file has no value for {variable.name}")
        _set(variable, arrays[variable.name], place)


def _set(variable: Variable, array: Array, place: PlaceLike | None) -> None:
    held = global_scope().find_var(variable.name) or global_scope().root().var(variable.name)
    tensor = held.get_tensor()
    wanted = tensor.shape() if tensor.array is not None else list(variable.shape)
    if -1 not in wanted and list(array.shape) != list(wanted):
        raise AssertionError(
            f"{variable.name} has shape {tuple(wanted)} in the program, but {tuple(array.shape)} in the file"
        )
    if tensor.array is not None and tensor.array.dtype != array.dtype:
        raise AssertionError(f"{variable.name} is {tensor.array.dtype} in the program, but {array.dtype} in the file")
    tensor.set(np.ascontiguousarray(array), place or (tensor._place() if tensor.array is not None else CPUPlace()))


def load_program_state(model_path: str, var_list: Sequence[Variable] | None = None) -> dict[str, Any]:
    """Return a saved state as a dict of arrays by name, without needing a program.

    Args:
        var_list: the variables in a combined file, or those to load from a folder.

    Raises:
        RuntimeError: a variable is not there, or a combined file holds others than `var_list` says.

    Fluid: 1.8.5 returns an empty dict where there is nothing at the path.
    """
    prefix = _prefix(model_path)
    finish_saving(*os.path.split(prefix))
    if os.path.exists(prefix + ".pdparams"):
        state = read_arrays(prefix + ".pdparams")
        if os.path.exists(prefix + ".pdopt"):
            state.update(read_arrays(prefix + ".pdopt"))
        return state
    if os.path.isdir(prefix):
        finish_saving(prefix, MODEL_KEY)
        names = [name for name in sorted(_files(prefix)) if name != "__model__"]
        return _loaded(_names(var_list) if var_list is not None else names, prefix, None)
    if not os.path.isfile(prefix):
        raise RuntimeError(f"there is neither {prefix}.pdparams nor a folder or file of variables {prefix}")
    if var_list is None:
        raise ValueError(f"{prefix} is one file with several variables: pass var_list, the Variables that it holds")
    if not var_list:
        raise RuntimeError(f"var_list is empty: it must name all variables in {prefix}")
    return _loaded(_names(var_list), *os.path.split(prefix))


def _names(var_list: Sequence[Variable]) -> list[str]:
    for variable in var_list:
        if not isinstance(variable, Variable):
            raise TypeError(f"var_list takes Variables, got {variable!r}")
    return [variable.name for variable in var_list]


def _loaded(names: list[str], folder: str, filename: str | None) -> dict[str, Any]:
    """Return the arrays of saved variables, loaded in a scope of their own."""
    block = Program().global_block()
    variables = [block.create_var(name=name, persistable=True) for name in names]
    with scope_guard(Scope()):
        load_vars(Executor(CPUPlace()), folder, block.program, vars=variables, filename=filename)
        return {name: np.array(global_scope().var(name).get_tensor()) for name in names}


def set_program_state(program: Program, state_dict: dict[str, Any]) -> None:
    """Give the persistable variables of a program the arrays of a dict; warn about keys without a variable."""
    whole = as_program(program)
    used = set()
    for variable in whole.list_vars():
        if is_persistable(variable) and variable.name in state_dict:
            held = global_scope().find_var(variable.name)
            if held is None:
                raise AssertionError(f"the scope has no variable {variable.name}: run the startup program first")
            _set(variable, np.asarray(state_dict[variable.name]), None)
            used.add(variable.name)
    unused = [name for name in state_dict if name not in used]
    if unused:
        warnings.warn(
            "these parameters are not in the program and were not set: " + " ".join(unused),
            stacklevel=2,
        )

"""Open a saved model of any form: find the program, the tensors, and any problems.

    folder/__model__ + a file for each variable       save_inference_model
    folder/__model__ + one combined file              save_inference_model(params_filename=...)
    folder of variables                               save_params, save_persistables, save_vars
    PREFIX.pdmodel, .pdparams, .pdopt                 fluid.save
    a single file of any of these kinds

Nothing is run, and tensors are read only on request; only pickles of an unusual form are read at once.
"""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass, field, replace
from typing import Any

from fluidio.errors import FluidioError, ModelError
from fluidio.io.pickled import read_arrays
from fluidio.io.predicates import is_persistable
from fluidio.io.saving import MODEL_KEY
from fluidio.models.foreign import what_it_is
from fluidio.models.pickle_index import index_arrays
from fluidio.models.raw_program import RawProgram, read_raw
from fluidio.models.stored import StoredTensor, in_memory, tensors_in
from fluidio.ops.io.whole_files import finish_saving, is_hidden
from fluidio.program import Program, Variable
from fluidio.program.proto import parse_program
from fluidio.recordio.format.compressors import CodecError
from fluidio.regular import open_regular

__all__ = ["Model", "open_model"]

_PICKLES = (".pdparams", ".pdopt")
_LARGEST_PROGRAM = 256 << 20


@dataclass
class Model:
    """An opened model.

    Attributes:
        form: how it is stored, in words.
        program: None if there is none, or if `problems` says why it cannot be used.
        tensors: by name.
        problems: one line for everything damaged, foreign or missing.
    """

    path: str
    form: str = ""
    program_path: str = ""
    params_path: str = ""
    raw: RawProgram | None = None
    program: Program | None = None
    tensors: dict[str, StoredTensor] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)

    @property
    def persistables(self) -> dict[str, Variable]:
        if self.program is None:
            return {}
        return {var.name: var for var in self.program.list_vars() if is_persistable(var)}

    @property
    def missing(self) -> list[str]:
        """Variables of the program that no file contains."""
        return sorted(set(self.persistables) - set(self.tensors))

    @property
    def size(self) -> int:
        return sum(tensor.nbytes for tensor in self.tensors.values())

    def raise_problems(self) -> None:
        """Raise a ModelError with all problems, if there are any."""
        if self.problems:
            raise ModelError(f"{self.path}: cannot be used", self.problems)

    def needed_program(self) -> Program:
        """Return the program, or raise an error that says why there is none."""
        if self.program is None:
            raise ModelError(
                f"{self.path}: there is no program to run ({self.form or 'no model'})",
                self.problems or ["give the folder or the __model__ file beside the parameters"],
            )
        return self.program


def open_model(path: str, model_filename: str | None = None, params_filename: str | None = None) -> Model:
    """Open a saved model for inspection.

    Args:
        path: a folder, a file, or the prefix that was given to `fluid.save`.
        model_filename, params_filename: names in the folder, if the files cannot be found by their content.

    Raises:
        ModelError: the path does not exist or contains nothing of Fluid's.
    """
    path = os.fspath(path)
    model = Model(path)
    if os.path.isdir(path):
        finish_saving(path, MODEL_KEY)
        _open_folder(model, model_filename, params_filename)
    elif os.path.isfile(path):
        _open_file(model, params_filename)
    elif any(os.path.isfile(path + suffix) for suffix in (".pdmodel", *_PICKLES)):
        _open_triple(model, path)
    else:
        raise ModelError(f"{path}: no such file or folder, and no {path}.pdmodel or {path}.pdparams")
    return model


def _open_folder(model: Model, model_filename: str | None, params_filename: str | None) -> None:
    files = _files(model.path)
    if not files:
        raise ModelError(f"{model.path}: the folder is empty")
    program_name = model_filename or _program_among(model.path, files)
    if program_name is None:
        prefixes = sorted({name.rsplit(".", 1)[0] for name in files if name.endswith((".pdmodel", *_PICKLES))})
        if len(prefixes) == 1:
            _open_triple(model, os.path.join(model.path, prefixes[0]))
            return
        if prefixes:
            raise ModelError(f"{model.path}: several models, name one of them", prefixes)
    else:
        _read_program(model, os.path.join(model.path, program_name))
        files = [name for name in files if name != program_name]
    _read_variables(model, files, params_filename)


def _files(folder: str) -> list[str]:
    found = []
    for root, _, names in os.walk(folder):
        shown = [os.path.join(root, name) for name in names if not is_hidden(name)]
        found += [os.path.relpath(path, folder).replace(os.sep, "/") for path in shown]
    return sorted(found)


def _program_among(folder: str, files: list[str]) -> str | None:
    """Return the file with the program: the usual name, else the only file that is a program."""
    if "__model__" in files:
        return "__model__"
    likely = [name for name in files if "/" not in name and not name.endswith((".pdmodel", *_PICKLES))]
    found = [name for name in likely if _is_program(os.path.join(folder, name))]
    return found[0] if len(found) == 1 else None


def _is_program(path: str) -> bool:
    with open_regular(path) as file:
        if file.read(1) != b"\x0a" or os.path.getsize(path) > _LARGEST_PROGRAM:
            return False
        file.seek(0)
        data = file.read()
    try:
        read_raw(data, path)
    except FluidioError:
        return False
    return True


def _read_program(model: Model, path: str) -> None:
    model.program_path = path
    if not os.path.exists(path):
        raise ModelError(f"{path}: no such model file")
    if os.path.getsize(path) > _LARGEST_PROGRAM:
        model.problems.append(f"{path}: {os.path.getsize(path)} bytes are not a program")
        return
    with open_regular(path) as file:
        data = file.read()
    try:
        model.raw = read_raw(data, path)
        model.program = parse_program(data, path)
    except (FluidioError, ValueError) as error:
        model.problems += _program_problems(model, path, error)


def _program_problems(model: Model, path: str, error: Exception) -> list[str]:
    if model.raw is None:
        return [f"{path}: {what_it_is(path)}: {' '.join(str(error).split())}"]
    if model.raw.unknown:
        return [f"{path}: fluidio has no op {name} ({model.raw.ops[name]} of them)" for name in model.raw.unknown]
    return [f"{path}: written by {model.raw.writer}: {' '.join(str(error).split())}"]


def _read_variables(model: Model, files: list[str], params_filename: str | None) -> None:
    wanted = model.persistables
    if params_filename is not None:
        _read_combined(model, os.path.join(model.path, params_filename), list(wanted))
        return
    named = [name for name in files if name in wanted] if model.program is not None else files
    combined = [] if named else [name for name in files if "/" not in name]
    if model.program is not None and not named and wanted and len(combined) >= 1:
        chosen = combined[0] if len(combined) == 1 else next((n for n in combined if "param" in n), None)
        if chosen is not None:
            _read_combined(model, os.path.join(model.path, chosen), list(wanted))
            model.extra = [name for name in files if name != chosen]
            return
    model.form = ("program and a file for each variable" if named else "program") if model.raw else "variables"
    model.params_path = model.path
    if model.program is not None:
        model.extra = [name for name in files if name not in wanted]
    for name in named:
        _read_variable(model, name)
    if model.program is not None:
        model.problems += [f"{name}: the program needs it, and no file holds it" for name in model.missing]


def _read_variable(model: Model, name: str) -> None:
    path = os.path.join(model.path, name)
    try:
        found = tensors_in(path)
    except (CodecError, OSError) as error:
        model.problems.append(f"{path}: {what_it_is(path)}: {error}")
        return
    if len(found) > 1 and model.program is None:
        for tensor in found:
            model.tensors[f"{name}#{tensor.name}"] = replace(tensor, name=f"{name}#{tensor.name}")
        model.form = "a combined file without its program: tensors are numbered"
        return
    if len(found) > 1:
        model.problems.append(f"{path}: {len(found)} tensors where one variable was expected")
        return
    model.tensors[name] = replace(found[0], name=name)
    _check_shape(model, name, path)


def _check_shape(model: Model, name: str, path: str) -> None:
    wanted, found = model.persistables.get(name), model.tensors[name]
    if wanted is not None and wanted.shape and not _same(wanted, found):
        model.problems.append(f"{path}: {name} has shape {found.shape}, the program says {tuple(wanted.shape)}")


def _same(wanted: Variable, found: StoredTensor) -> bool:
    return len(wanted.shape) == len(found.shape) and all(
        a in (-1, b) for a, b in zip(wanted.shape, found.shape, strict=True)
    )


def _read_combined(model: Model, path: str, names: list[str]) -> None:
    model.form, model.params_path = "program and a combined file", path
    try:
        found = tensors_in(path)
    except FileNotFoundError:
        model.problems.append(f"{path}: no such file of parameters")
        return
    except (CodecError, OSError) as error:
        model.problems.append(f"{path}: {what_it_is(path)}: {error}")
        return
    if len(found) != len(names):
        model.problems.append(f"{path}: {len(found)} tensors, the program has {len(names)} variables")
        return
    # Sorted by name, as Fluid saves them; old versions used the program's order.
    variables = model.persistables
    for order in (sorted(names), names):
        if all(_same(variables[name], tensor) for name, tensor in zip(order, found, strict=True)):
            break
    else:
        order = sorted(names)
    for name, tensor in zip(order, found, strict=True):
        model.tensors[name] = replace(tensor, name=name)
        _check_shape(model, name, path)


def _open_file(model: Model, params_filename: str | None) -> None:
    path = model.path
    if path.endswith(_PICKLES):
        _read_pickle(model, path)
        model.form = "a pickle of arrays"
        model.params_path = path
    elif path.endswith(".pdmodel"):
        _open_triple(model, path.removesuffix(".pdmodel"))
    elif os.path.basename(path) == "__model__" or _is_program(path):
        folder, name = os.path.split(path)
        model.path = folder or "."
        _open_folder(model, name, params_filename)
        model.path = path
    else:
        _open_tensors(model)


def _open_tensors(model: Model) -> None:
    try:
        found = tensors_in(model.path)
    except (CodecError, OSError) as error:
        raise ModelError(f"{model.path}: {what_it_is(model.path)}: {error}") from error
    model.params_path = model.path
    if len(found) == 1:
        model.form = "one variable"
        name = os.path.basename(model.path)
        model.tensors[name] = replace(found[0], name=name)
        return
    folder = os.path.dirname(model.path) or "."
    beside = _program_among(folder, [name for name in _files(folder) if name != os.path.basename(model.path)])
    if beside is not None:
        _read_program(model, os.path.join(folder, beside))
        _read_combined(model, model.path, list(model.persistables))
        return
    model.form = "a combined file without its program: tensors are numbered"
    model.tensors = {tensor.name: tensor for tensor in found}


def _open_triple(model: Model, prefix: str) -> None:
    finish_saving(*os.path.split(prefix))
    found = [suffix for suffix in (".pdmodel", *_PICKLES) if os.path.exists(prefix + suffix)]
    model.form = " ".join(found)
    model.params_path = prefix
    if ".pdmodel" in found:
        _read_program(model, prefix + ".pdmodel")
    for suffix in _PICKLES:
        if suffix in found:
            _read_pickle(model, prefix + suffix)
    if model.program is not None and ".pdparams" in found:
        for name in model.tensors:
            _check_shape(model, name, prefix)


def _read_pickle(model: Model, path: str) -> None:
    indexed = index_arrays(path)
    if indexed is not None:
        model.tensors.update(indexed)
        return
    try:
        arrays: dict[str, Any] = read_arrays(path)
    except (FluidioError, ValueError, OSError, EOFError, pickle.UnpicklingError) as error:
        model.problems.append(f"{path}: {what_it_is(path)}: {' '.join(str(error).split())}")
        return
    model.tensors.update({name: in_memory(name, array) for name, array in arrays.items()})

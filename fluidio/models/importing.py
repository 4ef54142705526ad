"""Import weights into a saved model, keeping the form of the model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import BinaryIO

import numpy as np

from fluidio.errors import ModelError
from fluidio.io.pickled import write_arrays
from fluidio.io.saving import MODEL_KEY
from fluidio.models.open_model import Model, open_model
from fluidio.models.stored import StoredTensor
from fluidio.models.weights import fc_weights
from fluidio.ops.io.whole_files import saving_together, write_whole
from fluidio.program.consent import inside
from fluidio.recordio.format.tensor_codec import tensor_prefix

__all__ = ["Imported", "import_weights"]


@dataclass
class Imported:
    """The result of an import."""

    written: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


def import_weights(
    weights: Mapping[str, StoredTensor],
    folder: str,
    *,
    mapping: Mapping[str, str] | None = None,
    transpose_fc: bool = False,
    transpose: Iterable[str] = (),
    cast: bool = False,
    partial: bool = False,
    tell: Callable[[int], None] = lambda size: None,
) -> Imported:
    """Write weights into a saved model; all files change together or none changes.

    Args:
        weights: tensors by name.
        folder: a model in any form that `open_model` knows, or a new folder, which gets a file for each tensor.
        mapping: names in the model, keyed by the weights' names.
        transpose_fc: the weights of `fc` layers are (out, in), as in PyTorch.
        transpose: names in the model of further matrices to transpose.
        cast: convert dtypes that differ; otherwise they are an error.
        partial: accept weights without a variable in the model, and variables without a weight.

    Raises:
        ModelError: with all tensors that do not fit.
    """
    found = _named(weights, mapping or {})
    if not os.path.exists(folder) or (os.path.isdir(folder) and not os.listdir(folder)):
        _write_files(folder, found, tell)
        return Imported(written=sorted(found))
    model = open_model(folder)
    damaged = [line for line in model.problems if "no file holds it" not in line]
    if damaged:
        raise ModelError(f"{folder}: fluidio cannot import into this folder", damaged)
    turned = set(transpose) | (fc_weights(model.needed_program()) if transpose_fc else set())
    fitting, done = _fitted(model, found, turned, cast, partial)
    _write_into(model, fitting, tell)
    return done


def _named(weights: Mapping[str, StoredTensor], mapping: Mapping[str, str]) -> dict[str, StoredTensor]:
    unknown = sorted(set(mapping) - set(weights))
    if unknown:
        raise ModelError("the mapping names tensors that are not among the weights", unknown)
    found: dict[str, StoredTensor] = {}
    for old, tensor in weights.items():
        new = mapping.get(old, old)
        if new in found:
            raise ModelError("the mapping gives several tensors the same name", [new])
        found[new] = replace(tensor, name=new)
    return found


def _fitted(
    model: Model, found: Mapping[str, StoredTensor], turned: set[str], cast: bool, partial: bool
) -> tuple[dict[str, StoredTensor], Imported]:
    """Return the model's new tensors and how each was obtained, or raise with everything that does not fit."""
    variables = model.persistables
    known = set(model.tensors) | set(variables)
    done = Imported(sorted(known & set(found)), sorted(known - set(found)), sorted(set(found) - known))
    problems = []
    if not partial:
        problems += [f"{name}: the model has no such variable (--partial leaves it out)" for name in done.unused]
        problems += [f"{name}: no weight for it (--partial keeps the old value)" for name in done.kept]
    whole = dict(model.tensors)
    for name in done.written:
        tensor = found[name]
        if name in turned and len(tensor.shape) == 2:
            tensor = replace(tensor, shape=tensor.shape[::-1], held=np.ascontiguousarray(tensor.array().T))
        old = model.tensors.get(name)
        shape = old.shape if old is not None else tuple(variables[name].shape)
        dtype = old.dtype if old is not None else tensor.dtype
        if tensor.shape != shape:
            hint = " (transposed? --transpose-fc, --transpose)" if tensor.shape == shape[::-1] else ""
            problems.append(f"{name}: the weight has shape {tensor.shape}, the model {shape}{hint}")
        elif tensor.dtype.newbyteorder("=") != dtype.newbyteorder("=") and not cast:
            problems.append(f"{name}: the weight is {tensor.dtype.name}, the model {dtype.name} (--cast converts)")
        elif tensor.dtype.newbyteorder("=") != dtype.newbyteorder("="):
            tensor = replace(tensor, dtype=dtype, held=tensor.array().astype(dtype))
        whole[name] = tensor
    missing = sorted(set(variables) - set(whole))
    problems += [f"{name}: neither the model nor the weights have a value for it" for name in missing]
    if problems:
        raise ModelError(f"{model.path}: the weights do not fit, so nothing was changed", problems)
    return whole, done


def _write_into(model: Model, tensors: dict[str, StoredTensor], tell: Callable[[int], None]) -> None:
    if model.form.startswith("program and a combined"):
        folder, name = os.path.split(model.params_path)
        order = list(model.tensors) or sorted(tensors)
        with saving_together(folder, MODEL_KEY), write_whole(os.path.join(folder, name)) as file:
            for each in order:
                _write_tensor(file, tensors[each], tell)
    elif ".pd" in model.form:
        _write_pickles(model, tensors, tell)
    elif "numbered" in model.form:
        raise ModelError(f"{model.path} ({model.form}): the names of its tensors are known only with the program")
    else:
        _write_files(model.params_path or model.path, tensors, tell)


def _write_files(folder: str, tensors: Mapping[str, StoredTensor], tell: Callable[[int], None]) -> None:
    with saving_together(folder, MODEL_KEY):
        for name, tensor in tensors.items():
            with write_whole(inside(folder, name)) as file:
                _write_tensor(file, tensor, tell)


def _write_tensor(file: BinaryIO, tensor: StoredTensor, tell: Callable[[int], None]) -> None:
    write = file.write
    write(tensor_prefix(tensor.dtype.newbyteorder("="), tensor.shape))
    for piece in tensor.pieces():
        write(piece)
        tell(len(piece))


def _write_pickles(model: Model, tensors: Mapping[str, StoredTensor], tell: Callable[[int], None]) -> None:
    from fluidio.io.pickled import read_arrays

    prefix = model.params_path
    for suffix in (".pdparams", ".pdopt"):
        prefix = prefix.removesuffix(suffix)
    optimizer = set(read_arrays(prefix + ".pdopt")) if os.path.exists(prefix + ".pdopt") else set()
    with saving_together(*os.path.split(prefix)):
        for suffix, names in ((".pdparams", set(tensors) - optimizer), (".pdopt", optimizer)):
            if names:
                write_arrays(prefix + suffix, {name: tensors[name].array() for name in tensors if name in names})
                tell(sum(tensors[name].nbytes for name in names))

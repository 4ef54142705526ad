"""Export parameters as safetensors, npz or a PyTorch state_dict."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from fluidio.errors import ModelError
from fluidio.models.npz import read_npz, write_npz
from fluidio.models.open_model import Model
from fluidio.models.safetensors import read_safetensors, write_safetensors
from fluidio.models.stored import StoredTensor
from fluidio.models.torch_state import read_torch, write_torch
from fluidio.ops.io.whole_files import write_whole
from fluidio.program import Program
from fluidio.regular import open_regular
from fluidio.version import __version__

__all__ = ["FORMATS", "fc_weights", "read_mapping", "read_weights", "write_weights"]

FORMATS = ("safetensors", "npz", "torch")


def write_weights(
    model: Model,
    form: str,
    path: str,
    *,
    mapping: Mapping[str, str] | None = None,
    transpose_fc: bool = False,
    tell: Callable[[int], None] = lambda size: None,
) -> list[StoredTensor]:
    """Write the tensors of a model to one file, which appears when it is complete.

    Args:
        form: one of FORMATS.
        mapping: new names by old names; others keep theirs.
        transpose_fc: transpose the weights of `fc` layers, for PyTorch's Linear.
        tell: called with the size of each piece written.

    Returns:
        what was written.

    Raises:
        ModelError: the model is damaged, has no tensors, or two of them would get one name.
    """
    model.raise_problems()
    if not model.tensors:
        raise ModelError(f"{model.path}: there are no parameters to write ({model.form})")
    turned = fc_weights(model.needed_program()) if transpose_fc else set()
    tensors = [_transposed(tensor) if tensor.name in turned else tensor for tensor in model.tensors.values()]
    tensors = _renamed(tensors, mapping or {})
    with write_whole(path) as file:
        if form == "safetensors":
            write_safetensors(file, tensors, {"format": "np", "source": f"fluidio {__version__}"}, tell)
        elif form == "npz":
            write_npz(file, tensors, tell)
        elif form == "torch":
            write_torch(file, tensors, tell)
        else:
            raise ValueError(f"no format {form!r}: choose one of {', '.join(FORMATS)}")
    return tensors


def _transposed(tensor: StoredTensor) -> StoredTensor:
    array = np.ascontiguousarray(tensor.array().T)
    return StoredTensor(tensor.name, array.dtype, array.shape, held=array)


def _renamed(tensors: Iterable[StoredTensor], mapping: Mapping[str, str]) -> list[StoredTensor]:
    found = [replace(tensor, name=mapping.get(tensor.name, tensor.name)) for tensor in tensors]
    names = [tensor.name for tensor in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ModelError("the mapping gives several tensors the same name", twice)
    return found


def fc_weights(program: Program) -> set[str]:
    """Return the matrices that `fc` layers multiply with, which are (in, out) here and (out, in) in PyTorch."""
    found = set()
    for block in program.blocks:
        for op in block.ops:
            plain = op.type == "mul" or (op.type == "matmul" and not op.attrs.get("transpose_Y"))
            for name in op.input("Y") if plain else op.input("W") if op.type == "fc" else []:
                var = block._find_var_recursive(name)
                if var is not None and var.persistable and len(var.shape) == 2:
                    found.add(name)
    return found


def read_weights(path: str) -> dict[str, StoredTensor]:
    """Return the tensors of a file by name: safetensors, npz or PyTorch, recognised by its first bytes."""
    with open_regular(path) as file:
        head = file.read(10)
    if head.startswith(b"PK"):
        return read_npz(path) if _is_npz(path) else read_torch(path)
    if head.startswith(b"\x80"):
        return read_torch(path)
    return read_safetensors(path)


def _is_npz(path: str) -> bool:
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return all(name.endswith(".npy") for name in archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise ModelError(f"{path} is a damaged zip file: {error}") from error


def read_mapping(path: str) -> dict[str, str]:
    """Return a mapping of names: a JSON object, or lines of `OLD NEW`.

    Raises:
        ModelError: the file is neither.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ModelError(f"{path} is not UTF-8 text ({error})") from error
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{path} is not JSON ({error})") from error
        if not all(isinstance(new, str) for new in found.values()):
            raise ModelError(f"{path}: the mapping must give a new name for each old name")
        return {str(old): new for old, new in found.items()}
    lines = [line.split() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    wrong = [" ".join(words) for words in lines if len(words) != 2]
    if wrong:
        raise ModelError(f"{path}: each line needs an old and a new name", wrong)
    return dict(lines)

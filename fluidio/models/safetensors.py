"""The safetensors format: u64 size of a JSON header, the header, then the data of all tensors one after another.

It is read and written without the safetensors package, piece by piece: no tensor need fit in memory as a whole.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

import numpy as np

from fluidio.errors import ModelError
from fluidio.models.stored import StoredTensor
from fluidio.regular import open_regular

__all__ = ["read_safetensors", "write_safetensors"]

_NAMES = {
    "float32": "F32",
    "float64": "F64",
    "float16": "F16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}
_DTYPES = {code: np.dtype(name).newbyteorder("<") for name, code in _NAMES.items()}
_LARGEST_HEADER = 100 << 20  # what the format's own library accepts
_size = struct.Struct("<Q")


def write_safetensors(
    file: BinaryIO,
    tensors: Iterable[StoredTensor],
    metadata: dict[str, str],
    tell: Callable[[int], None] = lambda size: None,
) -> None:
    """Write tensors; `tell` is called with the size of each piece."""
    ordered = sorted(tensors, key=lambda tensor: (-tensor.dtype.itemsize, tensor.name))  # keeps data aligned
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    start = 0
    for tensor in ordered:
        if tensor.dtype.name not in _NAMES:
            raise ModelError(f"{tensor.name}: safetensors has no dtype {tensor.dtype.name}")
        stop = start + tensor.nbytes
        code = _NAMES[tensor.dtype.name]
        header[tensor.name] = {"dtype": code, "shape": list(tensor.shape), "data_offsets": [start, stop]}
        start = stop
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(_size.pack(len(text)) + text)
    for tensor in ordered:
        for piece in tensor.pieces():
            file.write(piece)
            tell(len(piece))


def read_safetensors(path: str) -> dict[str, StoredTensor]:
    """Return the tensors of a file by name; their data stay in the file until requested.

    Raises:
        ModelError: the file is truncated or damaged, or has a dtype that Fluid lacks.
    """
    size = os.path.getsize(path)
    with open_regular(path) as file:
        first = file.read(8)
        length = _size.unpack(first)[0] if len(first) == 8 else 0
        if not 2 <= length <= min(_LARGEST_HEADER, size - 8):
            raise ModelError(
                f"{path} is not a safetensors file: its header would have {length} bytes, but the file has {size}"
            )
        text = file.read(length)
    try:
        header = json.loads(text)
        if not isinstance(header, dict):
            raise TypeError
        header.pop("__metadata__", None)
        return {str(name): _tensor(path, str(name), about, 8 + length, size) for name, about in header.items()}
    except ModelError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelError(f"{path}: the header of this safetensors file is damaged ({error})") from None


def _tensor(path: str, name: str, about: dict[str, Any], start: int, size: int) -> StoredTensor:
    begin, end = (int(number) for number in about["data_offsets"])
    shape = tuple(int(dim) for dim in about["shape"])
    if any(dim < 0 for dim in shape) or len(shape) > 32:
        raise ModelError(f"{path}: {name} has shape {shape}")
    if about["dtype"] not in _DTYPES:
        raise ModelError(f"{path}: {name} is {about['dtype']}, which Fluid does not have: convert it to float32 first")
    tensor = StoredTensor(name, _DTYPES[about["dtype"]], shape, path, start + begin)
    expected = tensor.dtype.itemsize
    for dim in shape:
        expected *= dim
    if begin < 0 or end - begin != expected or start + end > size:
        raise ModelError(
            f"{path}: {name} {about['dtype']}{list(shape)} needs {expected} bytes, but the header gives it "
            f"bytes {begin} to {end} of {size - start}: the file is incomplete or damaged"
        )
    return tensor

"""Read and write NumPy's .npz piece by piece."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable
from typing import BinaryIO

import numpy as np

from fluidio.errors import ModelError
from fluidio.models.stored import StoredTensor, in_memory
from fluidio.recordio.files.zipped_arrays import read_zipped_arrays

__all__ = ["read_npz", "write_npz"]

_EPOCH = (1980, 1, 1, 0, 0, 0)  # reproducible bytes


def write_npz(file: BinaryIO, tensors: Iterable[StoredTensor], tell: Callable[[int], None] = lambda size: None) -> None:
    """Write tensors uncompressed, as `np.savez` does; `np.load(path)[name]` reads one."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for tensor in tensors:
            entry = zipfile.ZipInfo(f"{tensor.name}.npy", _EPOCH)
            with archive.open(entry, "w", force_zip64=True) as member:
                member.write(_head(tensor))
                for piece in tensor.pieces():
                    member.write(piece)
                    tell(len(piece))


def _head(tensor: StoredTensor) -> bytes:
    head = io.BytesIO()
    descr = np.lib.format.dtype_to_descr(tensor.dtype.newbyteorder("<"))
    np.lib.format.write_array_header_1_0(head, {"descr": descr, "fortran_order": False, "shape": tensor.shape})
    return head.getvalue()


def read_npz(path: str) -> dict[str, StoredTensor]:
    """Return the arrays of a file by name; pickled objects are refused."""
    try:
        return {name: in_memory(name, array) for name, array in read_zipped_arrays(path).items()}
    except ValueError as error:
        raise ModelError(f"{path} is not an .npz of plain arrays ({error})") from error

"""NumPy's npy and npz files of unknown origin: plain arrays of a bounded size."""

from __future__ import annotations

import contextlib
import errno
import io
import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, BinaryIO

import numpy as np

from fluidio.recordio.format.limits import chunk_limit
from fluidio.tensor.array import Array

__all__ = ["read_array", "read_zipped_arrays"]

# What NumPy and zipfile raise for damaged files, besides ValueError; RuntimeError for an encrypted one.
_UNREADABLE = (RuntimeError, zipfile.BadZipFile, EOFError, KeyError, tokenize.TokenError, zlib.error, SyntaxError)


def read_zipped_arrays(file: str | BinaryIO) -> dict[str, Any]:
    """Return the arrays of an npz file by name.

    Raises:
        ValueError: it is damaged, encrypted or something else, holds pickles, or becomes larger than `chunk_limit`.
    """
    with _one_kind_of_error():
        found = np.load(file, allow_pickle=False)
        if isinstance(found, np.ndarray):
            raise ValueError("this is a single array, but an .npz holds arrays with names")
        with found as stored:
            for entry in stored.zip.infolist():
                _check(entry, stored.zip)
            return {name: stored[name] for name in stored.files}


def read_array(data: bytes) -> Array:
    """Return the array of an npy file.

    Raises:
        ValueError: it is damaged or something else, or holds pickles.
    """
    with _one_kind_of_error():
        _check_header(io.BytesIO(data), "an array", len(data))
        found: Array = np.load(io.BytesIO(data), allow_pickle=False)
        return found


@contextlib.contextmanager
def _one_kind_of_error() -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        raise ValueError(f"no {error}" if isinstance(error, KeyError) else str(error)) from error
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise ValueError("a damaged zip file: it refers to a place before its beginning") from error


def _check(entry: zipfile.ZipInfo, archive: zipfile.ZipFile) -> None:
    """Refuse a member that would become too large, or an array that is larger than its member."""
    limit = chunk_limit(entry.compress_size)
    if entry.file_size > limit:
        raise ValueError(
            f"{entry.filename} would grow from {entry.compress_size} to {entry.file_size} bytes, above the "
            f"limit of {limit}; if you trust the file, raise the limit with recordio.set_chunk_limit or "
            "FLUIDIO_CHUNK_LIMIT"
        )
    with archive.open(entry) as member:
        _check_header(member, entry.filename, entry.file_size)


def _check_header(file: IO[bytes], name: str, size: int) -> None:
    """Refuse an array that is larger than its file."""
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"{name}: version {version} of NumPy's format holds no plain arrays")
    shape, _, dtype = read(file)
    if min(shape, default=0) < 0 or math.prod(map(int, shape)) * max(dtype.itemsize, 1) > size:
        raise ValueError(f"{name}: {dtype} of shape {shape} does not match {size} bytes")

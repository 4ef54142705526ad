"""NumPy's npz files of unknown origin: plain arrays of a bounded size."""

from __future__ import annotations

import errno
import math
import tokenize
import zipfile
import zlib
from typing import Any, BinaryIO

import numpy as np

from fluidio.recordio.format.limits import chunk_limit

__all__ = ["read_zipped_arrays"]

# What NumPy and zipfile raise for damaged files, besides ValueError; RuntimeError for an encrypted one.
_UNREADABLE = (RuntimeError, zipfile.BadZipFile, EOFError, KeyError, tokenize.TokenError, zlib.error, SyntaxError)


def read_zipped_arrays(file: str | BinaryIO) -> dict[str, Any]:
    """Return the arrays of an npz file by name.

    Raises:
        ValueError: it is damaged, encrypted or something else, holds pickles, or becomes larger than `chunk_limit`.
    """
    try:
        with np.load(file, allow_pickle=False) as stored:
            if isinstance(stored, np.ndarray):
                raise ValueError("a single array; an .npz has names")
            for entry in stored.zip.infolist():
                _check(entry, stored.zip)
            return {name: stored[name] for name in stored.files}
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
            f"{entry.filename}: {entry.compress_size} bytes would become {entry.file_size}, and {limit} are the limit; "
            "if you trust the file, raise it with recordio.set_chunk_limit or FLUIDIO_CHUNK_LIMIT"
        )
    with archive.open(entry) as member:
        version = np.lib.format.read_magic(member)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
        if read is None:
            raise ValueError(f"{entry.filename}: format {version} of NumPy holds no plain arrays")
        shape, _, dtype = read(member)
    if min(shape, default=0) < 0 or math.prod(map(int, shape)) * max(dtype.itemsize, 1) > entry.file_size:
        raise ValueError(f"{entry.filename}: {dtype} of shape {shape} in {entry.file_size} bytes")

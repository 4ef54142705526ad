"""Write and read the pickles of `fluid.save`: a dict of arrays by name, protocol 2, for every NumPy and Python."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from fluidio import pickles
from fluidio.ops.io.whole_files import write_whole
from fluidio.regular import open_regular
from fluidio.tensor.array import Array

__all__ = ["read_arrays", "write_arrays"]


def write_arrays(path: str, arrays: dict[str, Array]) -> None:
    """Write a dict of arrays; the file appears only when it is complete."""
    with write_whole(path) as file:
        file.write(pickles.dumps(arrays))


def read_arrays(path: str, allow_pickle: bool = False) -> dict[str, Any]:
    """Read a dict of arrays; a pickle that contains more than data is refused.

    Raises:
        UnsafePickleError: the file would run code.
        ValueError: the file holds something other than arrays by name.
    """
    with open_regular(path) as file:
        found = pickles.load(file, allow_pickle, source=os.fspath(path))
    if not isinstance(found, dict):
        raise ValueError(f"{path}: expected a dict of names and arrays, found {type(found).__name__}")
    found.pop("StructuredToParameterName@@", None)  # Paddle's dygraph puts its own names there
    arrays = {}
    for name, value in found.items():
        if not isinstance(value, (np.ndarray, np.generic, int, float)):
            raise ValueError(f"{path}: {name!r} is {type(value).__name__}, not an array")
        arrays[str(name)] = np.asarray(value)
    return arrays

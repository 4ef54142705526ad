"""Write arrays with LoD as plain data, for JSON. Read by Python 3.7 and NumPy 1.19 as well."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

__all__ = ["decode", "encode", "literal"]


def literal(array: Any, lod: Any = None) -> dict[str, Any]:
    """Write an input as readable numbers: {"dtype", "shape", "data", "lod"}; the LoD is given by lengths."""
    array = np.asarray(array)
    written = {"dtype": str(array.dtype), "shape": list(array.shape), "data": array.ravel().tolist()}
    if lod:
        written["lod"] = [list(map(int, level)) for level in lod]
    return written


def encode(array: Any, lod: Any = None) -> dict[str, Any]:
    """Write a result bit for bit: like `literal`, with the bytes in base 64."""
    array = np.asarray(array)
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
    written = {"dtype": str(array.dtype), "shape": list(array.shape), "bytes": data}
    if lod:
        written["lod"] = [list(map(int, level)) for level in lod]
    return written


def decode(written: dict[str, Any]) -> Any:
    """Return the array of what `literal` or `encode` wrote."""
    dtype = np.dtype(written["dtype"])
    if "bytes" in written:
        return np.frombuffer(base64.b64decode(written["bytes"]), dtype).reshape(written["shape"])
    return np.array(written["data"], dtype).reshape(written["shape"])

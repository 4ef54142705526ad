"""One value as a page shows it: pictures, text, sequences with their LoD, tensors as heat maps; of bounded size."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from fluidio.conversion.looking import short
from fluidio.conversion.pictures import picture
from fluidio.pickles import preview
from fluidio.tensor.array import Array
from fluidio.tensor.lod import LoD

__all__ = ["cell"]

_TEXT = 4000
_FIRST = 24
_SIDE = 64
_PICTURE_BYTES = 120_000
_MIMES = {"PNG": "image/png", "GIF": "image/gif", "BMP": "image/bmp", "WebP": "image/webp", "JPEG": "image/jpeg"}


def cell(value: object, lod: LoD = ()) -> dict[str, Any]:
    """Return how one value is shown: {"as": "number" | "text" | "picture" | "tensor" | "bytes" | "other", ...}."""
    if isinstance(value, (bool, int, float, np.generic)) and not _is_long(value):
        return {"as": "number", "value": value if isinstance(value, (bool, int, float)) else value.item()}
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bytes):
        return _bytes(value)
    if isinstance(value, list) and value and all(isinstance(item, (int, float)) for item in value):
        numbers = np.asarray(value)
        value = value if numbers.dtype.hasobject else numbers
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return _tensor(value, lod)
    text = _repr(value)
    return _text(text) | {"as": "other", "note": short(value)} | _levels(lod)


def _is_long(value: object) -> bool:
    """Return whether this is a number that Python may refuse to write in decimal digits."""
    return isinstance(value, int) and value.bit_length() > 1024


def _repr(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # a number of thousands of digits inside
        return preview(value, _TEXT)


def _text(value: str) -> dict[str, Any]:
    described: dict[str, Any] = {"as": "text", "value": value[:_TEXT]}
    return described | ({"length": len(value)} if len(value) > _TEXT else {})


def _bytes(value: bytes) -> dict[str, Any]:
    found = picture(value)
    if found is not None:
        described: dict[str, Any] = {"as": "picture", "note": found, "size": len(value)}
        if len(value) <= _PICTURE_BYTES:
            mime = _MIMES[found.split()[0]]
            described["src"] = f"data:{mime};base64,{base64.b64encode(value).decode()}"
        return described
    try:
        return _text(value.decode())
    except UnicodeDecodeError:
        return {"as": "bytes", "value": value[:256].hex(" "), "size": len(value)}


def _levels(lod: LoD) -> dict[str, Any]:
    return (
        {"lod": [level[:_FIRST].tolist() for level in lod], "lod_sizes": [len(level) for level in lod]} if lod else {}
    )


def _tensor(array: Array, lod: LoD) -> dict[str, Any]:
    flat = array.reshape(-1)
    described: dict[str, Any] = {"as": "tensor", "dtype": array.dtype.name, "shape": list(array.shape)}
    described |= {"first": flat[:_FIRST].tolist(), "size": array.size} | _levels(lod)
    if array.size < 16 or lod:
        return described
    grid, colours = _grid(array)
    finite = grid[np.isfinite(grid)] if grid.dtype.kind == "f" else grid.reshape(-1)
    if not len(finite):
        return described
    low, high = float(finite.min()), float(finite.max())
    scale = 255 / (high - low) if high > low and math.isfinite(high - low) else 0.0
    with np.errstate(all="ignore"):
        pixels = np.nan_to_num((grid.astype(np.float64) - low) * scale, nan=0, posinf=255, neginf=0)
    described |= {"low": low, "high": high, "grid": list(grid.shape[:2]), "colours": colours}
    return described | {"pixels": base64.b64encode(pixels.clip(0, 255).astype(np.uint8).tobytes()).decode()}


def _grid(array: Array) -> tuple[Array, bool]:
    """Return (rows, columns) or (rows, columns, 3) of at most `_SIDE` a side, and whether the last axis is colours."""
    shape = tuple(dim for dim in array.shape if dim != 1)
    array = array.reshape(shape)
    if len(shape) == 1:
        array = _folded(array)
    if array.ndim == 3 and array.shape[0] == 3 and min(array.shape[1:]) >= 8:
        array = array.transpose(1, 2, 0)
    colours = array.ndim == 3 and array.shape[2] == 3 and min(array.shape[:2]) >= 8
    if array.ndim != 2 and not colours:
        array = array.reshape(len(array), -1)
    steps = [-(-size // _SIDE) for size in array.shape[:2]]
    return array[:: steps[0], :: steps[1]], colours


def _folded(flat: Array) -> Array:
    """Reshape a vector to a possible picture: a square, three squares, or one row."""
    for planes in (1, 3):
        side = math.isqrt(len(flat) // planes)
        if side >= 8 and planes * side * side == len(flat):
            return flat.reshape(side, side) if planes == 1 else flat.reshape(3, side, side)
    return flat.reshape(1, -1)

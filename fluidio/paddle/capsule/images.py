"""scipy.misc's image functions on Pillow, and names that Pillow itself has dropped."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

__all__ = [
    "bytescale",
    "fromimage",
    "getsize",
    "imread",
    "imresize",
    "imrotate",
    "imsave",
    "textsize",
    "toimage",
]

_FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}


def _pillow() -> Any:
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        raise ImportError("scipy.misc's image functions need Pillow: pip install pillow", name="PIL") from None


def bytescale(data: Any, cmin: Any = None, cmax: Any = None, high: int = 255, low: int = 0) -> Any:
    """Return values scaled to bytes; bytes are unchanged."""
    values = np.asarray(data)
    if values.dtype == np.uint8:
        return values
    least = values.min() if cmin is None else cmin
    span = (values.max() if cmax is None else cmax) - least
    scaled = (values - least) * ((high - low) / float(span or 1)) + low
    return (scaled.clip(low, high) + 0.5).astype(np.uint8)


def fromimage(im: Any, flatten: bool = False, mode: str | None = None) -> Any:
    """Return the array of an image."""
    if mode is not None:
        im = im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    return np.array(im.convert("F") if flatten else im.convert("L") if im.mode == "1" else im)


def imread(name: object, flatten: bool = False, mode: str | None = None) -> Any:
    """Return the array of an image file."""
    with _pillow().open(name) as image:
        return fromimage(image, flatten, mode)


def toimage(
    arr: object, high: int = 255, low: int = 0, cmin: object = None, cmax: object = None, **kwargs: object
) -> Any:
    """Return the image of an array: [h, w], [h, w, 3 or 4] or [3 or 4, h, w]."""
    data = np.asarray(arr)
    if data.ndim == 3 and data.shape[2] not in (3, 4) and data.shape[0] in (3, 4):
        data = data.transpose(1, 2, 0)
    image = _pillow().fromarray(np.ascontiguousarray(bytescale(data, cmin, cmax, high, low)))
    return image.convert(kwargs["mode"]) if kwargs.get("mode") else image


def imsave(name: object, arr: object, format: str | None = None) -> None:
    """Write an array as an image file."""
    toimage(arr).save(name, format)


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> Any:
    """Return a resized array; `size` is a percentage, a fraction or (height, width)."""
    image = toimage(arr, mode=mode)
    if isinstance(size, (int, np.integer)):
        size = size / 100.0
    width_height = (
        tuple(int(side * size) for side in image.size) if isinstance(size, (float, np.floating)) else (size[1], size[0])
    )
    return fromimage(image.resize(width_height, resample=_FILTERS[interp]))


def imrotate(arr: object, angle: float, interp: str = "bilinear") -> Any:
    """Return a rotated array."""
    return fromimage(toimage(arr).rotate(angle, resample=_FILTERS[interp]))


def getsize(font: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the width and height of a text in a font."""
    if hasattr(font, "getsize"):
        return font.getsize(*args, **kwargs)
    _, _, right, bottom = font.getbbox(*args, **kwargs)
    return int(right), int(bottom)


def textsize(draw: Any, *args: Any, **kwargs: Any) -> Any:
    """Return width and height of a drawn text."""
    if hasattr(draw, "textsize"):
        return draw.textsize(*args, **kwargs)
    _, _, right, bottom = draw.textbbox((0, 0), *args, **kwargs)
    return int(right), int(bottom)

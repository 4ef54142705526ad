"""Load and transform pictures (`paddle.dataset.image`).

Pictures are arrays of height x width x (blue, green, red) bytes, or height x width when grey, as in OpenCV.
Decoding needs Pillow or OpenCV; everything else is numpy.
"""

from __future__ import annotations

import importlib
import io
import os
import pickle
from collections.abc import Sequence

import numpy as np

from fluidio.dataset.archives import tar_members
from fluidio.errors import missing_dependency
from fluidio.tensor.array import Array

__all__ = [
    "batch_images_from_tar",
    "center_crop",
    "left_right_flip",
    "load_and_transform",
    "load_image",
    "load_image_bytes",
    "random_crop",
    "resize_short",
    "simple_transform",
    "to_chw",
]

Image = Array


def batch_images_from_tar(
    data_file: str, dataset_name: str, img2label: dict[str, int], num_per_batch: int = 1024
) -> str:
    """Write the labelled pictures of an archive into pickled batches beside it.

    Args:
        img2label: the labels by name in the archive; other pictures are left out.

    Returns:
        The path of a text file with the paths of the batches; each holds {"label": [...], "data": [bytes, ...]}.
    """
    folder = f"{data_file}_batch/{dataset_name}"
    listing = f"{folder}.txt"
    if os.path.exists(listing):
        return listing
    os.makedirs(folder, exist_ok=True)
    pairs = [(img2label[name], data) for name, data in tar_members(data_file, img2label.__contains__)]
    names: list[str] = []
    for start in range(0, len(pairs), num_per_batch):
        labels, data = zip(*pairs[start : start + num_per_batch])
        names.append(os.path.abspath(f"{folder}/batch_{len(names)}"))
        with open(names[-1], "wb") as file:
            pickle.dump({"label": list(labels), "data": list(data)}, file, protocol=2)
    with open(listing, "w", encoding="utf-8") as text:
        text.writelines(f"{name}\n" for name in names)
    return listing


def load_image_bytes(bytes: bytes, is_color: bool = True) -> Image:
    """Return the picture in the bytes of an image file; `is_color=False` makes it grey."""
    try:
        pillow = importlib.import_module("PIL.Image")
    except ImportError:
        return _load_with_opencv(bytes, is_color)
    with pillow.open(io.BytesIO(bytes)) as picture:
        if not is_color:
            return np.array(picture.convert("L"))
        return np.ascontiguousarray(np.array(picture.convert("RGB"))[:, :, ::-1])


def _load_with_opencv(data: bytes, is_color: bool) -> Image:
    try:
        cv2 = importlib.import_module("cv2")
    except ImportError:
        raise missing_dependency("Pillow", "images", "decoding pictures") from None
    picture: Image | None = cv2.imdecode(np.frombuffer(data, np.uint8), 1 if is_color else 0)
    if picture is None:
        raise ValueError("OpenCV cannot read this as a picture")
    return picture


def load_image(file: str, is_color: bool = True) -> Image:
    """Return the picture in a file."""
    with open(file, "rb") as source:
        return load_image_bytes(source.read(), is_color)


def resize_short(im: Image, size: int) -> Image:
    """Resize a picture so that its shorter side has `size` pixels (bicubic, as OpenCV computes it)."""
    height, width = im.shape[:2]
    if height > width:
        return _resize(im, size * height // width, size)
    return _resize(im, size, size * width // height)


def _resize(im: Image, height: int, width: int) -> Image:
    # Like OpenCV for bytes: weights in units of 1/2048 in both directions, rounded once at the end.
    rows, row_weights = _taps(im.shape[0], height)
    columns, column_weights = _taps(im.shape[1], width)
    source = im.astype(np.int32).reshape(*im.shape[:2], -1)
    wide = sum(source[:, columns[:, k]] * column_weights[None, :, k, None] for k in range(4))
    total = sum(np.asarray(wide, np.int64)[rows[:, k]] * row_weights[:, k, None, None] for k in range(4))
    result: Image = np.clip((np.asarray(total) + (1 << 21)) >> 22, 0, 255).astype(im.dtype)
    return result.reshape(height, width, *im.shape[2:])


def _taps(old: int, new: int) -> tuple[Array, Array]:
    """Return the four pixels that make each new one, and their weights."""
    at = ((np.arange(new) + 0.5) * (old / new) - 0.5).astype(np.float32)
    left = np.floor(at).astype(np.int64)
    x = at - left
    a = np.float32(-0.75)
    weights = np.empty((new, 4), np.float32)
    weights[:, 0] = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a
    weights[:, 1] = ((a + 2) * x - (a + 3)) * x * x + 1
    weights[:, 2] = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1
    weights[:, 3] = 1 - weights[:, :3].sum(axis=1)
    near = np.clip(left[:, None] + np.arange(-1, 3), 0, old - 1)
    return near, np.rint(weights * 2048).astype(np.int32)


def to_chw(im: Image, order: Sequence[int] = (2, 0, 1)) -> Image:
    """Move the channels to the front."""
    assert len(im.shape) == len(order), f"a picture of shape {im.shape} cannot be put into the order {tuple(order)}"
    return im.transpose(order)


def center_crop(im: Image, size: int, is_color: bool = True) -> Image:
    """Cut a square of `size` pixels out of the middle."""
    height, width = im.shape[:2]
    return _crop(im, (height - size) // 2, (width - size) // 2, size)


def random_crop(im: Image, size: int, is_color: bool = True) -> Image:
    """Cut out a square of `size` pixels at a place drawn from `numpy.random`."""
    height, width = im.shape[:2]
    top = np.random.randint(0, height - size + 1)
    return _crop(im, top, np.random.randint(0, width - size + 1), size)


def _crop(im: Image, top: int, left: int, size: int) -> Image:
    if top < 0 or left < 0:
        raise ValueError(f"a square of {size} pixels is larger than a picture of {im.shape[0]} x {im.shape[1]}")
    return im[top : top + size, left : left + size]


def left_right_flip(im: Image, is_color: bool = True) -> Image:
    """Mirror a picture."""
    return im[:, ::-1]


def simple_transform(
    im: Image,
    resize_size: int,
    crop_size: int,
    is_train: bool,
    is_color: bool = True,
    mean: object = None,
) -> Image:
    """Resize, crop (for training at random, with a random flip), move channels to the front, subtract the mean.

    Args:
        mean: one number for each channel, or an array of the result's shape.

    Returns:
        An array of float32.
    """
    im = resize_short(im, resize_size)
    if is_train:
        im = random_crop(im, crop_size, is_color)
        if np.random.randint(2) == 0:
            im = left_right_flip(im, is_color)
    else:
        im = center_crop(im, crop_size, is_color)
    if im.ndim == 3:
        im = to_chw(im)
    im = im.astype(np.float32)
    if mean is None:
        return im
    shift = np.asarray(mean, np.float32)
    if shift.ndim == 1 and is_color:
        shift = shift[:, None, None]
    assert shift.ndim == 1 or shift.ndim == im.ndim, f"mean of shape {shift.shape} for a picture of shape {im.shape}"
    im -= shift
    return im


def load_and_transform(
    filename: str, resize_size: int, crop_size: int, is_train: bool, is_color: bool = True, mean: object = None
) -> Image:
    """Load a file and transform it."""
    return simple_transform(load_image(filename, is_color), resize_size, crop_size, is_train, is_color, mean)

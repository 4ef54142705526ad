"""`paddle.utils.image_util`: crop, flip and scale images held as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.errors import missing_dependency

__all__ = ["crop_img", "decode_jpeg", "flip", "load_image", "preprocess_img", "resize_image"]


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise missing_dependency("Pillow", "images", "reading images") from error
    return Image


def load_image(img_path: str, is_color: bool = True) -> Any:
    """Return the image as a PIL image."""
    img = _pillow().open(img_path)
    img.load()
    return img


def decode_jpeg(jpeg_string: bytes) -> Any:
    """Return channels, height, width of encoded bytes."""
    import io

    array = np.array(_pillow().open(io.BytesIO(jpeg_string)))
    return np.transpose(array, (2, 0, 1)) if array.ndim == 3 else array


def resize_image(img: Any, target_size: int) -> Any:
    """Scale a PIL image so that its shorter side is `target_size`."""
    percent = target_size / float(min(img.size[0], img.size[1]))
    size = (round(img.size[0] * percent), round(img.size[1] * percent))
    return img.resize(size, _pillow().LANCZOS)


def flip(im: Any) -> Any:
    """Mirror an image of [channels,] height, width."""
    return im[..., ::-1]


def crop_img(im: Any, inner_size: int, color: bool = True, test: bool = True) -> Any:
    """Crop channels, height, width to a square: the centre for testing, random with random flips in training."""
    height, width = im.shape[-2:]
    if test:
        top, left = (height - inner_size) // 2, (width - inner_size) // 2
    else:
        top, left = np.random.randint(0, height - inner_size + 1), np.random.randint(0, width - inner_size + 1)
    picture = im[..., top : top + inner_size, left : left + inner_size]
    if not test and np.random.randint(2) == 0:
        picture = flip(picture)
    return picture


def preprocess_img(im: object, img_mean: object, crop_size: int, is_train: bool, color: bool = True) -> Any:
    """Crop, subtract the mean and flatten."""
    picture = crop_img(np.asarray(im, np.float32), crop_size, color, test=not is_train)
    return (picture - img_mean).flatten()

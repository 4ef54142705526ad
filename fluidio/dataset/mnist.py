"""Handwritten digits: (784 float32 in [-1, 1], label 0 ... 9)."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fluidio.dataset import common

__all__ = ["test", "train"]

URL_PREFIX = "https://dataset.bj.bcebos.com/mnist/"
TEST_IMAGE_URL = URL_PREFIX + "t10k-images-idx3-ubyte.gz"
TEST_IMAGE_MD5 = "9fb629c4189551a2d022fa330f9573f3"
TEST_LABEL_URL = URL_PREFIX + "t10k-labels-idx1-ubyte.gz"
TEST_LABEL_MD5 = "ec29112dd5afa0611ce80d1b7f02629c"
TRAIN_IMAGE_URL = URL_PREFIX + "train-images-idx3-ubyte.gz"
TRAIN_IMAGE_MD5 = "f68b3c2dcbeaaa9fbdd348bbdeb94873"
TRAIN_LABEL_URL = URL_PREFIX + "train-labels-idx1-ubyte.gz"
TRAIN_LABEL_MD5 = "d53e105ee54ea40749a09fcbcd1e9432"

Sample = tuple[np.ndarray[Any, np.dtype[np.float32]], int]
_BLOCK = 1024


def _idx(path: str, dimensions: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the array in a gzipped IDX file of bytes."""
    try:
        with gzip.open(path, "rb") as file:
            data = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise RuntimeError(f"{path} is not a complete gzip file ({error})") from error
    start = 4 + 4 * dimensions
    head = np.frombuffer(data[: start - start % 4], ">u4") if len(data) >= start else np.zeros(1, ">u4")
    if head[0] != 0x800 + dimensions:
        raise RuntimeError(f"{path} is not an IDX file of bytes in {dimensions} dimensions")
    shape = [int(n) for n in head[1 : 1 + dimensions]]
    size = int(np.prod(shape, dtype=object))
    if len(data) - start != size:
        raise RuntimeError(f"{path}: {shape} values need {size} bytes, but the file holds {len(data) - start}")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def reader_creator(image_filename: str, label_filename: str, buffer_size: int) -> Callable[[], Iterator[Sample]]:
    """Return a reader of a pair of IDX files; `buffer_size` is accepted for compatibility."""

    def reader() -> Iterator[Sample]:
        images, labels = _idx(image_filename, 3), _idx(label_filename, 1)
        if len(images) != len(labels):
            raise RuntimeError(
                f"{image_filename} has {len(images)} images, but {label_filename} has {len(labels)} labels"
            )
        for start in range(0, len(images), _BLOCK):
            block = images[start : start + _BLOCK].reshape(-1, images[0].size).astype(np.float32)
            block = block / np.float32(255) * np.float32(2) - np.float32(1)
            yield from zip(block, labels[start : start + _BLOCK].tolist())

    return reader


def train() -> Callable[[], Iterator[Sample]]:
    """Return a reader of the training digits."""
    return reader_creator(
        common.download(TRAIN_IMAGE_URL, "mnist", TRAIN_IMAGE_MD5),
        common.download(TRAIN_LABEL_URL, "mnist", TRAIN_LABEL_MD5),
        100,
    )


def test() -> Callable[[], Iterator[Sample]]:
    """Return a reader of the test digits."""
    return reader_creator(
        common.download(TEST_IMAGE_URL, "mnist", TEST_IMAGE_MD5),
        common.download(TEST_LABEL_URL, "mnist", TEST_LABEL_MD5),
        100,
    )


def fetch() -> None:
    """Download the four files."""
    train()
    test()

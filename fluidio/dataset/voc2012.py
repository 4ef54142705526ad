"""Pictures and the class of each of their pixels: (height x width x 3 bytes, height x width bytes). Needs Pillow."""

from __future__ import annotations

import importlib
import io
import tarfile
from collections.abc import Callable, Iterator

import numpy as np

from fluidio.dataset import common
from fluidio.errors import missing_dependency
from fluidio.tensor.array import Array

__all__ = ["test", "train", "val"]

VOC_URL = "http://host.robots.ox.ac.uk/pascal/VOC/voc2012/VOCtrainval_11-May-2012.tar"
VOC_MD5 = "6cd6e144f989b92b3379bac3b3de84fd"
SET_FILE = "VOCdevkit/VOC2012/ImageSets/Segmentation/{}.txt"
DATA_FILE = "VOCdevkit/VOC2012/JPEGImages/{}.jpg"
LABEL_FILE = "VOCdevkit/VOC2012/SegmentationClass/{}.png"
CACHE_DIR = "voc2012"

Sample = tuple[Array, Array]


def reader_creator(filename: str, sub_name: str) -> Callable[[], Iterator[Sample]]:
    """Return a reader of one list of pictures in the archive: "train", "val" or "trainval"."""
    try:
        pillow = importlib.import_module("PIL.Image")
    except ImportError:
        raise missing_dependency("Pillow", "images", "decoding pictures") from None

    def array(tar: tarfile.TarFile, name: str) -> Array:
        file = tar.extractfile(name)
        assert file is not None, f"{filename} has no file {name}"
        with pillow.open(io.BytesIO(file.read())) as picture:
            return np.array(picture)

    def reader() -> Iterator[Sample]:
        with tarfile.open(filename) as tar:
            listing = tar.extractfile(SET_FILE.format(sub_name))
            assert listing is not None, f"{filename} has no file {sub_name}.txt"
            for name in listing.read().decode("utf-8").split():
                yield array(tar, DATA_FILE.format(name)), array(tar, LABEL_FILE.format(name))

    return reader


def train() -> Callable[[], Iterator[Sample]]:
    """Return a reader of all pictures with labels. Fluid: training and validation pictures together."""
    return reader_creator(common.download(VOC_URL, CACHE_DIR, VOC_MD5), "trainval")


def test() -> Callable[[], Iterator[Sample]]:
    """Return a reader of the pictures of the list "train"."""
    return reader_creator(common.download(VOC_URL, CACHE_DIR, VOC_MD5), "train")


def val() -> Callable[[], Iterator[Sample]]:
    """Return a reader of the validation pictures."""
    return reader_creator(common.download(VOC_URL, CACHE_DIR, VOC_MD5), "val")


def fetch() -> None:
    """Download the archive."""
    common.download(VOC_URL, CACHE_DIR, VOC_MD5)

"""Small pictures: (3072 float32 in [0, 1], label)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fluidio import pickles
from fluidio.dataset import common
from fluidio.dataset.archives import tar_members

__all__ = ["test10", "test100", "train10", "train100"]

URL_PREFIX = "https://dataset.bj.bcebos.com/cifar/"
CIFAR10_URL = URL_PREFIX + "cifar-10-python.tar.gz"
CIFAR10_MD5 = "c58f30108f718f92721af3b95e74349a"
CIFAR100_URL = URL_PREFIX + "cifar-100-python.tar.gz"
CIFAR100_MD5 = "eb9058c3a382ffc7106e4002c42a8d85"

Sample = tuple[np.ndarray[Any, np.dtype[np.float32]], int]


def reader_creator(filename: str, sub_name: str, cycle: bool = False) -> Callable[[], Iterator[Sample]]:
    """Return a reader of the batches whose name contains `sub_name`; `cycle` repeats them endlessly."""

    def one_pass() -> Iterator[Sample]:
        for name, data in tar_members(filename, lambda name: sub_name in name):
            batch = pickles.loads(data, encoding="bytes", source=f"{filename}: {name}")
            # Files that Python 3 wrote have text for names.
            batch = {name.encode() if isinstance(name, str) else name: value for name, value in batch.items()}
            labels = batch.get(b"labels", batch.get(b"fine_labels"))
            if labels is None or len(labels) != len(batch[b"data"]):
                raise RuntimeError(f"{filename}: {name} has different numbers of pictures and labels")
            for picture, label in zip(batch[b"data"], labels):
                yield (picture / 255.0).astype(np.float32), int(label)

    def reader() -> Iterator[Sample]:
        yield from one_pass()
        while cycle:
            yield from one_pass()

    return reader


def train100() -> Callable[[], Iterator[Sample]]:
    """Return a reader of CIFAR-100's training pictures."""
    return reader_creator(common.download(CIFAR100_URL, "cifar", CIFAR100_MD5), "train")


def test100() -> Callable[[], Iterator[Sample]]:
    """Return a reader of CIFAR-100's test pictures."""
    return reader_creator(common.download(CIFAR100_URL, "cifar", CIFAR100_MD5), "test")


def train10(cycle: bool = False) -> Callable[[], Iterator[Sample]]:
    """Return a reader of CIFAR-10's training pictures."""
    return reader_creator(common.download(CIFAR10_URL, "cifar", CIFAR10_MD5), "data_batch", cycle)


def test10(cycle: bool = False) -> Callable[[], Iterator[Sample]]:
    """Return a reader of CIFAR-10's test pictures."""
    return reader_creator(common.download(CIFAR10_URL, "cifar", CIFAR10_MD5), "test_batch", cycle)


def fetch() -> None:
    """Download both archives."""
    common.download(CIFAR10_URL, "cifar", CIFAR10_MD5)
    common.download(CIFAR100_URL, "cifar", CIFAR100_MD5)

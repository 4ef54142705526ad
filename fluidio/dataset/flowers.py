"""102 kinds of flowers: (3 * 224 * 224 float32, label 0 ... 101). Decoding the pictures needs Pillow or OpenCV."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from multiprocessing import cpu_count
from typing import Any

from fluidio.dataset import common
from fluidio.dataset.archives import tar_members
from fluidio.dataset.image import load_image_bytes, simple_transform
from fluidio.dataset.mat5 import read_mat
from fluidio.reader import map_readers, xmap_readers
from fluidio.tensor.array import Array

__all__ = ["test", "train", "valid"]

DATA_URL = "http://paddlemodels.bj.bcebos.com/flowers/102flowers.tgz"
LABEL_URL = "http://paddlemodels.bj.bcebos.com/flowers/imagelabels.mat"
SETID_URL = "http://paddlemodels.bj.bcebos.com/flowers/setid.mat"
DATA_MD5 = "52808999861908f626f3c1f4e79d11fa"
LABEL_MD5 = "e0620be6f572b9609742df49c70aed4d"
SETID_MD5 = "a5357ecc9cb78c4bef273ce3793fc85c"
# Fluid: trains on the larger part, which its authors meant for testing.
TRAIN_FLAG = "tstid"
TEST_FLAG = "trnid"
VALID_FLAG = "valid"

Mapper = Callable[[tuple[bytes, int]], Any]


def default_mapper(is_train: bool, sample: tuple[bytes, int]) -> tuple[Array, int]:
    """Turn the bytes of a picture into the network's flat input."""
    data, label = sample
    picture = simple_transform(load_image_bytes(data), 256, 224, is_train, mean=[103.94, 116.78, 123.68])
    return picture.flatten().astype("float32"), label


train_mapper = functools.partial(default_mapper, True)
test_mapper = functools.partial(default_mapper, False)


def reader_creator(
    data_file: str,
    label_file: str,
    setid_file: str,
    dataset_name: str,
    mapper: Mapper,
    buffered_size: int = 1024,
    use_xmap: bool = True,
    cycle: bool = False,
) -> Callable[[], Iterator[Any]]:
    """Return a reader of one part of the pictures, in archive order.

    Args:
        dataset_name: "trnid", "tstid" or "valid".
        use_xmap: map in threads; samples then arrive as they are ready.
        cycle: repeat endlessly.
    """
    labels = read_mat(label_file)["labels"][0]
    chosen = {
        f"jpg/image_{number:05d}.jpg": int(labels[number - 1]) for number in read_mat(setid_file)[dataset_name][0]
    }

    def pictures() -> Iterator[tuple[bytes, int]]:
        while True:
            for name, data in tar_members(data_file, chosen.__contains__):
                yield data, chosen[name] - 1
            if not cycle:
                return

    if use_xmap:
        return xmap_readers(mapper, pictures, min(4, cpu_count()), buffered_size)
    return map_readers(mapper, pictures)


def _part(flag: str, mapper: Mapper, buffered_size: int, use_xmap: bool, cycle: bool) -> Callable[[], Iterator[Any]]:
    return reader_creator(
        common.download(DATA_URL, "flowers", DATA_MD5),
        common.download(LABEL_URL, "flowers", LABEL_MD5),
        common.download(SETID_URL, "flowers", SETID_MD5),
        flag,
        mapper,
        buffered_size,
        use_xmap,
        cycle,
    )


def train(
    mapper: Mapper = train_mapper, buffered_size: int = 1024, use_xmap: bool = True, cycle: bool = False
) -> Callable[[], Iterator[Any]]:
    """Return a reader of the training pictures."""
    return _part(TRAIN_FLAG, mapper, buffered_size, use_xmap, cycle)


def test(
    mapper: Mapper = test_mapper, buffered_size: int = 1024, use_xmap: bool = True, cycle: bool = False
) -> Callable[[], Iterator[Any]]:
    """Return a reader of the test pictures."""
    return _part(TEST_FLAG, mapper, buffered_size, use_xmap, cycle)


def valid(
    mapper: Mapper = test_mapper, buffered_size: int = 1024, use_xmap: bool = True
) -> Callable[[], Iterator[Any]]:
    """Return a reader of the validation pictures."""
    return _part(VALID_FLAG, mapper, buffered_size, use_xmap, False)


def fetch() -> None:
    """Download pictures, labels and parts."""
    common.download(DATA_URL, "flowers", DATA_MD5)
    common.download(LABEL_URL, "flowers", LABEL_MD5)
    common.download(SETID_URL, "flowers", SETID_MD5)

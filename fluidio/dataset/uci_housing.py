"""Houses in Boston: (13 normalised features, [price])."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from fluidio.dataset import common
from fluidio.dataset.archives import FileVersion, version

__all__ = ["test", "train"]

URL = "http://paddlemodels.bj.bcebos.com/uci_housing/housing.data"
MD5 = "d4accdce7a25600298819f8e28e8d593"
FLUID_URL_MODEL = "https://github.com/PaddlePaddle/book/raw/develop/01.fit_a_line/fluid/fit_a_line.fluid.tar"
FLUID_MD5_MODEL = "6e6dd637ccd5993961f68bfbde46090b"
feature_names = ["CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT"]

Array = np.ndarray[Any, np.dtype[np.float64]]
UCI_TRAIN_DATA: Array | None = None
UCI_TEST_DATA: Array | None = None


def load_data(filename: str, feature_num: int = 14, ratio: float = 0.8) -> None:
    """Read the table, normalise its features and split it into `UCI_TRAIN_DATA` and `UCI_TEST_DATA`."""
    global UCI_TRAIN_DATA, UCI_TEST_DATA
    UCI_TRAIN_DATA, UCI_TEST_DATA = _load(version(filename), feature_num, ratio)


@lru_cache(maxsize=4)
def _load(file: FileVersion, feature_num: int, ratio: float) -> tuple[Array, Array]:
    with open(file[0], encoding="ascii") as text:
        numbers = np.array(text.read().split(), dtype=np.float64)
    if numbers.size == 0 or numbers.size % feature_num:
        raise RuntimeError(f"{file[0]} holds {numbers.size} numbers, which do not form rows of {feature_num}")
    data = numbers.reshape(-1, feature_num)
    features = data[:, :-1]
    span = features.max(axis=0) - features.min(axis=0)
    features[:] = (features - features.mean(axis=0)) / span
    offset = int(len(data) * ratio)
    return data[:offset], data[offset:]


def _rows(which: str) -> Callable[[], Iterator[tuple[Array, Array]]]:
    load_data(common.download(URL, "uci_housing", MD5))
    rows: Array = globals()[which]

    def reader() -> Iterator[tuple[Array, Array]]:
        for row in rows:
            yield row[:-1], row[-1:]

    return reader


def train() -> Callable[[], Iterator[tuple[Array, Array]]]:
    """Return a reader of the first four fifths."""
    return _rows("UCI_TRAIN_DATA")


def test() -> Callable[[], Iterator[tuple[Array, Array]]]:
    """Return a reader of the last fifth."""
    return _rows("UCI_TEST_DATA")


def predict_reader() -> tuple[Array]:
    """Return the features of the first test row, in a tuple."""
    load_data(common.download(URL, "uci_housing", MD5))
    assert UCI_TEST_DATA is not None
    return (UCI_TEST_DATA[0][:-1],)


def fluid_model() -> str:
    """Return the path of the book's trained model, an archive."""
    return common.download(FLUID_URL_MODEL, "uci_housing", FLUID_MD5_MODEL, "fit_a_line.fluid.tar")


def fetch() -> None:
    """Download the table."""
    common.download(URL, "uci_housing", MD5)

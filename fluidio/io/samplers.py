"""`BatchSampler`: choose which samples form a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fluidio.io.dataset_types import Dataset

__all__ = ["BatchSampler"]


class BatchSampler:
    """Yields lists of `batch_size` sample numbers.

    Args:
        dataset: take the numbers 0 ... len(dataset) - 1.
        indices: or take these.
        shuffle: use a new random order each epoch, from `numpy.random`.
        batch_size: numbers in a list.
        drop_last: drop a short last list.

        >>> list(BatchSampler(indices=[5, 6, 7], batch_size=2))
        [[5, 6], [7]]
    """

    def __init__(
        self,
        dataset: Dataset | None = None,
        indices: Sequence[int] | None = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        assert dataset is not None or indices is not None, "either dataset or indices should be set"
        assert dataset is None or indices is None, "should not set both dataset and indices"
        if dataset is not None:
            assert isinstance(dataset, Dataset), "dataset should be an instance of paddle.io.Dataset"
            indices = range(len(dataset))
        else:
            assert isinstance(indices, list | tuple), f"indices should be a list or tuple, but got {type(indices)}"
        assert isinstance(shuffle, bool), f"shuffle should be a boolean value, but got {type(shuffle)}"
        assert isinstance(batch_size, int) and not isinstance(batch_size, bool) and batch_size > 0, (
            f"batch_size should be a positive integer, but got {batch_size}"
        )
        assert isinstance(drop_last, bool), f"drop_last should be a boolean value, but got {type(drop_last)}"
        self.indices = list(indices)
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        if self.shuffle:
            np.random.shuffle(self.indices)  # Fluid: in place, so each epoch shuffles the previous order
        for start in range(0, len(self) * self.batch_size, self.batch_size):
            yield self.indices[start : start + self.batch_size]

    def __len__(self) -> int:
        short = 0 if self.drop_last else self.batch_size - 1
        return (len(self.indices) + short) // self.batch_size

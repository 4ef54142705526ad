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
        assert dataset is not None or indices is not None, "BatchSampler: pass dataset or indices"
        assert dataset is None or indices is None, "BatchSampler: pass dataset or indices, not both"
        if dataset is not None:
            assert isinstance(dataset, Dataset), (
                f"BatchSampler: dataset must be a paddle.io.Dataset, got {type(dataset).__name__}"
            )
            indices = range(len(dataset))
        else:
            assert isinstance(indices, list | tuple), (
                f"BatchSampler: indices must be a list or tuple, got {type(indices).__name__}"
            )
        assert isinstance(shuffle, bool), f"BatchSampler: shuffle must be True or False, got {shuffle!r}"
        assert isinstance(batch_size, int) and not isinstance(batch_size, bool) and batch_size > 0, (
            f"BatchSampler: batch_size must be a whole number above 0, got {batch_size!r}"
        )
        assert isinstance(drop_last, bool), f"BatchSampler: drop_last must be True or False, got {drop_last!r}"
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

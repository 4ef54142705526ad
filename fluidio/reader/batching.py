"""`paddle.batch`: group samples into lists."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import TypeVar

from fluidio.era import era
from fluidio.flow.threads import Reader

__all__ = ["batch"]

T = TypeVar("T")


def batch(reader: Reader[T], batch_size: int, drop_last: bool | None = None) -> Callable[[], Iterator[list[T]]]:
    """Return a reader of lists of `batch_size` samples.

    Args:
        reader: a callable that returns an iterable of samples.
        batch_size: samples in a list, more than 0.
        drop_last: drop a short last list. Fluid: False, but True in 0.14; None follows the era.

        >>> list(batch(lambda: range(5), 2)())
        [[0, 1], [2, 3], [4]]
    """
    size = int(batch_size)
    if size <= 0:
        raise ValueError(f"paddle.batch: batch_size must be a whole number above 0, got {batch_size!r}")
    drop = era().paddle_batch_drops_last if drop_last is None else bool(drop_last)
    unsaid = drop and drop_last is None

    def batch_reader() -> Iterator[list[T]]:
        nonlocal unsaid
        source = iter(reader())
        while samples := list(itertools.islice(source, size)):
            if len(samples) == size or not drop:
                yield samples
            elif unsaid:
                unsaid = False
                warnings.warn(
                    f"paddle.batch: like Fluid 0.14, fluidio dropped the last {len(samples)} samples, too few "
                    f"for a batch of {size}; drop_last=False keeps them, drop_last=True drops them without "
                    "this warning",
                    stacklevel=2,
                )

    return batch_reader

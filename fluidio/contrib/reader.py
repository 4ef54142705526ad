"""`fluid.contrib.reader`: share a reader's batches between the trainers of a job."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["distributed_batch_reader"]


def distributed_batch_reader(batch_reader: Callable[[], Iterable[object]]) -> Callable[[], Iterator[Any]]:
    """Give trainer PADDLE_TRAINER_ID of PADDLE_TRAINERS_NUM every n-th batch; drop a remainder too small for all.

    Without these environment variables there is one trainer, which gets all batches.
    """
    count = int(os.getenv("PADDLE_TRAINERS_NUM", "1"))
    mine = int(os.getenv("PADDLE_TRAINER_ID", "0"))
    if not 0 <= mine < count:
        raise AssertionError(
            f"PADDLE_TRAINER_ID must lie in 0 ... {count - 1} (PADDLE_TRAINERS_NUM is {count}), got {mine}"
        )

    def shared() -> Iterator[Any]:
        kept: Any = None
        for index, batch in enumerate(batch_reader()):
            if index % count == mine:
                kept = batch
            if index % count == count - 1:
                yield kept

    return shared

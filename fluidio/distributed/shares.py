"""Divide a stream of records among trainers: each step takes the next records of one global order.

In every step all trainers together take the next `trainers * batch_size` records, each a contiguous run. So the records
read so far are always a prefix of the global order, and any number of trainers can resume from there.
"""

from __future__ import annotations

__all__ = ["next_step", "share"]


def share(count: int, trainers: int, trainer: int) -> tuple[int, int]:
    """Return a trainer's contiguous range of `count` records; sizes differ by at most one."""
    return count * trainer // trainers, count * (trainer + 1) // trainers


def next_step(left: int, batch_size: int, trainers: int, drop_last: bool, join: bool = False) -> int:
    """Return how many of the remaining records the next step takes; 0 at the end of the epoch.

    Every trainer gets at least one record, so that all run the same number of steps: records too few for another step
    join the step before. With `join` they form a separate step, in which some trainers have none.
    """
    whole = batch_size * trainers
    if left < whole:
        return 0 if drop_last else left
    return left if not drop_last and not join and left - whole < trainers else whole

"""How trainers divide a stream of records: by steps, each of which takes the next records of one global order.

In every step all trainers together take the next `trainers * batch_size` records; each has a run of them. So what has
been read is always the beginning of the global order, and any other number of trainers can go on from there.
"""

from __future__ import annotations

__all__ = ["next_step", "share"]


def share(count: int, trainers: int, trainer: int) -> tuple[int, int]:
    """Return which of `count` records are a trainer's: a run of them; sizes differ by one at most."""
    return count * trainer // trainers, count * (trainer + 1) // trainers


def next_step(left: int, batch_size: int, trainers: int, drop_last: bool, join: bool = False) -> int:
    """Return how many of the records that are left the next step takes; 0 at the end of the epoch.

    Every trainer has at least one of them, so that all have the same number of steps: too few for one more step go
    with the step before them. With `join` they are a step of their own, in which some trainers have none.
    """
    whole = batch_size * trainers
    if left < whole:
        return 0 if drop_last else left
    return left if not drop_last and not join and left - whole < trainers else whole

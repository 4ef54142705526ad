"""Report a long wait on stderr: for which trainers, where, how long, and how to run without them."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

from fluidio.distributed.environment import Launch
from fluidio.distributed.limits import goes_alone, joining_limit, meeting_limit
from fluidio.distributed.membership import Membership

__all__ = ["says_whom_it_waits_for", "waiting_line"]

_SOON = 2.0  # seconds; trainers started together meet sooner


@contextlib.contextmanager
def says_whom_it_waits_for(declared: Membership, launch: Launch | None) -> Iterator[None]:
    """Print one line if the block takes long."""
    line = waiting_line(declared, launch)
    timer = threading.Timer(_SOON, print, [line], {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def waiting_line(declared: Membership, launch: Launch | None) -> str:
    """Return the line a process prints while it waits for the others at the start."""
    if declared.server >= 0:
        me, others = f"parameter server {declared.endpoint}", list(range(declared.trainers))
    else:
        me = f"trainer {declared.trainer} of {declared.trainers}"
        others = [trainer for trainer in range(declared.trainers) if trainer != declared.trainer]
    limit, then = meeting_limit(), "FLUIDIO_DISTRIBUTED=off trains alone"
    if declared.server < 0 and launch is None and goes_alone():
        limit, then = joining_limit(), "if nobody comes, it trains alone; FLUIDIO_DISTRIBUTED=off does so at once"
    return (
        f"fluidio: {me} waits for {_names(others)} {_place(declared, launch, others)}, for up to {limit:g} s "
        f"(FLUIDIO_START_TIMEOUT=seconds); {then}"
    )


def _names(trainers: list[int]) -> str:
    if len(trainers) == 1:
        return f"trainer {trainers[0]}"
    if trainers == list(range(trainers[0], trainers[-1] + 1)):
        return f"trainers {trainers[0]} to {trainers[-1]}"
    return f"trainers {', '.join(map(str, trainers[:8]))}{', ...' if len(trainers) > 8 else ''}"


def _place(declared: Membership, launch: Launch | None, others: list[int]) -> str:
    if launch is not None and launch.engine == "mpi":
        return "among the processes of mpiexec"
    meeting = (
        launch.meeting if launch is not None else declared.endpoints[0] if declared.endpoints else "an unknown place"
    )
    if declared.endpoint in declared.endpoints and declared.server < 0 and len(declared.endpoints) == declared.trainers:
        ends = ", ".join(declared.endpoints[trainer] for trainer in others[:4]) + (", ..." if len(others) > 4 else "")
        return f"({ends}) at {meeting}"
    return f"at {meeting}"

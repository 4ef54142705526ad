"""How long trainers wait for each other: FLUIDIO_TIMEOUT and, at the start, FLUIDIO_START_TIMEOUT, in seconds."""

from __future__ import annotations

import math
import os

from fluidio.distributed.alone import is_told_its_part

__all__ = ["goes_alone", "joining_limit", "meeting_limit", "step_limit"]

_STEP = 60.0
_MEETING = 300.0  # machines of a cluster start minutes apart
_NOBODY = 15.0  # for a process that nothing identifies within a job


def step_limit() -> float:
    """Return the seconds after which a trainer missing from an exchange is an error."""
    return _seconds("FLUIDIO_TIMEOUT", _STEP)


def meeting_limit() -> float:
    """Return the seconds after which a process missing at the start is an error."""
    return _seconds("FLUIDIO_START_TIMEOUT", _seconds("FLUIDIO_TIMEOUT", _MEETING))


def goes_alone() -> bool:
    """Return whether a trainer that finds no others at the start trains alone instead of failing."""
    return not any(map(os.environ.get, ("FLUIDIO_START_TIMEOUT", "FLUIDIO_TIMEOUT"))) and not is_told_its_part()


def joining_limit() -> float:
    """Return the seconds for which a trainer waits for the others at the start."""
    return _NOBODY if goes_alone() else meeting_limit()


def _seconds(name: str, default: float) -> float:
    text = os.environ.get(name, "")
    if not text:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ValueError(f"{name}={text!r}: expected seconds, a number above 0")
    return seconds

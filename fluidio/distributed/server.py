"""A parameter-server process: it hosts the meeting point but no parameters, and ends with its trainers."""

from __future__ import annotations

import sys
import time

from fluidio.distributed.environment import Launch
from fluidio.distributed.gloo import open_meeting
from fluidio.distributed.limits import meeting_limit, step_limit
from fluidio.distributed.meeting import Meeting
from fluidio.distributed.membership import Membership
from fluidio.distributed.patience import says_whom_it_waits_for
from fluidio.errors import DistributedError

__all__ = ["serve"]

_GOODBYE = 10.0  # seconds the first server gives the others to notice the end
_SOON = 2.0  # seconds; servers started together come sooner


def serve(declared: Membership, launch: Launch | None, model: str = "") -> None:
    """Return when all trainers have left; raise DistributedError if one disappears without leaving."""
    with says_whom_it_waits_for(declared, launch):
        meeting = open_meeting(declared, launch)
        with meeting.declared():
            meeting.put("came", declared.server)
            if meeting.holds:
                meeting.serve_model(model)
            missing = meeting.missing(declared.trainers, meeting_limit())
    if missing:
        raise DistributedError(
            f"parameter server {declared.endpoint}: trainers {missing} did not arrive within "
            f"{meeting_limit():g} s (FLUIDIO_START_TIMEOUT)"
        )
    try:
        troubles = _outstay(meeting, declared)
    except RuntimeError as error:
        if not meeting.holds:
            return  # the first server has noticed the end
        raise DistributedError(f"parameter server {declared.endpoint}: {error}") from error
    if troubles:
        raise DistributedError(f"parameter server {declared.endpoint}: {'; '.join(troubles)}")


def _outstay(meeting: Meeting, declared: Membership) -> list[str]:
    troubles = meeting.outstay(declared.trainers, step_limit())
    meeting.put("served", declared.server)
    if meeting.holds:
        _see_off(meeting, declared)
    return troubles


def _see_off(meeting: Meeting, declared: Membership) -> None:
    """Stay until the other servers have noticed the end, even one that starts after it, but not for ever."""
    begin = changed = time.monotonic()
    late, told = list(enumerate(declared.endpoints)), False
    while not all(meeting.get("served", server) for server in range(len(declared.endpoints))):
        unseen = [(server, end) for server, end in late if not meeting.get("came", server)]
        now = time.monotonic()
        if unseen != late:
            late, changed = unseen, now
        if now > (begin + step_limit() if late else changed + _GOODBYE):
            return
        if late and not told and now > begin + _SOON:
            told = True
            print(
                f"fluidio: the trainers have ended, but parameter server {', '.join(end for _, end in late)} has not "
                f"come: {declared.endpoint}, where it would look for them, waits for it for up to {step_limit():g} s "
                "(FLUIDIO_TIMEOUT)",
                file=sys.stderr,
                flush=True,
            )
        time.sleep(0.02)

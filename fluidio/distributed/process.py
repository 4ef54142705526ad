"""The group of this process: declared by the script, joined when the first exchange needs it."""

from __future__ import annotations

import atexit
import os
import socket
import sys
import threading
import time
import types
from typing import Any

from fluidio.distributed.communicator import Alone, Communicator, Member
from fluidio.distributed.environment import Launch, find_launch, is_switched_off
from fluidio.distributed.group import Group
from fluidio.distributed.limits import goes_alone, joining_limit
from fluidio.distributed.membership import Membership, parse_endpoints
from fluidio.distributed.patience import says_whom_it_waits_for
from fluidio.errors import DistributedError, MissingDependencyError, NobodyCame

__all__ = ["declare", "declare_launched", "fail", "group", "is_alone", "leave", "membership", "serve"]

# Threads of meeting.py and gloo.py that talk to the store, and how long an exiting process waits for them.
_STORE_THREADS = ("fluidio-meeting", "fluidio-signs-of-life", "fluidio-waits")
_LAST_WORDS = 3.0

_meeting = threading.RLock()  # several threads may run a program for the first time
_membership: Membership | None = None
_group: Group | None = None


def declare(declared: Membership) -> None:
    """Record which trainer this process is, without contacting the others yet."""
    global _membership
    if _group is None or _membership is None:
        _membership = declared
    elif (declared.trainer, declared.trainers) != (_membership.trainer, _membership.trainers):
        raise DistributedError(
            f"this process is already trainer {_membership.trainer} of {_membership.trainers} and cannot "
            f"become trainer {declared.trainer} of {declared.trainers}"
        )


def declare_launched() -> None:
    """Take this process's part from its launcher if the script has not declared it."""
    launch = find_launch()
    if _membership is None and launch is not None and launch.size > 1:
        endpoints = parse_endpoints(os.environ.get("PADDLE_TRAINER_ENDPOINTS", ""))
        own = endpoints[launch.rank] if launch.rank < len(endpoints) else ""
        declare(Membership(launch.rank, launch.size, endpoints, own))


def membership() -> Membership | None:
    """Return what the script has declared."""
    return _membership


def is_alone() -> bool:
    """Return whether this process trains alone: no other trainer is declared, or distribution is switched off."""
    return _membership is None or _membership.trainers < 2 or is_switched_off()


def group() -> Group:
    """Return the group of trainers; the first call meets them."""
    found = _group
    if found is None and not is_alone():
        found = _meet()
    return Group(Alone(Member(0, socket.gethostname(), os.getpid()))) if found is None else found


def _meet() -> Group | None:
    global _group
    with _meeting:
        if _group is None and _membership is not None:
            atexit.register(_await_store_calls)
            try:
                _group = Group(_join(_membership))
            except (NobodyCame, MissingDependencyError) as error:
                if not goes_alone():
                    raise
                _group = Group(_go_alone(_membership, error))
            else:
                _end_together()
        return _group


def _go_alone(declared: Membership, error: Exception) -> Communicator:
    """Train without the others, which were not started, and print that."""
    reason = f"no other of {declared.trainers} trainers came within {joining_limit():g} s"
    if isinstance(error, MissingDependencyError):
        reason = str(error)
    print(
        f"fluidio: {reason} (FLUIDIO_START_TIMEOUT=seconds waits longer), and neither arguments nor environment say "
        f"which trainer this is: it trains alone, as trainer {declared.trainer}",
        file=sys.stderr,
        flush=True,
    )
    return Alone(Member(declared.trainer, socket.gethostname(), os.getpid()))


def _join(declared: Membership) -> Communicator:
    launch = find_launch()
    with says_whom_it_waits_for(declared, launch):
        return _join_by(declared, launch)


def _join_by(declared: Membership, launch: Launch | None) -> Communicator:
    if launch is not None and launch.engine == "mpi":
        from fluidio.distributed import mpi

        return mpi.join(declared, launch)
    if launch is not None and launch.size != declared.trainers:
        raise DistributedError(
            f"{launch.by} started {launch.size} processes, but the script asks for {declared.trainers} "
            "trainers: start one process for each trainer"
        )
    from fluidio.distributed import gloo

    return gloo.join(declared, launch)


def serve(declared: Membership, model: str = "") -> None:
    """Act as a parameter server: host the meeting point, and end with the trainers.

    Args:
        model: the folder of the model that the first trainer loads, because the script has loaded it on the servers.
    """
    launch = find_launch()
    is_single = declared.trainers < 2 or is_switched_off()
    if model and (is_single or (launch is not None and not launch.by.startswith("PADDLE"))):
        raise DistributedError(
            f"{model} was loaded on a parameter server, which holds no parameters here: load it in the "
            "trainers, with fluid.io.load_persistables after the startup program"
        )
    if is_single:
        print("fluidio: one trainer needs no parameter server: this one exits", file=sys.stderr)
        return
    if launch is not None and launch.engine == "mpi":
        from fluidio.distributed import mpi

        mpi.serve()
    else:
        from fluidio.distributed import server

        server.serve(declared, launch, model)


def leave() -> None:
    """Leave the group, if there is one, so that the others continue without this trainer."""
    if _group is not None:
        _group.leave()


def fail(error: BaseException) -> None:
    """Notify the others, if there are any, that this process ends with an error; sys.exit(0) is none."""
    if _group is None or (isinstance(error, SystemExit) and not error.code):
        return
    text = str(error).strip().partition("\n")[0]
    _group.fail(f"{type(error).__name__}{text and f': {text}'}"[:300])


def _end_together() -> None:
    """Leave at the end of the process, or report why it failed."""
    atexit.register(_leave_quietly)
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> Any:
        before(kind, error, trace)
        sys.stderr.flush()
        fail(error)

    sys.excepthook = hook


def _leave_quietly() -> None:
    try:
        leave()
    except DistributedError as error:
        print(f"fluidio: {error}", file=sys.stderr)
    finally:
        _await_store_calls()


def _await_store_calls() -> None:
    """Wait for threads that talk to the meeting point: one that ends inside C++ aborts the process."""
    deadline = time.monotonic() + _LAST_WORDS
    for thread in threading.enumerate():
        if thread.name in _STORE_THREADS:
            thread.join(max(0.0, deadline - time.monotonic()))

"""The life of a reader as a pure function of (state, event): no threads, no queues, easy to test.

    IDLE --start--> RUNNING --end--> ENDED
      ^                |  \\--fail--> FAILED
      |                |                |
      +-----reset------+-------reset----+        close: CLOSED, from anywhere

`reset` is legal in every state and may be repeated. `start` at the end of an epoch or after an error means
`reset` and `start`, so that a loop without `reset()` still reads every epoch.
"""

from __future__ import annotations

import enum

from fluidio.errors import EnforceNotMet

__all__ = ["Event", "State", "step"]


class State(enum.Enum):
    """The state of a reader."""

    IDLE = "not started"
    RUNNING = "running"
    ENDED = "at the end of its epoch"
    FAILED = "stopped by an error"
    CLOSED = "closed"


class Event(enum.Enum):
    """What can happen to a reader."""

    START = "start"
    READ = "read"
    END = "end"
    FAIL = "fail"
    RESET = "reset"
    CLOSE = "close"


_TABLE: dict[tuple[State, Event], State] = {
    (State.IDLE, Event.START): State.RUNNING,
    (State.IDLE, Event.RESET): State.IDLE,
    (State.RUNNING, Event.START): State.RUNNING,
    (State.RUNNING, Event.READ): State.RUNNING,
    (State.RUNNING, Event.END): State.ENDED,
    (State.RUNNING, Event.FAIL): State.FAILED,
    (State.RUNNING, Event.RESET): State.IDLE,
    (State.ENDED, Event.START): State.RUNNING,
    (State.ENDED, Event.READ): State.ENDED,
    (State.ENDED, Event.END): State.ENDED,
    (State.ENDED, Event.RESET): State.IDLE,
    (State.FAILED, Event.START): State.RUNNING,
    (State.FAILED, Event.READ): State.FAILED,
    (State.FAILED, Event.FAIL): State.FAILED,
    (State.FAILED, Event.RESET): State.IDLE,
}


def step(state: State, event: Event, name: str = "reader") -> State:
    """Return the state after an event; for an illegal one, raise an EnforceNotMet that says what to do instead."""
    if event is Event.CLOSE:
        return State.CLOSED
    following = _TABLE.get((state, event))
    if following is not None:
        return following
    if state is State.CLOSED:
        raise EnforceNotMet(
            f"reader {name} is closed, because its program or scope is gone: build it and start it again"
        )
    if event is Event.READ:
        raise EnforceNotMet(
            f"reader {name} is not started: call start() before the first exe.run of each epoch, and reset() "
            "after fluid.core.EOFException"
        )
    raise EnforceNotMet(f"reader {name} is {state.value}, so {event.value} is not possible now")

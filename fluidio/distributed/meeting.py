"""The meeting point of trainers that use torch.distributed: its key-value store, and the heartbeats in it."""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from fluidio.distributed.communicator import Member
from fluidio.distributed.membership import split_endpoint
from fluidio.errors import DistributedError, NobodyCame, missing_dependency

__all__ = ["ANSWER_LIMIT", "Blame", "Inquiry", "Meeting", "import_torch", "local_address"]

T = TypeVar("T")
Blame: TypeAlias = "list[tuple[Member, str]]"  # the missing members, and what is known about each
_BEAT = 1.0  # seconds between heartbeats
_SILENCE = 3.5  # seconds without one after which a process counts as dead
_GRACE = 1.0  # seconds by which we wait longer than the store itself
ANSWER_LIMIT = _SILENCE + 4.0  # seconds a query of the store may take when something is wrong


def import_torch() -> Any:
    """Return the torch package with torch.distributed loaded."""
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # our errors are clearer
    try:
        import torch
        import torch.distributed
    except ImportError:
        raise missing_dependency(
            "torch", "torch", "training on several machines (DistributeTranspiler, fleet)"
        ) from None
    return torch


class Meeting:
    """A connection to the store at the meeting point, which one of the processes or the launcher hosts.

    Each trainer stores under its number: who it is ("member"), a heartbeat counter ("beat"), the last exchange it
    reached ("at"), and how it ended ("left", "failed"). `is_silent` says that the store has not answered in time.
    """

    def __init__(self, address: str, *, hold: bool, prefix: str, limit: float) -> None:
        torch = import_torch()
        self.address = address
        self.holds = hold
        self.is_silent = False
        host, port = split_endpoint(address)
        if not hold:
            _wait_for_port(host, port, limit)
        store = self._connect(torch, host, port, hold, limit)
        self._store = torch.distributed.PrefixStore(prefix, store)
        self.store = torch.distributed.PrefixStore("gloo", self._store)
        beats = self._connect(torch, host, port, False, limit)  # a separate connection, because calls block each other
        self._beats = torch.distributed.PrefixStore(prefix, beats)
        self.trainers = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def _connect(self, torch: Any, host: str, port: int, hold: bool, limit: float) -> Any:
        wait = datetime.timedelta(seconds=limit)
        call = partial(torch.distributed.TCPStore, host, port, None, hold, timeout=wait, wait_for_workers=False)
        try:
            return self.ask(call).answer(limit + _GRACE)  # it waits forever for a program that does not answer
        except RuntimeError as error:
            if hold:
                problem = f"cannot hold the meeting point {self.address}: {_first_line(error)}"
                raise DistributedError(
                    f"{problem}. Is another program, or an earlier run, still using the address, or does the "
                    "address belong to another machine?"
                ) from error
            raise NobodyCame(
                f"the process that answers at the meeting point {self.address} is neither a trainer nor a "
                f"parameter server of this job: {_first_line(error)}. Check the endpoints"
            ) from error

    # -- keys -----------------------------------------------------------------------------------------------------

    def put(self, kind: str, trainer: int, text: str = "1") -> None:
        self._store.set(f"{kind}/{trainer}", text)

    def get(self, kind: str, trainer: int) -> str:
        """Return a value that a trainer has stored; "" if there is none yet."""
        key = f"{kind}/{trainer}"
        return str(self._store.get(key).decode()) if self._store.check([key]) else ""

    def ask(self, call: Callable[[], T]) -> Inquiry[T]:
        """Start a call to the store in a separate thread: the connection may be broken."""
        return Inquiry(call, self)

    def bounded(self, call: Callable[[], T]) -> T:
        """Return the result of a call to the store; raise DistributedError if it does not return."""
        return self.ask(call).answer(ANSWER_LIMIT)

    @contextlib.contextmanager
    def declared(self) -> Iterator[None]:
        """Turn a broken connection to the store into our error."""
        try:
            yield
        except DistributedError:
            raise  # already says what is wrong
        except RuntimeError as error:
            raise DistributedError(
                f"the process at the meeting point {self.address} is gone: {_first_line(error)}"
            ) from error

    # -- coming and going -----------------------------------------------------------------------------------------

    def enter(self, trainer: int, trainers: int, limit: float) -> list[Member]:
        """Register a trainer, wait for all, and return them."""
        me = Member(trainer, socket.gethostname(), os.getpid())
        self.trainers = trainers
        with self.declared(), self._closed_on_failure():
            if self._store.add(f"claims/{trainer}", 1) > 1:
                self.await_key("member", trainer, limit)
                raise DistributedError(
                    f"two processes claim to be trainer {trainer}: {self._member(trainer)} and {me}; give "
                    "each its own trainer_id (PADDLE_TRAINER_ID)"
                )
            self.put("member", trainer, f"{me.host}|{me.pid}|{trainers}")
            self._start_beating(trainer)
            missing = self.missing(trainers, limit)
            if missing:
                failure = NobodyCame if len(missing) == trainers - 1 else DistributedError
                raise failure(
                    f"{_trainers(missing)} of {trainers} did not come to the meeting point {self.address} within "
                    f"{limit:g} s; {me} is waiting there. Start them, or set FLUIDIO_START_TIMEOUT to more seconds; "
                    "FLUIDIO_DISTRIBUTED=off trains alone",
                    trainers=missing,
                )
            return [self._member(i) for i in range(trainers)]

    @contextlib.contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        """Stop the heartbeat if the block fails: a thread inside the store at the end of a process aborts it."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def await_key(self, kind: str, trainer: int, limit: float) -> None:
        deadline = time.monotonic() + limit
        while not self.get(kind, trainer) and time.monotonic() < deadline:
            time.sleep(0.02)

    def serve_model(self, folder: str) -> None:
        """Store what the first server has loaded; "" for nothing."""
        self.put("model", 0, f"in {folder}")

    def served_model(self) -> str:
        """Return what the first server has stored when it came."""
        with self.declared():
            self.await_key("model", 0, ANSWER_LIMIT)
            return self.get("model", 0).removeprefix("in ")

    def missing(self, trainers: int, limit: float) -> list[int]:
        """Wait for trainers to register; return those that have not done so within the limit, or that of the host."""
        begin, missing = time.monotonic(), list(range(trainers))
        while True:
            came = [i for i in missing if self.get("member", i)]
            self._check_numbers(came, trainers)
            missing = [i for i in missing if i not in came]
            waited = time.monotonic() - begin
            if not missing or self.get("over", 0):
                return missing
            if waited > limit:
                if self.holds:
                    self.put("over", 0)
                    time.sleep(2 * _BEAT)  # the others read this before the store is gone, and say who is missing
                return missing
            time.sleep(0.02)

    def _check_numbers(self, came: Sequence[int], trainers: int) -> None:
        """Raise if one of the trainers that came was told another number of trainers."""
        for trainer in came:
            told = int(self.get("member", trainer).rpartition("|")[2])
            if told != trainers:
                if self.holds:
                    time.sleep(2 * _BEAT)  # the others read what this process stores before they say the same
                raise DistributedError(
                    f"{self._member(trainer)} expects {told} trainers, but this process expects {trainers}: "
                    "give all processes of a job the same number (in the script or as PADDLE_TRAINERS_NUM)",
                    trainers=[trainer],
                )

    def _member(self, trainer: int) -> Member:
        host, pid, _ = (self.get("member", trainer) or "|0|").split("|")
        return Member(trainer, host, int(pid))

    def _start_beating(self, trainer: int) -> None:
        def beat() -> None:
            count = 0
            with contextlib.suppress(RuntimeError):  # the store is gone; the exchange itself will report it
                while True:
                    count += 1
                    self._beats.set(f"beat/{trainer}", str(count))
                    if self._stop.wait(_BEAT):
                        return

        self._thread = threading.Thread(target=beat, name="fluidio-signs-of-life", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the heartbeat."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_BEAT)

    # -- who is there ---------------------------------------------------------------------------------------------

    def roll_call(self, others: Sequence[Member], exchange: int, late: bool) -> Blame:
        """Return the members that caused a failed exchange and what is known about each; takes some seconds."""
        with self.declared():
            before = {m.trainer: self.get("beat", m.trainer) for m in others}
            time.sleep(_SILENCE)
            found = []
            for member in others:
                reason = self._reason(member, before[member.trainer], exchange, late)
                if reason:
                    found.append((member, reason))
        gone = [pair for pair in found if "gave up" not in pair[1]]
        first = [pair for pair in found if "gave up: DistributedError" not in pair[1]]  # not for another's sake
        return gone or first or found

    def _reason(self, member: Member, beat: str, exchange: int, late: bool) -> str:
        trainer = member.trainer
        if self.get("left", trainer):
            return ""
        if failed := self.get("failed", trainer):
            return failed
        if self.get("beat", trainer) == beat:
            return "is gone: it does not respond"
        if late and int(self.get("at", trainer) or 0) < exchange:
            return "responds, but does not take part in the exchange"
        return ""

    def outstay(self, trainers: int, limit: float, patience: float = math.inf) -> list[str]:
        """Wait until all trainers have left; return what is known about those that did not leave normally.

        Args:
            limit: the seconds without a heartbeat after which a trainer counts as dead.
            patience: the seconds after which this process goes, whoever remains.
        """
        end = time.monotonic() + patience
        seen: dict[int, tuple[str, float]] = {}
        troubles: list[str] = []
        waiting = list(range(trainers))
        while waiting and time.monotonic() < end:
            now = time.monotonic()
            for trainer in waiting[:]:
                beat, since = self.get("beat", trainer), now
                if trainer in seen and seen[trainer][0] == beat:
                    since = seen[trainer][1]
                seen[trainer] = beat, since
                reason = self._ending(trainer, now - since > limit)
                if reason is not None:
                    waiting.remove(trainer)
                    troubles += [f"{self._member(trainer)} {reason}"] if reason else []
            time.sleep(0.05)
        return troubles

    def _ending(self, trainer: int, silent: bool) -> str | None:
        """Return None for a trainer at work, "" for one that left, else what happened to it."""
        if self.get("left", trainer):
            return ""
        return self.get("failed", trainer) or ("is gone: it does not respond" if silent else None)


class Inquiry(Generic[T]):
    """A call to the store that may never return."""

    def __init__(self, call: Callable[[], T], meeting: Meeting) -> None:
        self._call = call
        self._meeting = meeting
        self._found: list[T] = []
        self._errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, name="fluidio-meeting", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._found.append(self._call())
        except BaseException as error:
            self._errors.append(error)

    def answer(self, limit: float) -> T:
        """Return the call's result within the limit; raise DistributedError if it does not return."""
        self._thread.join(limit)
        if self._errors:
            raise self._errors[0]
        if not self._found:
            self._meeting.is_silent = True
            raise DistributedError(f"the process at the meeting point {self._meeting.address} does not answer any more")
        return self._found[0]


def _trainers(numbers: Sequence[int]) -> str:
    names = ", ".join(str(n) for n in numbers[:8]) + (", ..." if len(numbers) > 8 else "")
    return f"trainer{'s' if len(numbers) > 1 else ''} {names}"


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _wait_for_port(host: str, port: int, limit: float) -> None:
    """Wait until the port accepts connections."""
    begin = time.monotonic()
    while True:
        try:
            socket.create_connection((host, port), timeout=5).close()
            return
        except OSError as error:
            waited = time.monotonic() - begin
            if waited > limit:
                raise NobodyCame(
                    f"no process answers at the meeting point {host}:{port} after {limit:g} s: {error}. Start the "
                    "process that has this endpoint (the first parameter server, or trainer 0), or set "
                    "FLUIDIO_START_TIMEOUT to more seconds; FLUIDIO_DISTRIBUTED=off trains alone"
                ) from error
            time.sleep(0.1)


def local_address(meeting: str) -> str:
    """Return this machine's address on the route to the meeting point, at which the others can reach it."""
    host, port = split_endpoint(meeting)
    kind, _, _, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(kind, socket.SOCK_DGRAM) as probe:
        probe.connect(target)  # sends nothing
        return str(probe.getsockname()[0])

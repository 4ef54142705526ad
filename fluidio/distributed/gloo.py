"""The engine torch.distributed: Gloo between CPUs."""

from __future__ import annotations

import contextlib
import datetime
import math
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from fluidio.distributed.communicator import Alone, Communicator, Member, Reduction, Work, as_bytes
from fluidio.distributed.environment import Launch
from fluidio.distributed.limits import joining_limit, meeting_limit, step_limit
from fluidio.distributed.meeting import ANSWER_LIMIT, Blame, Inquiry, Meeting, import_torch, local_address
from fluidio.distributed.membership import Membership
from fluidio.errors import DistributedError
from fluidio.tensor.array import Array

__all__ = ["GlooCommunicator", "join"]

_GRACE = 1.5  # seconds Gloo's limit exceeds ours: ours names missing trainers, then Gloo's ends pending calls
_SMALL = 4096  # bytes: sums this small are made by each member
_REDUCE = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
_SLICE = 1.0  # seconds between checks of the clock


def open_meeting(membership: Membership, launch: Launch | None) -> Meeting:
    """Connect to the meeting point of a job."""
    if launch is not None and launch.engine == "torch" and not launch.by.startswith("PADDLE"):
        hold = launch.rank == 0 and not launch.hosted
        return Meeting(launch.meeting, hold=hold, prefix=f"fluidio/{launch.attempt}", limit=meeting_limit())
    limit = meeting_limit() if membership.server >= 0 else joining_limit()
    if not membership.endpoints:
        raise DistributedError(
            f"trainer {membership.trainer} of {membership.trainers} does not know where to meet the others: give "
            "endpoints (pservers=, or trainers='host:port,host:port'), or start it with torchrun or mpiexec"
        )
    address = membership.endpoints[0]
    return Meeting(address, hold=membership.holds_the_meeting, prefix="fluidio", limit=limit)


def join(membership: Membership, launch: Launch | None) -> Communicator:
    """Meet the other trainers."""
    meeting = open_meeting(membership, launch)
    members = meeting.enter(membership.trainer, membership.trainers, joining_limit())
    is_by_hand = launch is None or launch.by.startswith("PADDLE")
    has_servers = is_by_hand and not membership.endpoint  # trainers without servers have endpoints of their own
    model = meeting.served_model() if has_servers and membership.trainer == 0 else ""
    return GlooCommunicator(meeting, membership.trainer, members, "all", model)


class GlooCommunicator:
    """Collective calls through Gloo; the causes of failures are looked up at the meeting point."""

    def __init__(self, meeting: Meeting, trainer: int, members: Sequence[Member], name: str, model: str = "") -> None:
        torch = import_torch()
        self._model = model
        self._torch = torch
        self._meeting = meeting
        self._name = name
        self._broken: DistributedError | None = None
        self._count = 0
        self.members: Sequence[Member] = tuple(members)
        self.rank = [m.trainer for m in members].index(trainer)
        gloo = torch.distributed.ProcessGroupGloo
        options = gloo._Options()
        options._timeout = datetime.timedelta(seconds=meeting_limit())
        options._threads = 2
        options._devices = [gloo.create_device(hostname=local_address(meeting.address))]
        store = torch.distributed.PrefixStore(name, meeting.store)
        self._gloo: Any = None
        try:
            self._gloo = gloo(store, self.rank, len(members), options)
            self._gloo._set_default_timeout(datetime.timedelta(seconds=step_limit() + _GRACE))
        except RuntimeError as error:
            self._fail(error, late=False)

    # -- calls ----------------------------------------------------------------------------------------------------

    def all_reduce(self, array: Array, reduction: Reduction = "sum") -> Work:
        if array.nbytes * len(self.members) <= _SMALL:
            return self._reduce_here(array, reduction)
        dist = self._torch.distributed
        options = dist.AllreduceOptions()
        kinds = {"sum": "SUM", "prod": "PRODUCT", "max": "MAX", "min": "MIN"}
        options.reduceOp = getattr(dist.ReduceOp, kinds[reduction])
        return self._start(lambda: self._gloo.allreduce([self._tensor(array)], options), array)

    def _reduce_here(self, array: Array, reduction: Reduction) -> Work:
        """Send a small array to each member: one message to wait for instead of two rounds."""
        sent = np.empty((len(self.members), array.size), array.dtype)
        found = np.empty_like(sent)
        sent[:] = array.reshape(-1)
        options = self._torch.distributed.AllToAllOptions()
        call = partial(self._gloo.alltoall_base, self._tensor(found), self._tensor(sent), [], [], options)
        return _SmallWork(self._start(call, (found, sent)), array, found, reduction)

    def broadcast(self, array: Array, root: int) -> Work:
        options = self._torch.distributed.BroadcastOptions()
        options.rootRank, options.rootTensor = root, 0
        return self._start(lambda: self._gloo.broadcast([self._tensor(array)], options), array)

    def all_gather(self, array: Array) -> Array:
        found = np.empty((len(self.members), *array.shape), array.dtype)
        parts = [self._tensor(part) for part in found.reshape(len(self.members), -1)]
        mine = self._tensor(np.ascontiguousarray(array).reshape(-1))
        self._start(lambda: self._gloo.allgather([parts], [mine]), found).wait()
        return found

    def all_to_all(self, array: Array, sent: Sequence[int], received: Sequence[int]) -> Array:
        found = np.empty((sum(received), *array.shape[1:]), array.dtype)
        width = math.prod(array.shape[1:]) * array.itemsize
        mine, yours = as_bytes(np.ascontiguousarray(array)), as_bytes(found)
        sizes = [[width * rows for rows in counts] for counts in (received, sent)]
        options = self._torch.distributed.AllToAllOptions()
        call = self._gloo.alltoall_base
        self._start(lambda: call(self._tensor(yours), self._tensor(mine), *sizes, options), (found, mine)).wait()
        return found

    def subset(self, ranks: Sequence[int]) -> Communicator:
        members = [self.members[rank] for rank in ranks]
        if len(members) == 1:
            return _LastOne(self._meeting, members[0])
        me = self.members[self.rank].trainer
        return GlooCommunicator(self._meeting, me, members, f"{self._name}-{'.'.join(map(str, ranks))}")

    def take_model(self) -> str:
        taken, self._model = self._model, ""
        return taken

    def give_up(self, reason: str) -> None:
        with _giving_up(self._meeting, self.members[self.rank], reason):
            self._release()

    def close(self) -> None:
        _leave(self._meeting, self.members[self.rank])
        self._release()

    def _release(self) -> None:
        """Let Gloo's threads end: one that frees an array during interpreter shutdown aborts the process."""
        engine, self._gloo = [self._gloo], None
        thread = threading.Thread(target=engine.clear, name="fluidio-release", daemon=True)
        thread.start()
        thread.join(_GRACE + _SLICE)

    # -- waiting --------------------------------------------------------------------------------------------------

    def _tensor(self, array: Array) -> Any:
        """Return the array as a tensor on the same memory."""
        return self._torch.from_numpy(array.view(np.uint8) if array.dtype == np.bool_ else array)

    def _start(self, call: Any, keep: Any) -> Work:
        if self._broken is not None:
            raise self._broken
        self._count += 1
        try:
            return _GlooWork(self, call(), self._count, keep)
        except RuntimeError as error:
            self._fail(error, late=False)

    def _finish(self, work: Any, count: int) -> None:
        begin, limit, announced = time.monotonic(), step_limit(), False
        inquiry: Inquiry[Blame] | None = None
        while True:
            waited = time.monotonic() - begin
            try:
                work.wait(datetime.timedelta(seconds=max(0.001, min(_SLICE, limit - waited))))
                return
            except RuntimeError as error:
                if work.is_completed():
                    self._fail(error, inquiry, late="imed out" in str(error))
                waited = time.monotonic() - begin
                if waited >= limit:
                    self._fail(error, inquiry, late=True)
                if not announced:
                    announced = True
                    self._announce(count)
                if inquiry is None and waited >= max(limit - ANSWER_LIMIT, limit / 2):
                    inquiry = self._ask_who_is_missing(late=True)  # early, to have the answer when the time is up

    def _ask_who_is_missing(self, *, late: bool) -> Inquiry[Blame]:
        others = [m for m in self.members if m is not self.members[self.rank]]
        return self._meeting.ask(lambda: self._meeting.roll_call(others, self._count, late))

    def _announce(self, count: int) -> None:
        """Record that this trainer waits; in a thread, because the meeting point itself may be missing."""

        def note() -> None:
            with contextlib.suppress(RuntimeError):
                self._meeting.put("at", self.members[self.rank].trainer, str(count))

        threading.Thread(target=note, name="fluidio-waits", daemon=True).start()

    def _fail(self, error: BaseException, inquiry: Inquiry[Blame] | None = None, *, late: bool) -> NoReturn:
        me = self.members[self.rank]
        others = [m for m in self.members if m is not me]
        patience = ANSWER_LIMIT if inquiry is None else _SLICE
        try:
            blamed = (inquiry or self._ask_who_is_missing(late=late)).answer(patience)
        except DistributedError as gone:
            names = ", ".join(map(str, others))
            self._broken = DistributedError(
                f"{gone}. {me} waited for {names}, cannot go on, and has not applied this step.",
                trainers=[member.trainer for member in others],
                hosts=[member.host for member in others],
            )
            raise self._broken from error
        if blamed:
            problem = "; ".join(f"{member} {reason}" for member, reason in blamed)
        else:
            problem = f"the exchange between {len(self.members)} trainers failed: {str(error).partition(chr(10))[0]}"
        waited = f" It waited {step_limit():g} s (FLUIDIO_TIMEOUT sets the limit)." if late else ""
        self._broken = DistributedError(
            f"{problem}. {me} cannot go on without the others, and has not applied this step.{waited}",
            trainers=[member.trainer for member, _ in blamed],
            hosts=[member.host for member, _ in blamed],
        )
        self._broken.__cause__ = error
        raise self._broken


class _GlooWork:
    def __init__(self, owner: GlooCommunicator, work: object, count: int, keep: object) -> None:
        self._owner = owner
        self._work = work
        self._count = count
        self._keep = keep  # the memory in transit

    def wait(self) -> None:
        self._owner._finish(self._work, self._count)


class _SmallWork:
    """A reduction of everyone's arrays, which arrive in a row of `found` each."""

    def __init__(self, work: Work, array: Array, found: Array, reduction: Reduction) -> None:
        self._work = work
        self._array = array
        self._found = found
        self._reduction = reduction

    def wait(self) -> None:
        self._work.wait()
        rows = self._found.reshape(-1, *self._array.shape)
        _REDUCE[self._reduction].reduce(rows, axis=0, dtype=self._array.dtype, out=self._array)


class _LastOne(Alone):
    """The last trainer of a job: alone, and still expected at the meeting point."""

    def __init__(self, meeting: Meeting, member: Member) -> None:
        super().__init__(member)
        self._meeting = meeting

    def give_up(self, reason: str) -> None:
        with _giving_up(self._meeting, self.members[0], reason):
            pass

    def close(self) -> None:
        _leave(self._meeting, self.members[0])


@contextlib.contextmanager
def _giving_up(meeting: Meeting, me: Member, reason: str) -> Iterator[None]:
    """Store the reason, let the others notice in the block, and stay until they have read it if it is stored here."""
    if meeting.is_silent:
        yield
        return
    with contextlib.suppress(RuntimeError):  # a meeting point that is gone has the same effect
        meeting.bounded(partial(meeting.put, "failed", me.trainer, f"gave up: {reason}"))
    yield
    with contextlib.suppress(RuntimeError):
        if meeting.holds:
            meeting.outstay(meeting.trainers, step_limit(), patience=ANSWER_LIMIT)
    meeting.close()


def _leave(meeting: Meeting, me: Member) -> None:
    """Leave the job; the process that hosts the meeting point stays until the others have left."""
    try:
        meeting.put("left", me.trainer)
        if meeting.holds:
            meeting.outstay(meeting.trainers, step_limit())
    except RuntimeError:
        return
    meeting.close()

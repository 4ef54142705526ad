"""The engine MPI, through mpi4py."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from fluidio.distributed.communicator import Alone, Communicator, Member, Reduction, Work, as_bytes
from fluidio.distributed.environment import Launch
from fluidio.distributed.limits import meeting_limit, step_limit
from fluidio.distributed.membership import Membership
from fluidio.errors import DistributedError, missing_dependency
from fluidio.tensor.array import Array

__all__ = ["MpiCommunicator", "join", "serve"]

_WAITING = 4711  # the tag of messages that say "I wait in exchange n"
_ANNOUNCE = 1.0  # seconds of waiting before these are sent
_SPIN = 0.02  # seconds of waiting without a sleep, which would hold up the data: MPI moves them only while it is asked
_SERVER, _TRAINER = 0, 1


def import_mpi() -> Any:
    """Return mpi4py's MPI, started."""
    try:
        from mpi4py import MPI
    except ImportError:
        raise missing_dependency("mpi4py", "mpi", "training with mpiexec") from None
    return MPI


def join(membership: Membership, launch: Launch) -> Communicator:
    """Meet the other trainers among the processes of mpiexec."""
    if launch.size < membership.trainers:
        raise DistributedError(
            f"mpiexec started {launch.size} processes, but the script asks for {membership.trainers} "
            "trainers: start one process for each trainer (and parameter server)"
        )
    comm = _divide(import_mpi(), _TRAINER, membership.trainer)
    found: list[tuple[int, str, int]] = comm.allgather((membership.trainer, _host(), os.getpid()))
    ids = [trainer for trainer, _, _ in found]
    if ids != list(range(membership.trainers)):
        raise DistributedError(
            f"the processes of mpiexec claim to be trainers {ids}; expected each of 0 ... "
            f"{membership.trainers - 1} once (`fluidio run` sets PADDLE_TRAINER_ID)"
        )
    return MpiCommunicator(comm, [Member(*item) for item in found])


def serve() -> None:
    """Act as a parameter server, which holds no data: wait until the trainers have ended."""
    mpi = import_mpi()
    _divide(mpi, _SERVER, 0)
    request = mpi.COMM_WORLD.Ibarrier()
    while not request.Test():
        time.sleep(0.05)


def _divide(mpi: Any, color: int, key: int) -> Any:
    """Divide the processes of mpiexec into servers and trainers; the latter are ordered by their ids."""
    world = mpi.COMM_WORLD
    request, begin, limit = world.Ibarrier(), time.monotonic(), meeting_limit()
    while not request.Test():
        if time.monotonic() - begin > limit:
            raise DistributedError(
                f"not all of the {world.Get_size()} processes of mpiexec came to train within {limit:g} s "
                f"(FLUIDIO_START_TIMEOUT); process {world.Get_rank()} on {_host()} waits for them"
            )
        time.sleep(0.01)
    return world.Split(color, key)


def _host() -> str:
    return str(import_mpi().Get_processor_name())


class MpiCommunicator:
    """Collective calls through MPI, none of which waits beyond the limit."""

    def __init__(self, comm: Any, members: Sequence[Member]) -> None:
        self._mpi = import_mpi()
        self._comm = comm
        self._broken: DistributedError | None = None
        self._count = 0
        self._at = [0] * len(members)
        self.members: Sequence[Member] = tuple(members)
        self.rank: int = comm.Get_rank()

    # -- calls ----------------------------------------------------------------------------------------------------

    def all_reduce(self, array: Array, reduction: Reduction = "sum") -> Work:
        kind = {"sum": "SUM", "prod": "PROD", "max": "MAX", "min": "MIN"}[reduction]
        if array.dtype == np.float16:
            return _HalfSum(self, array, reduction)
        return self._start(lambda: self._comm.Iallreduce(self._mpi.IN_PLACE, array, getattr(self._mpi, kind)), array)

    def broadcast(self, array: Array, root: int) -> Work:
        return self._start(lambda: self._comm.Ibcast(as_bytes(array), root), array)

    def all_gather(self, array: Array) -> Array:
        found = np.empty((len(self.members), *array.shape), array.dtype)
        mine = as_bytes(np.ascontiguousarray(array))
        self._start(lambda: self._comm.Iallgather(mine, as_bytes(found)), (found, mine)).wait()
        return found

    def all_to_all(self, array: Array, sent: Sequence[int], received: Sequence[int]) -> Array:
        found = np.empty((sum(received), *array.shape[1:]), array.dtype)
        mine, yours = np.ascontiguousarray(array), found
        row = self._mpi.BYTE.Create_contiguous(math.prod(array.shape[1:]) * array.itemsize).Commit()
        try:
            give, take = [as_bytes(mine), list(sent), row], [as_bytes(yours), list(received), row]
            self._start(lambda: self._comm.Ialltoallv(give, take), (found, mine)).wait()
        finally:
            row.Free()
        return found

    def subset(self, ranks: Sequence[int]) -> Communicator:
        members = [self.members[rank] for rank in ranks]
        if len(members) == 1:
            return _LastOne(members[0])
        return MpiCommunicator(self._comm.Create_group(self._comm.Get_group().Incl(list(ranks))), members)

    def take_model(self) -> str:
        return ""

    def give_up(self, reason: str) -> None:
        """Have mpiexec end all processes: the others would wait for this one."""
        self._mpi.COMM_WORLD.Abort(1)

    def close(self) -> None:
        _leave(self._mpi)

    # -- waiting --------------------------------------------------------------------------------------------------

    def _start(self, call: Any, keep: Any) -> Work:
        if self._broken is not None:
            raise self._broken
        self._count += 1
        try:
            return _MpiWork(self, call(), self._count, keep)
        except self._mpi.Exception as error:
            raise DistributedError(f"{self.members[self.rank]}: MPI failed: {error}") from error

    def _finish(self, request: Any, count: int) -> None:
        begin, announced = time.monotonic(), False
        while not request.Test():
            waited = time.monotonic() - begin
            if waited > step_limit():
                self._fail(count)
            if waited > _ANNOUNCE and not announced:
                announced = True
                self._announce(count)
            time.sleep(0 if waited < _SPIN else 0.0001 if waited < _ANNOUNCE else 0.01)

    def _announce(self, count: int) -> None:
        for rank in range(len(self.members)):
            if rank != self.rank:
                self._comm.isend(count, rank, _WAITING)

    def _fail(self, count: int) -> NoReturn:
        status = self._mpi.Status()
        while self._comm.Iprobe(self._mpi.ANY_SOURCE, _WAITING, status):
            self._at[status.Get_source()] = self._comm.recv(source=status.Get_source(), tag=_WAITING)
        blamed = [m for rank, m in enumerate(self.members) if rank != self.rank and self._at[rank] < count]
        problem = ", ".join(str(m) for m in blamed) or "no trainer in particular"
        self._broken = DistributedError(
            f"{problem} did not come to the exchange within {step_limit():g} s (FLUIDIO_TIMEOUT sets the limit). "
            f"{self.members[self.rank]} cannot go on without the others, and has not applied this step.",
            trainers=[m.trainer for m in blamed],
            hosts=[m.host for m in blamed],
        )
        raise self._broken


class _MpiWork:
    def __init__(self, owner: MpiCommunicator, request: Any, count: int, keep: Any) -> None:
        self._owner = owner
        self._request = request
        self._count = count
        self._keep = keep  # the memory in transit

    def wait(self) -> None:
        self._owner._finish(self._request, self._count)


class _HalfSum:
    """A reduction of float16, which MPI lacks: the float16 values are exchanged and summed here."""

    def __init__(self, owner: MpiCommunicator, array: Array, reduction: Reduction) -> None:
        self._owner = owner
        self._array = array
        self._reduction = reduction

    def wait(self) -> None:
        everyone = self._owner.all_gather(self._array).astype(np.float32)
        self._array[...] = getattr(everyone, self._reduction)(axis=0)


class _LastOne(Alone):
    """The last trainer of a job, alone; parameter servers may still wait for its end."""

    def give_up(self, reason: str) -> None:
        import_mpi().COMM_WORLD.Abort(1)

    def close(self) -> None:
        _leave(import_mpi())


def _leave(mpi: Any) -> None:
    """Notify servers that this trainer has ended, and do not wait: a normal end needs no answer."""
    mpi.COMM_WORLD.Ibarrier()

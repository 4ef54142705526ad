"""Engine: chunks of many files, read by a pool of threads in an order independent of timing.

Every reader uses one plan and one pool. A `Rotation` decides which file delivers the next chunk. Headers say where
chunks begin, so any number of them can be planned and loaded ahead, small ones several at a time. Cases that headers do
not reveal (damage, an empty chunk, another dialect) are left to the consumer, which reads that chunk in its turn and
plans again from there; so records and errors come in the same order as without threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, wait
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from fluidio.flow.observer import OBSERVERS
from fluidio.flow.thread_pool import Job, ThreadPool
from fluidio.recordio.blocks.cut import PartBuffer
from fluidio.recordio.blocks.lane import Found, Lane, records_in
from fluidio.recordio.blocks.rotation import Rotation
from fluidio.recordio.decode.block_reader import Loaded
from fluidio.recordio.decode.spans import Part
from fluidio.recordio.format.chunks import Hop

__all__ = ["Engine"]

T = TypeVar("T")
_GRAIN = 1 << 21  # minimum bytes to read in one job: small chunks are read several at a time
_GROWS = 4  # times the bytes of a compressed chunk
_STEPS = 64  # maximum chunks in one job
_MOST = 1 << 26  # maximum bytes in flight
_LIVENESS_POLL = 1.0  # seconds
_OPEN_AHEAD = 16  # files that may be opened before their turn


class _Step(NamedTuple):
    """One turn of a lane: the chunk of a known header, or whatever the lane reads next."""

    lane: Lane
    hop: Hop | None


class _Work(NamedTuple):
    """Chunks that a thread reads in one job."""

    steps: list[_Step]
    size: int
    job: Job[list[Loaded | Found | None]]


class Engine:
    """Delivers the records of some lanes, in the order of a Rotation.

    Args:
        name: for messages and threads.
        threads: threads that read and decode; 0: the caller's alone.
        more: jobs in flight beyond one per thread.
        arrival: deliver whatever is ready first: faster when files differ, but the order is not reproducible.

    Attributes:
        ahead: minimum number of records to read ahead, within the memory limit.
        batch: how many consecutive records will be wanted together, so that threads can copy them; 0: unknown.
        waited: seconds the consumer waited for chunks.
    """

    def __init__(self, name: str, threads: int, more: int = 2, *, arrival: bool = False) -> None:
        self.name = name
        self.threads = threads
        self.ahead = 0
        self.batch = 0
        self.waited = 0.0
        self._more = more
        self._arrival = arrival
        self._fresh = True
        self._pool: ThreadPool[Any] = ThreadPool(name, threads)
        self._done: Rotation[Lane] = Rotation((), 0)  # up to the records taken
        self._planned: Rotation[Lane] = Rotation((), 0)  # up to the chunks being read
        self._works: deque[_Work] = deque()
        self._busy: set[Lane] = set()  # lanes that threads read without a known header
        self._decoded: deque[Part | Exception] = deque()
        self._records_each = 0  # records in the last job
        self._buffer = PartBuffer()

    # -- an epoch -----------------------------------------------------------------------------------------------

    def begin(self, lanes: Iterable[Lane], active: int = 1, *, hold: bool = False) -> bool:
        """Read these lanes, `active` of them side by side; return whether there is a new set of threads.

        Args:
            hold: read nothing yet, because records will be skipped.
        """
        fresh = self._fresh or self._pool.producers_dead()
        if self._pool.producers_dead():
            self._pool = ThreadPool(self.name, self.threads)
        self._fresh = False
        self._done = Rotation(lanes, active)
        self._planned = self._done.copy()
        if not hold:
            self.plan()
        return fresh

    def stop(self) -> None:
        """Discard all records and close the files; the threads end."""
        self._pool.stop()
        self._works.clear()
        self._busy.clear()
        for lane in {*self._done.turn, *self._planned.turn, *islice(self._done.queue, _OPEN_AHEAD + 1)}:
            lane.close()
        self._done, self._planned = Rotation((), 0), Rotation((), 0)
        self._decoded.clear()
        self._buffer.clear()

    @property
    def abandon(self) -> Callable[[], None]:
        """Return a function that lets the threads end without waiting, for use once the engine is unreferenced."""
        return self._pool.abandon

    def rest(self) -> None:
        """Let the threads end, because nothing is left to do in this epoch."""
        self._pool.stop()

    # -- work for threads ---------------------------------------------------------------------------------------

    def submit(self, work: Callable[[], T]) -> Job[T]:
        """Have the threads run a job on records, before they read more."""
        return self._pool.submit(work, urgent=True)

    def result(self, job: Job[T]) -> T:
        """Return the result of a job, running it here if no thread has started it."""
        began = perf_counter()
        found: T = self._pool.result(job)
        ended = perf_counter()
        self.waited += ended - began
        if OBSERVERS.all:
            OBSERVERS.waited(self.name, "consumer", self.queued(), began, ended)
        return found

    # -- records ------------------------------------------------------------------------------------------------

    def take(self, most: int) -> Part | None:
        """Return 1 to `most` records, None at the end; raise an error in its place in the order."""
        return self._buffer.take(most, self.next)

    def next(self) -> Part | None:
        """Return the next part, None at the end; raise an error in its place in the order."""
        while not self._decoded:
            if not self._fetch():
                self.rest()
                return None
        self.plan()
        part = self._decoded.popleft()
        if isinstance(part, Exception):
            raise part
        return part

    def ready(self) -> int:
        """Return how many records can be taken without waiting."""
        found = len(self._buffer) + records_in([*self._decoded])
        for work in self._works:
            if not work.job.done():
                break
            found += _records(work)
        return found

    def queued(self) -> int:
        """Return how many chunks were read but not yet taken."""
        return sum([len(work.steps) for work in [*self._works] if work.job.done()])

    @property
    def capacity(self) -> int:
        """Maximum number of jobs in flight."""
        usual = self.threads + self._more
        return max(usual, -(-self.ahead // self._records_each)) if self._records_each else usual

    @property
    def idle(self) -> float:
        """Seconds the threads waited for work."""
        return self._pool.idle

    def skip(self, count: int) -> int:
        """Skip whole chunks of at most `count` records before anything is read; return how many were skipped."""
        left = count
        while left and not self._works and (lane := self._done.head) is not None:
            records = lane.announced()
            if records is not None and records > left:
                break
            if records is not None:
                lane.pass_over()
                left -= records
            self._done.advance(records is None)
        self._planned = self._done.copy()
        return count - left

    # -- the plan -----------------------------------------------------------------------------------------------

    def plan(self) -> None:
        """Keep the threads busy."""
        if self.threads < 1 or self._pool.producers_dead():
            return
        under_way = sum([work.size for work in self._works])
        while len(self._works) < self.capacity and (under_way < _MOST or len(self._works) <= self.threads):
            steps: list[_Step] = []
            size = 0
            while size < _GRAIN and len(steps) < _STEPS and (step := self._next_step()) is not None:
                steps.append(step)
                size += _GRAIN if step.hop is None else _work(step.hop)
            if not steps:
                return
            self._works.append(_Work(steps, size, self._pool.submit(partial(_read, steps, self.batch))))
            under_way += size

    def _next_step(self) -> _Step | None:
        planned = self._planned
        if len(self._done.queue) - len(planned.queue) > _OPEN_AHEAD:
            return None
        if self._arrival:
            planned.bring_forward(self._busy)
        lane = planned.head
        if lane is None or lane in self._busy:
            return None
        if lane.serial:
            self._busy.add(lane)
            planned.advance(False)
            return _Step(lane, None)
        hop = lane.plan(self.batch)
        if hop is None:
            return None
        planned.advance(hop.is_end)
        return _Step(lane, hop)

    def _fetch(self) -> bool:
        """Get the records of the next chunks; False at the end."""
        if self._pool.producers_dead() and not self._busy:
            self._plan_again()  # a fork has no threads and reads alone
        self.plan()
        if not self._works:
            lane = self._done.head
            if lane is None:
                return False
            found = lane.read_chunk(self.batch)
            lane.forget_plan()
            for rotation in (self._done, self._planned):
                rotation.advance(not found)
            self._decoded.extend(found)
            return True
        work = self._first_work()
        results = self.result(work.job)
        self._works.remove(work)  # only after it has arrived: waiting may be interrupted
        self._records_each = _records(work) or self._records_each
        for at, (step, result) in enumerate(zip(work.steps, results)):
            if not self._deliver(step, result):
                self._plan_again(work.steps[at:])
                break
        return True

    def _first_work(self) -> _Work:
        if self._arrival:
            done = wait([work.job for work in self._works], _LIVENESS_POLL, FIRST_COMPLETED).done
            return next((work for work in self._works if work.job in done), self._works[0])
        return self._works[0]

    def _deliver(self, step: _Step, result: Loaded | Found | None) -> bool:
        """Take a lane's result in its turn; return whether it is as planned."""
        lane, as_planned = step.lane, True
        if isinstance(result, list):
            found = result
            self._busy.discard(lane)
            if not found:
                self._planned.end(lane)
        elif step.hop is not None and step.hop.is_end:
            found = lane.read_chunk()
            as_planned = not found
        else:
            found, as_planned = lane.take(result)
        if self._arrival:
            self._done = self._planned.copy()
        else:
            self._done.advance(not found)
        self._decoded.extend(found)
        return as_planned

    def _plan_again(self, steps: Iterable[_Step] = ()) -> None:
        """Discard the plan: a lane delivered something else."""
        if not self._pool.producers_dead():
            wait([work.job for work in self._works if not self._pool.cancel(work.job)])
        for step in [*steps, *[step for work in self._works for step in work.steps]]:
            step.lane.forget_plan()
        self._works.clear()
        self._planned = self._done.copy()


def _read(steps: list[_Step], batch: int) -> list[Loaded | Found | None]:
    return [_read_one(step.lane, step.hop, batch) for step in steps]


def _read_one(lane: Lane, hop: Hop | None, batch: int) -> Loaded | Found | None:
    if hop is None:
        return lane.read_chunk()
    return None if hop.is_end else lane.load(hop.offset, batch)


def _work(hop: Hop) -> int:
    """Return about how many bytes there are to go through in a chunk."""
    return (hop.end - hop.offset) * (_GROWS if hop.compressed else 1)


def _records(work: _Work) -> int:
    """Return how many records a job delivered."""
    counts = [records_in(r) if isinstance(r, list) else r.chunk.table.count if r else 0 for r in work.job.result()]
    return sum(counts)

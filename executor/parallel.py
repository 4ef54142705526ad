"""Run one program on several places at once: each on its own batch, gradients summed, parameters updated once.

Forward and backward ops run for every place, in threads (kernels release the interpreter lock). Ops that update
parameters or learning rates, and ops that create readers, run once, on place 0. Readers are read for places 0, 1, 2,
... in this order, so item s * n + p goes to place p in step s.

CPU places share the parameters; every GPU has its own copy, refreshed when place 0 has changed them. Between GPUs only
streams wait, on events; the calling thread does not wait until it fetches.
"""

from __future__ import annotations

import contextvars
import warnings
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fluidio.errors import EnforceNotMet, EOFException
from fluidio.executor.bind import Step
from fluidio.executor.devices import backend_for
from fluidio.executor.feed import set_feeds
from fluidio.executor.fetch import check_given
from fluidio.executor.frame import Frame, value_of
from fluidio.executor.plan import Plan, makes_reader, run_steps
from fluidio.executor.readers.ops import end_of_epoch
from fluidio.executor.split import split_tensor
from fluidio.ops.kernel import Backend
from fluidio.ops.threads import limited, thread_count
from fluidio.places import PlaceLike
from fluidio.program import OpRole, Program
from fluidio.tensor import LoDTensor, Scope, ScopeVariable, SelectedRows
from fluidio.tensor.lod import merge

__all__ = ["ParallelPlan", "Replicas"]


class Replicas:
    """State that places after the first keep between runs: persistables they write, and copies on other GPUs."""

    def __init__(self, places: int) -> None:
        self.variables: list[dict[str, ScopeVariable]] = [{} for _ in range(places)]
        self.origins: list[dict[str, tuple[Any, int]]] = [{} for _ in range(places)]

    def own(self, place: int, name: str, original: ScopeVariable, dev: Backend) -> ScopeVariable:
        """Return the place's own version of a persistable it writes, copied from place 0 the first time."""
        found = self.variables[place].get(name)
        if found is None:
            found = self.variables[place][name] = ScopeVariable(name)
            value, lod = value_of(original)
            is_array = hasattr(value, "dtype")
            found.value = LoDTensor.wrap(dev.upload(value.copy()), lod) if is_array else original.value
        return found

    def copy(self, place: int, name: str, original: ScopeVariable, dev: Backend) -> ScopeVariable:
        """Return a copy of place 0's value on the place's GPU, refreshed if place 0 has written it since."""
        value, lod = value_of(original)
        found = self.variables[place].get(name)
        kept, writes = self.origins[place].get(name, (None, 0))
        if found is None or kept is not value or writes != original.writes:
            found = self.variables[place][name] = ScopeVariable(name)
            found.value = LoDTensor.wrap(dev.upload(value), lod)
            self.follow(place, name, original)
        return found

    def follow(self, place: int, name: str, original: ScopeVariable) -> None:
        """Record that the place's copy is up to date with place 0."""
        self.origins[place][name] = value_of(original)[0], original.writes


@dataclass
class Segment:
    """Consecutive steps that run the same way: on "each" place, "once", or a single "read".

    Attributes:
        steps: the steps of every place.
        writes: slots they write, including those of their sub-blocks.
        scaled: positions in `steps` of the ops that initialise the gradient of the loss.
        sums: gradients among `writes` that parameter updates read.
    """

    kind: str
    steps: list[list[Step]]
    reads: set[int]
    writes: set[int]
    scaled: list[int]
    sums: list[int] = field(default_factory=list)


class ParallelPlan:
    """A program compiled for several places, one set of feeds and one of fetches."""

    def __init__(
        self,
        program: Program,
        feeds: Sequence[str],
        fetches: Sequence[str],
        places: Sequence[PlaceLike],
        scale: float | None,
        balance: bool,
    ) -> None:
        self.version = program.changes
        self.plans = [Plan(program, feeds, fetches, backend_for(place), reads_first=True) for place in places]
        self._scale = scale
        self._balance = balance
        self._on_gpus = len(places) > 1 and self.plans[0].dev.is_gpu
        if self._on_gpus:
            self._read_in_turn()
        self._trains = any(_is_once(step) and not makes_reader(step.op) for step in self.plans[0].steps)
        self._segments = _segments(self.plans)
        self._find_crossings()
        threads = len(places) - 1
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="fluidio-place") if threads else None
        if self._pool is not None:
            weakref.finalize(self, self._pool.shutdown, wait=False).atexit = False

    def _read_in_turn(self) -> None:
        """Make double buffers copy items to the GPUs in turn, through one copy ring per GPU."""
        devices: list[Any] = [plan.dev for plan in self.plans]
        place = ",".join(f"CUDA:{dev.device}" for dev in devices)
        for plan in self.plans:
            for step in plan.steps:
                if step.op.type == "create_double_buffer_reader" and step.call.attrs["place"] != "CPU":
                    step.call.attrs = {**step.call.attrs, "place": place}
                    step.call.state["devices"] = devices

    def _find_crossings(self) -> None:
        """Find the gradients updates read, the persistables every place writes, and the values each place needs."""
        names = self.plans[0]._names
        each = [segment for segment in self._segments if segment.kind == "each"]
        written = {slot for segment in each for slot in segment.writes}
        wanted = {slot for segment in self._segments if segment.kind == "once" for slot in segment.reads}
        for segment in each:
            segment.sums = [slot for slot in segment.writes & wanted if "@GRAD" in names[slot]]
        self._private = {slot for slot in written if self.plans[0]._persists(slot)}
        self._needed = {slot for segment in self._segments if segment.kind != "once" for slot in segment.reads}
        self._needed.update(self.plans[0].fetch_slots)

    # -- running ------------------------------------------------------------------------------------------------

    def run(self, scope: Scope, feeds: Sequence[dict[str, Any]], replicas: Replicas) -> list[Frame]:
        """Run once on all places and return their frames."""
        frames = [self._frame(place, scope, replicas) for place in range(len(self.plans))]
        for plan, f, feed in zip(self.plans, frames, feeds):
            if feed:
                with plan.dev.active():
                    set_feeds(f, plan.feed_slots, plan.feed_variables, feed)
            check_given(f)
        active = frames[: len(feeds)]
        if len(active) < len(frames) and self._trains:
            raise EnforceNotMet(
                f"{len(feeds)} feeds for {len(frames)} places: in training every place needs a batch; create "
                "the DataLoader with drop_last=True"
            )
        for segment in self._segments:
            if segment.kind == "each":
                self._run_each(active, segment)
                self._sum(active, segment.sums)
            elif segment.kind == "once":
                with self.plans[0].dev.active():
                    run_steps(segment.steps[0], frames[0])
                self._share(frames, segment.writes, replicas)
            else:
                active = self._read(frames, segment)
        return active

    def _frame(self, place: int, scope: Scope, replicas: Replicas) -> Frame:
        plan = self.plans[place]
        f = plan.frame(scope)
        if place == 0 or not (self._private or self._on_gpus):
            return f
        f.variables = list(f.variables)
        for slot, original in enumerate(f.variables):
            if original is None:
                continue
            name = plan.name_of(slot)
            if slot in self._private:
                own = replicas.own(place, name, original, plan.dev)
            elif self._on_gpus and slot in self._needed and hasattr(value_of(original)[0], "dtype"):
                own = replicas.copy(place, name, original, plan.dev)
            else:
                continue
            f.variables[slot] = own
            f.values[slot], f.lods[slot] = value_of(own)
        return f

    def _run_each(self, frames: Sequence[Frame], segment: Segment) -> None:
        scaled = segment.scaled if self._scale != 1.0 else []
        jobs = [partial(_run_steps, steps, f, scaled, self._scale) for steps, f in zip(segment.steps, frames)]
        futures: list[Future[Any]] = []
        try:
            with limited(thread_count() // len(jobs)):  # the places share the cores
                if self._pool is not None:
                    futures = [self._begin(job, f) for job, f in zip(jobs[1:], frames[1:])]
                jobs[0]()
            ends = [future.result() for future in futures]
        except BaseException:
            wait(futures)
            self._synchronize()  # kernels queued before the error still use their batches
            raise
        for end, f in zip(ends, frames[1:]):
            _wait_for(f.plan.dev, end)

    def _begin(self, job: Callable[[], None], f: Frame) -> Future[Any]:
        """Run a job in a separate thread, in this context."""
        assert self._pool is not None
        dev = f.plan.dev
        return self._pool.submit(contextvars.copy_context().run, _run_there, job, dev, _mark_of(dev))

    def _sum(self, frames: Sequence[Frame], slots: Sequence[int]) -> None:
        """Add up the gradients of all places."""
        if not slots:
            return
        first = self.plans[0].dev
        with first.active():
            totals = {slot: _total([_moved(f.values[slot], first) for f in frames], first.xp) for slot in slots}
        for plan, f in zip(self.plans, frames):
            for slot, total in totals.items():
                if f is frames[0] or slot in self._needed:
                    f.values[slot] = _moved(total, plan.dev)

    def _share(self, frames: Sequence[Frame], written: set[int], replicas: Replicas) -> None:
        """Pass the values place 0 computed to the other places."""
        for place, f in enumerate(frames[1:], 1):
            dev = self.plans[place].dev
            for slot in written & self._needed:
                value, original = frames[0].values[slot], frames[0].variables[slot]
                f.values[slot], f.lods[slot] = _moved(value, dev), frames[0].lods[slot]
                if self._on_gpus and original is not None and hasattr(value, "dtype"):
                    f.store(slot)
                    replicas.follow(place, f.plan.name_of(slot), original)

    def _synchronize(self) -> None:
        """Wait for all GPUs."""
        if self._on_gpus:
            for plan in self.plans:
                plan.dev.synchronize()  # type: ignore[attr-defined]

    # -- readers ------------------------------------------------------------------------------------------------

    def _read(self, frames: list[Frame], segment: Segment) -> list[Frame]:
        """Read one item per place; at the end of the epoch, too few items for all places are dropped or divided."""
        served = 0
        try:
            for steps, f in zip(segment.steps, frames):
                with f.plan.dev.active():
                    run_steps(steps, f)
                served += 1
            return frames
        except EOFException:
            if not served:
                raise
            step = segment.steps[0][0]
            if self._balance and self._divide(frames, step, served):
                return frames
            if not step.op.attrs.get("drop_last", True) and not self._trains:
                return frames[:served]
            reader = frames[0].values[step.call.ins["Reader"][0]]
            _drop(reader, served, len(frames))
            raise end_of_epoch(reader) from None

    def _divide(self, frames: Sequence[Frame], step: Step, served: int) -> bool:
        """Divide the last items among all places (BuildStrategy.enable_data_balance)."""
        slots = [slot for slot in step.writes if slot >= 0]
        first = self.plans[0].dev
        whole = {}
        with first.active():
            for slot in slots:
                lod = merge([f.lods[slot] for f in frames[:served]])
                array = first.xp.concatenate([_moved(f.values[slot], first) for f in frames[:served]])
                if (len(lod[0]) - 1 if lod else len(array)) < len(frames):
                    return False
                whole[slot] = split_tensor(array, lod, len(frames), ceil=False)
        for slot, pieces in whole.items():
            for plan, f, (array, lod) in zip(self.plans, frames, pieces):
                f.set(slot, _moved(array, plan.dev), lod)
        return True


def _run_steps(steps: list[Step], f: Frame, scaled: Sequence[int], scale: float | None) -> None:
    """Run the steps of one place; the loss gradient starts as `scale`, or as the fed value if that is None."""
    with f.plan.dev.active():
        begin = 0
        for index in scaled:
            if scale is None:
                run_steps(steps[begin:index], f)
                _check_fed(steps[index], f)
            else:
                run_steps(steps[begin : index + 1], f)
                for slot in steps[index].writes:
                    f.values[slot] = f.values[slot] * f.values[slot].dtype.type(scale)
            begin = index + 1
        run_steps(steps[begin:] if begin else steps, f)


def _check_fed(step: Step, f: Frame) -> None:
    names = step.op.output_arg_names
    if any(f.values[slot] is None for slot in step.writes):
        raise EnforceNotMet(
            f"GradientScaleStrategy.Customized expects you to feed the gradient of the loss: feed {names}"
        )


def _run_there(job: Callable[[], None], dev: Backend, begin: object) -> Any:
    """Run a job in a pool thread, whose current stream may differ from the caller's, and mark its end."""
    _wait_for(dev, begin)
    job()
    return _mark_of(dev)


def _mark_of(dev: Any) -> Any:
    return dev.mark() if dev.is_gpu else None


def _wait_for(dev: Any, mark: Any) -> None:
    if dev.is_gpu:
        dev.wait_for(mark)


def _moved(value: object, dev: Backend) -> Any:
    """Return a value on a place; CPU places share memory."""
    if not dev.is_gpu:
        return value
    if isinstance(value, SelectedRows):
        return SelectedRows(dev.upload(value.index), value.height(), dev.upload(value.value))
    return dev.upload(value) if hasattr(value, "dtype") else value


def _total(values: Sequence[Any], xp: Any) -> Any:
    if isinstance(values[0], SelectedRows):
        rows = xp.concatenate([xp.asarray(v.index) for v in values])
        return SelectedRows(rows, values[0].height(), xp.concatenate([v.value for v in values]))
    total = values[0].copy()
    for value in values[1:]:
        total += value
    return total


def _drop(reader: Any, count: int, places: int) -> None:
    top = reader.end_points()[0]
    first = top.dropped == 0
    top.dropped += count
    if first:
        warnings.warn(
            f"reader {reader.source().name}: the last {count} batches of each epoch are dropped because there "
            f"are {places} places; BuildStrategy.enable_data_balance = True divides them among the places",
            stacklevel=2,
        )


def _is_once(step: Step) -> bool:
    role = int(step.op.attrs.get("op_role", 0))
    return bool(role & (OpRole.Optimize | OpRole.LRSched)) or makes_reader(step.op)


def _segments(plans: Sequence[Plan]) -> list[Segment]:
    """Group consecutive steps of one kind: "each" place, "once", or a single "read"."""
    found: list[Segment] = []
    for index, step in enumerate(plans[0].steps):
        kind = "read" if step.op.type == "read" else "once" if _is_once(step) else "each"
        if not found or found[-1].kind != kind or kind == "read":
            found.append(Segment(kind, [[] for _ in plans], set(), set(), []))
        segment = found[-1]
        reads, writes = plans[0].touched(step)
        segment.reads |= reads
        segment.writes |= writes
        if step.op.attrs.get("op_role") == int(OpRole.Backward | OpRole.Loss):
            segment.scaled.append(len(segment.steps[0]))
        for steps, plan in zip(segment.steps, plans):
            steps.append(plan.steps[index])
    return found

"""Run one program on several CPU places at once: each on its own batch, gradients summed, parameters updated once.

Ops of the forward and backward pass run for every place, in threads (kernels release the interpreter lock). Ops that
update parameters or learning rates, and ops that make readers, run once. Readers are read for place 0, 1, 2, ... in
this order, so item s * n + p goes to place p in step s.
"""

from __future__ import annotations

import contextvars
import warnings
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EOFException
from fluidio.executor.bind import Step
from fluidio.executor.devices import backend_for
from fluidio.executor.feed import set_feeds
from fluidio.executor.frame import Frame, value_of
from fluidio.executor.plan import Plan, run_steps
from fluidio.executor.readers.ops import end_of_epoch
from fluidio.executor.split import split_tensor
from fluidio.program import OpRole, Program
from fluidio.tensor import LoDTensor, Scope, ScopeVariable, SelectedRows
from fluidio.tensor.lod import merge

__all__ = ["ParallelPlan", "Replicas"]


class Replicas:
    """What the places beyond the first keep for themselves between runs: persistables that forward ops write."""

    def __init__(self, places: int) -> None:
        self.variables: list[dict[str, ScopeVariable]] = [{} for _ in range(places)]

    def get(self, place: int, name: str, original: ScopeVariable) -> ScopeVariable:
        """Return the place's own copy of a persistable, made from place 0's the first time."""
        found = self.variables[place].get(name)
        if found is None:
            found = self.variables[place][name] = ScopeVariable(name)
            value = original.value
            found.value = value._copy() if isinstance(value, LoDTensor) and value.array is not None else value
        return found


class ParallelPlan:
    """A program compiled for several places, one set of feeds and one of fetches."""

    def __init__(
        self, program: Program, feeds: Sequence[str], fetches: Sequence[str], places: Sequence[Any], scale: float,
        balance: bool,
    ) -> None:  # fmt: skip
        self.version = program._version
        self.plans = [Plan(program, feeds, fetches, backend_for(place)) for place in places]
        self._scale = scale
        self._balance = balance
        self._trains = any(_is_once(step) and not _makes_reader(step) for step in self.plans[0].steps)
        self._segments = _segments(self.plans[0].steps)
        self._find_crossings()
        threads = len(places) - 1
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="fluidio-place") if threads else None
        if self._pool is not None:
            weakref.finalize(self, self._pool.shutdown, wait=False).atexit = False

    def _find_crossings(self) -> None:
        """Find the gradients that parameter updates read, and the persistables that every place writes."""
        steps = self.plans[0].steps
        written: set[int] = set()
        wanted: set[int] = set()
        for kind, start, stop in self._segments:
            for step in steps[start:stop]:
                if kind == "each":
                    written |= set(step.writes)
                elif kind == "once":
                    wanted |= set(step.reads) & written
        names = self.plans[0]._names
        self._sums = {i for i in wanted if "@GRAD" in names[i]}
        self._private = [i for i in written if self.plans[0]._persists(i)]

    # -- running ------------------------------------------------------------------------------------------------

    def run(self, scope: Scope, feeds: Sequence[dict[str, Any]], replicas: Replicas) -> list[Frame]:
        """Run once on all places and return their frames."""
        frames = [self._frame(place, scope, replicas) for place in range(len(self.plans))]
        for plan, f, feed in zip(self.plans, frames, feeds):
            if feed:
                set_feeds(f, plan.feed_slots, plan.feed_variables, feed)
        active = frames
        for kind, start, stop in self._segments:
            if kind == "each":
                self._run_each(active, start, stop)
                self._sum(active, start, stop)
            elif kind == "once":
                run_steps(self.plans[0].steps[start:stop], frames[0])
                self._share(frames, start, stop)
            else:
                active = self._read(frames, start)
        return active

    def _frame(self, place: int, scope: Scope, replicas: Replicas) -> Frame:
        plan = self.plans[place]
        f = plan.frame(scope)
        if place == 0 or not self._private:
            return f
        f.variables = list(f.variables)
        for slot in self._private:
            original = f.variables[slot]
            if original is not None:
                own = replicas.get(place, plan.name_of(slot), original)
                f.variables[slot] = own
                f.values[slot], f.lods[slot] = value_of(own)
        return f

    def _run_each(self, frames: Sequence[Frame], start: int, stop: int) -> None:
        jobs: list[Callable[[], None]] = [
            _job(plan.steps[start:stop], f, self._scale) for plan, f in zip(self.plans, frames)
        ]
        futures = []
        if self._pool is not None:
            futures = [self._pool.submit(contextvars.copy_context().run, job) for job in jobs[1:]]
        try:
            jobs[0]()
        finally:
            errors = [future.exception() for future in futures]
        for error in errors:
            if error is not None:
                raise error

    def _sum(self, frames: Sequence[Frame], start: int, stop: int) -> None:
        """Add up the gradients that were computed in this segment."""
        written = {slot for step in self.plans[0].steps[start:stop] for slot in step.writes}
        for slot in self._sums & written:
            total = _total([f.values[slot] for f in frames])
            for f in frames:
                f.values[slot] = total

    def _share(self, frames: Sequence[Frame], start: int, stop: int) -> None:
        written = {slot for step in self.plans[0].steps[start:stop] for slot in step.writes}
        for f in frames[1:]:
            for slot in written:
                f.values[slot], f.lods[slot] = frames[0].values[slot], frames[0].lods[slot]

    # -- readers ------------------------------------------------------------------------------------------------

    def _read(self, frames: list[Frame], index: int) -> list[Frame]:
        """Read one item for each place; at the end of the epoch what is too little for all is dropped or divided."""
        served = 0
        try:
            for plan, f in zip(self.plans, frames):
                run_steps([plan.steps[index]], f)
                served += 1
            return frames
        except EOFException:
            if not served:
                raise
            step = self.plans[0].steps[index]
            if self._balance and self._divide(frames, step, served):
                return frames
            if not step.op._attrs.get("drop_last", True) and not self._trains:
                return frames[:served]
            reader = frames[0].values[step.call.ins["Reader"][0]]
            _drop(reader, served, len(frames))
            raise end_of_epoch(reader) from None

    def _divide(self, frames: Sequence[Frame], step: Step, served: int) -> bool:
        """Divide the last items among all places (BuildStrategy.enable_data_balance)."""
        slots = [slot for slot in step.writes if slot >= 0]
        whole = {}
        for slot in slots:
            lod = merge([f.lods[slot] for f in frames[:served]])
            array = np.concatenate([f.values[slot] for f in frames[:served]])
            if (len(lod[0]) - 1 if lod else len(array)) < len(frames):
                return False
            whole[slot] = split_tensor(array, lod, len(frames), ceil=False)
        for slot, pieces in whole.items():
            for f, (array, lod) in zip(frames, pieces):
                f.set(slot, array, lod)
        return True


def _job(steps: Sequence[Step], f: Frame, scale: float) -> Callable[[], None]:
    def run() -> None:
        if scale == 1.0:
            run_steps(list(steps), f)
            return
        begin = 0
        for index, step in enumerate(steps):
            if step.op._attrs.get("op_role") == int(OpRole.Backward | OpRole.Loss):
                run_steps(list(steps[begin : index + 1]), f)
                for slot in step.writes:
                    f.values[slot] = f.values[slot] * np.asarray(scale, f.values[slot].dtype)
                begin = index + 1
        run_steps(list(steps[begin:]), f)

    return run


def _total(values: Sequence[Any]) -> Any:
    if isinstance(values[0], SelectedRows):
        rows = np.concatenate([np.asarray(v.index) for v in values])
        return SelectedRows(rows, values[0].height(), np.concatenate([v.value for v in values]))
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
            f"reader {reader.source().name}: the last {count} batches of each epoch are dropped, too few for {places} "
            "places; BuildStrategy.enable_data_balance divides them among the places",
            stacklevel=2,
        )


def _makes_reader(step: Step) -> bool:
    outs = [step.op.block._find_var_recursive(name) for name in step.op.output_arg_names]
    return bool(outs) and all(v is not None and v.type is VarType.READER for v in outs)


def _is_once(step: Step) -> bool:
    role = int(step.op._attrs.get("op_role", 0))
    return bool(role & (OpRole.Optimize | OpRole.LRSched)) or _makes_reader(step)


def _segments(steps: Sequence[Step]) -> list[tuple[str, int, int]]:
    """Cut the steps into runs of one kind: "each" place, "once", or a single "read"."""
    found: list[tuple[str, int, int]] = []
    for index, step in enumerate(steps):
        kind = "read" if step.op.type == "read" else "once" if _is_once(step) else "each"
        if found and found[-1][0] == kind and kind != "read":
            found[-1] = (kind, found[-1][1], index + 1)
        else:
            found.append((kind, index, index + 1))
    return found

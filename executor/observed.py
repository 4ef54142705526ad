"""Report steps and ops to observers; called only while there are any."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.executor.bind import Step as BoundStep
from fluidio.executor.fetch import FetchesUpdates, fetch_names
from fluidio.executor.frame import Frame
from fluidio.executor.pruned import split_updates
from fluidio.flow.observer import OBSERVERS, OpRun, Step, StepResult
from fluidio.program import Program
from fluidio.program.arguments import Feed, FetchList
from fluidio.tensor import SelectedRows

__all__ = ["observed_run", "observed_step"]

_inside = threading.local()  # running a compiled program nests one run in another


def observed_run(
    run: Callable[[], list[Any]], program: Any, place: str, feed: Feed, fetch_list: FetchList
) -> list[Any]:
    """Run a step and report it, unless it is part of another one."""
    if getattr(_inside, "step", False):
        return run()
    observers = OBSERVERS.all
    step = Step(_number(program), place, _fed_records(feed), threading.get_ident(), perf_counter())
    for observer in observers:
        observer.step_began(step)
    values: list[Any] = []
    error: BaseException | None = None
    _inside.step = True
    try:
        values = run()
    except BaseException as raised:
        error = raised
        raise
    finally:
        _inside.step = False
        names = () if error is not None else _fetched(fetch_list)
        result = StepResult(names, values, error, perf_counter())
        for observer in observers:
            observer.step_ended(step, result)
    return values


def observed_step(step: BoundStep, f: Frame) -> None:
    """Run one op and report it."""
    start = perf_counter()
    step.run(f)
    if OBSERVERS.checks_numbers:
        check_numbers(step, f)
    if f.plan.dev.is_gpu and OBSERVERS.of_ops:
        stream: Any = f.plan.dev.xp.cuda.get_current_stream()
        stream.synchronize()
    stop = perf_counter()
    output = f.plan.name_of(step.writes[0]) if step.writes else ""
    event = OpRun(step.op.type, output, step.op.site, threading.get_ident(), start, stop)
    for observer in OBSERVERS.of_ops:
        observer.op_ran(event)


def check_numbers(step: BoundStep, f: Frame) -> None:
    """Raise if an op computed a NaN or an infinite number."""
    xp = f.plan.dev.xp
    for slot in step.writes:
        value = f.values[slot]
        value = value.value if isinstance(value, SelectedRows) else value
        if getattr(getattr(value, "dtype", None), "kind", "") != "f":
            continue
        nans, infinities = int(xp.isnan(value).sum()), int(xp.isinf(value).sum())
        if nans or infinities:
            name = f.plan.name_of(slot)
            raise EnforceNotMet(
                f"op {step.op.type} wrote nan or inf into {name}: {nans} nan and {infinities} inf among "
                f"{value.size} numbers (FLAGS_check_nan_inf is on)"
            )


def _number(program: Program) -> int:
    inner = getattr(program, "_program", program)  # of a compiled program
    return int(getattr(inner, "_serial", -1))


def _fetched(fetch_list: FetchList) -> tuple[str, ...]:
    """Return the names a step has fetched; they are valid because the step did not fail."""
    try:
        return fetch_names(fetch_list)
    except FetchesUpdates:
        variables, _ = split_updates(fetch_list)
        return fetch_names(variables)


def _fed_records(feed: object) -> int:
    """Return how many records a feed holds: sequences or rows of its first value, over all devices."""
    if isinstance(feed, (list, tuple)):
        return sum(map(_fed_records, feed))
    if not isinstance(feed, dict) or not feed:
        return 0
    value = next(iter(feed.values()))
    lengths = getattr(value, "recursive_sequence_lengths", None)
    if lengths is not None and lengths():
        return len(lengths()[0])
    shape = value.shape() if callable(getattr(value, "shape", None)) else getattr(value, "shape", ())
    return int(shape[0]) if shape else 0

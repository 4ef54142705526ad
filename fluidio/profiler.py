"""`fluid.profiler`: a table of the time taken by each op type, and a Chrome trace of all ops."""

from __future__ import annotations

import contextlib
import enum
import os
import warnings
from collections.abc import Iterator, Sequence

from fluidio.executor.timeline import Timeline
from fluidio.flow.observer import OpRun

__all__ = ["cuda_profiler", "profiler", "reset_profiler", "start_profiler", "stop_profiler"]

_STATES = ("CPU", "GPU", "All")
_OPTIONS = ("Default", "OpDetail", "AllOpDetail")
_KEYS = (None, "default", "calls", "total", "max", "min", "ave")

_timeline = Timeline()
_state = ""


class ProfilerState(enum.IntEnum):
    """`core.ProfilerState`: what is timed."""

    kDisabled = 0
    kCPU = 1
    kCUDA = 2
    kAll = 3


class EventSortingKey(enum.IntEnum):
    """`core.EventSortingKey`: the order of the table."""

    kDefault = 0
    kCalls = 1
    kTotal = 2
    kMin = 3
    kMax = 4
    kAve = 5


class TracerOption(enum.IntEnum):
    """`core.TracerOption`: accepted; there is one level of detail."""

    kDefault = 0
    kOpDetail = 1
    kAllOpDetail = 2


def enable_profiler(state: ProfilerState) -> None:
    """`core.enable_profiler`: start timing ops."""
    names = {ProfilerState.kCPU: "CPU", ProfilerState.kCUDA: "GPU", ProfilerState.kAll: "All"}
    start_profiler(names.get(state, ""))


def disable_profiler(sorted_key: EventSortingKey, profile_path: str) -> None:
    """`core.disable_profiler`: stop timing, print the table and write a Chrome trace."""
    stop_profiler(EventSortingKey(sorted_key).name[1:].lower(), profile_path)


def is_profiler_enabled() -> bool:
    """`core.is_profiler_enabled`: return whether ops are being timed."""
    return _timeline.is_recording


def set_tracer_option(option: TracerOption) -> None:
    """`core.set_tracer_option`: check the option; there is one level of detail."""
    TracerOption(option)


def start_profiler(state: str, tracer_option: str = "Default") -> None:
    """Start timing ops.

    Args:
        state: "CPU", "GPU" or "All"; the ops of the executor's place are timed in any case.
        tracer_option: accepted; there is one level of detail.
    """
    global _state
    if state not in _STATES:
        raise ValueError(f"profiler: state must be 'CPU', 'GPU' or 'All', got {state!r}")
    if tracer_option not in _OPTIONS:
        raise ValueError(f"profiler: tracer_option must be one of {', '.join(_OPTIONS)}, got {tracer_option!r}")
    _state = state
    _timeline.start()


def stop_profiler(sorted_key: str | None = None, profile_path: str = "/tmp/profile") -> None:
    """Stop timing, print the table and write a Chrome trace.

    Args:
        sorted_key: "calls", "total", "max", "min" or "ave", largest first; by first appearance otherwise.
        profile_path: the file for the trace; open it in chrome://tracing or Perfetto.

    Fluid: the file held a protobuf for Fluid's own timeline tool; here it is the trace itself.
    """
    if sorted_key not in _KEYS:
        raise ValueError(
            f"profiler: sorted_key must be 'calls', 'total', 'max', 'min', 'ave' or None, got {sorted_key!r}"
        )
    _timeline.stop()
    print(report(_timeline.events, _state, sorted_key))
    folder = os.path.dirname(profile_path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(profile_path, "w", encoding="utf-8") as file:
        file.write(_timeline.chrome_trace())
    _timeline.clear()


def reset_profiler() -> None:
    """Discard the times measured so far."""
    _timeline.clear()


@contextlib.contextmanager
def profiler(
    state: str, sorted_key: str | None = None, profile_path: str = "/tmp/profile", tracer_option: str = "Default"
) -> Iterator[None]:
    """Time the ops of the block; see start_profiler and stop_profiler."""
    start_profiler(state, tracer_option)
    try:
        yield
    finally:
        stop_profiler(sorted_key, profile_path)


@contextlib.contextmanager
def cuda_profiler(output_file: str, output_mode: str | None = None, config: object = None) -> Iterator[None]:
    """Run the block unchanged.

    Fluid: this drove NVIDIA's nvprof, which no longer exists; use Nsight, or `profiler("GPU")` here.
    """
    if output_mode not in (None, "kvp", "csv"):
        raise ValueError(f"cuda_profiler: output_mode must be 'kvp' or 'csv', got {output_mode!r}")
    warnings.warn("cuda_profiler has no effect: use fluid.profiler.profiler('GPU') or NVIDIA Nsight", stacklevel=3)
    yield


def report(events: Sequence[OpRun], place: str, sorted_key: str | None) -> str:
    """Return the table of events by kind of op, times in milliseconds."""
    groups: dict[str, list[float]] = {}
    for event in events:
        groups.setdefault(event.type, []).append((event.stop - event.start) * 1e3)
    rows = [(name, len(t), sum(t), min(t), max(t), sum(t) / len(t)) for name, t in groups.items()]
    column = {"calls": 1, "total": 2, "min": 3, "max": 4, "ave": 5}.get(sorted_key or "")
    if column is not None:
        rows.sort(key=lambda row: row[column], reverse=True)
    whole = sum(row[2] for row in rows)
    order = f"Sorted by {sorted_key} in descending order" if column is not None else "Sorted by first appearance"
    lines = [
        "",
        "------------------------->     Profiling Report     <-------------------------",
        "",
        f"Place: {place}",
        "Time unit: ms",
        order,
        "",
        f"{'Event':<32}{'Calls':<12}{'Total':<12}{'Min.':<12}{'Max.':<12}{'Ave.':<12}{'Ratio.':<12}",
    ]
    for name, calls, total, low, high, mean in rows:
        share = total / whole if whole else 0.0
        lines.append(f"{name:<32}{calls:<12}{total:<12.6g}{low:<12.6g}{high:<12.6g}{mean:<12.6g}{share:<12.6g}")
    return "\n".join(lines) + "\n"

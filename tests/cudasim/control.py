"""Steer the simulator and read what it saw."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from .capsules import library

_KINDS = ("h2d", "d2h", "d2d", "memset", "kernel", "library", "host_call", "sync")
_FAULTS = ("malloc", "host_alloc", "h2d", "d2h", "launch")
Fault = Literal["malloc", "host_alloc", "h2d", "d2h", "launch"]


_usual = {"jitter": 0, "seed": 0}


class _Span(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int),
        ("stream", ctypes.c_int),
        ("device", ctypes.c_int),
        ("thread", ctypes.c_long),
        ("start", ctypes.c_double),
        ("end", ctypes.c_double),
        ("name", ctypes.c_char_p),
    ]


@dataclass(frozen=True)
class Span:
    """One thing that took time: an operation on a stream, or a wait of the host (`kind` "sync", with its thread)."""

    kind: str
    name: str
    stream: int
    device: int
    thread: int
    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Return how long it took."""
        return self.end - self.start


def reset() -> None:
    """Wait for all devices, forget what was seen, and go back to the usual settings."""
    lib = library()
    schedule("eager")
    delays(**_usual)
    drain()
    lib.sim_clear()


def drain() -> None:
    """Wait until every stream of every device is empty."""
    unlocked = ctypes.CDLL(library()._name)  # lets go of the GIL: host functions on a stream need it
    unlocked.sim_drain()


def delays(*, copy: int = 0, kernel: int = 0, jitter: int = 0, seed: int = 0) -> None:
    """Make every copy and kernel take so many microseconds longer, and some of them up to `jitter` more, at random."""
    lib = library()
    lib.sim_delays.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_uint64]
    lib.sim_delays(copy, kernel, jitter, seed)


def usual_delays(*, jitter: int = 0, seed: int = 0) -> None:
    """Say which random delays `reset` goes back to: none in the beginning."""
    _usual.update(jitter=jitter, seed=seed)


def schedule(how: Literal["eager", "lazy"]) -> None:
    """Run operations at once, or ("lazy") only when somebody waits for them: the latest that CUDA would allow."""
    if how not in ("eager", "lazy"):
        raise ValueError(f"schedule {how!r}: expected 'eager' or 'lazy'")
    library().sim_schedule(int(how == "lazy"))


def leave_memory(bytes_: int, device: int = 0) -> None:
    """Let a device run out of memory after so many bytes more than it uses now."""
    lib = library()
    lib.sim_leave_memory.argtypes = [ctypes.c_int, ctypes.c_size_t]
    lib.sim_leave_memory(device, bytes_)


def fail(what: Fault, *, after: int = 0, times: int = 1, error: int = 719, deferred: bool = False) -> None:
    """Let `times` calls of a kind fail, after `after` good ones.

    Args:
        error: a cudaError; 2 is "out of memory", 719 "unspecified launch failure".
        deferred: let the call succeed and the operation fail, so that the error comes out of the next wait.
    """
    lib = library()
    lib.sim_fail.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_long, ctypes.c_int, ctypes.c_int]
    lib.sim_fail(_FAULTS.index(what), after, times, error, int(deferred))


def violations() -> list[str]:
    """Return what went wrong so far: "race: ...", "pinned-overwrite: ...", "out-of-bounds: ..." and so on."""
    lib = library()
    lib.sim_violation.restype = ctypes.c_char_p
    return [lib.sim_violation(i).decode() for i in range(lib.sim_violation_count())]


def counters() -> dict[str, int]:
    """Return the counters since the last reset; bytes, streams and events are what exists now."""
    lib = library()
    lib.sim_counter_name.restype, lib.sim_counter.restype = ctypes.c_char_p, ctypes.c_long
    found: dict[str, int] = {}
    while name := lib.sim_counter_name(len(found)):
        found[name.decode()] = lib.sim_counter(len(found))
    return found


def timeline() -> list[Span]:
    """Return every operation that has run and every wait of the host, in the order in which they ended."""
    lib = library()
    lib.sim_span_count.restype = ctypes.c_long
    lib.sim_span.argtypes = [ctypes.c_long, ctypes.POINTER(_Span)]
    raw, spans = _Span(), []
    for i in range(lib.sim_span_count()):
        lib.sim_span(i, ctypes.byref(raw))
        kind = _KINDS[raw.kind]
        spans.append(Span(kind, raw.name.decode(), raw.stream, raw.device, raw.thread, raw.start, raw.end))
    return spans


def hidden(copies: Iterable[Span], work: Iterable[Span]) -> float:
    """Return which part of the copies' time lies under `work`, from 0 to 1."""
    busy = _union((span.start, span.end) for span in work)
    total = covered = 0.0
    for copy in copies:
        total += copy.seconds
        covered += sum(max(0.0, min(copy.end, end) - max(copy.start, start)) for start, end in busy)
    return covered / total if total else 0.0


def _union(pieces: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for start, end in sorted(pieces):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined

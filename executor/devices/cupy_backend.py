"""The backend of CUDAPlace(i): CuPy arrays on one GPU, on the current stream of the calling thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.executor.devices.checks import DeferredChecks
from fluidio.executor.devices.fused import fused_kernels
from fluidio.executor.devices.pinned import PinnedArena, is_pinned, layout
from fluidio.executor.devices.ring import CopyRing
from fluidio.program import Operator
from fluidio.tensor.array import Array
from fluidio.tensor.transfer import require_cupy

__all__ = ["CupyBackend", "cupy_backend"]


class CupyBackend:
    """One GPU.

    Work is enqueued on the thread's current CuPy stream, and only `download` waits for it. Arrays exported through
    DLPack or the array interface therefore carry the right stream.
    """

    is_gpu = True

    def __init__(self, device: int) -> None:
        cupy = require_cupy(device)
        self.xp: Any = cupy
        self.device = device
        self.checks = DeferredChecks(cupy)
        self.kernels: Mapping[str, Callable[..., Any]] = fused_kernels(cupy, self.checks)
        self._local = threading.local()

    def active(self) -> Any:
        """Return a context that makes this GPU the thread's current device."""
        return self.xp.cuda.Device(self.device)

    def owns(self, array: Any) -> bool:
        """Return whether the array lives on this GPU."""
        return isinstance(array, self.xp.ndarray) and array.device.id == self.device

    def upload(self, array: Any) -> Any:
        """Return the array on this GPU: itself if already there, else a copy that the host does not wait for."""
        cupy = self.xp
        with self.active():
            if isinstance(array, cupy.ndarray):
                return array if array.device.id == self.device else self._from_another(array)
            if hasattr(array, "__cuda_array_interface__"):
                return cupy.asarray(array)
            host = np.asarray(array, order="C")  # not ascontiguousarray, which turns 0-d into 1-d
            if is_pinned(cupy, host):
                host = host.copy()  # CuPy would copy from it later, when its owner may have changed it
            return cupy.asarray(host)  # staged through CuPy's own pinned pool, which watches the copy's event

    def _from_another(self, array: Any) -> Any:
        """Copy from another GPU, after the work already queued on its current stream and before any later work."""
        cupy = self.xp
        with array.device:
            source = cupy.ascontiguousarray(array)
            ready = _mark(cupy)
        with self.active():
            copy = cupy.empty(array.shape, array.dtype)
            stream = cupy.cuda.get_current_stream()
            stream.wait_event(ready)
            copy.data.copy_from_device_async(source.data, source.nbytes, stream)
            done = _mark(cupy)
        with array.device:
            cupy.cuda.get_current_stream().wait_event(done)  # from here on its memory may be overwritten or freed
        return copy

    def mark(self) -> Any:
        """Return an event that follows the work queued so far on the thread's current stream of this GPU."""
        with self.active():
            return _mark(self.xp)

    def wait_for(self, mark: object) -> None:
        """Make the thread's current stream of this GPU wait for a mark; the thread itself does not wait."""
        with self.active():
            self.xp.cuda.get_current_stream().wait_event(mark)

    def download(self, array: Any) -> Any:
        """Return a NumPy copy; waits for the stream."""
        return self.download_all([array])[0]

    def download_all(self, arrays: Sequence[Array]) -> list[Array]:
        """Return NumPy copies of several arrays with one wait; host arrays are returned unchanged."""
        on_gpu = [self.xp.ascontiguousarray(a) for a in arrays if isinstance(a, self.xp.ndarray)]
        fetched = iter(self._fetch(on_gpu) if on_gpu else [])
        return [next(fetched).reshape(a.shape) if isinstance(a, self.xp.ndarray) else a for a in arrays]

    def fetch(self, arrays: Sequence[Array]) -> list[Array]:
        """Return NumPy copies with one wait, and raise errors that kernels have recorded since the last fetch."""
        notes = self.checks.take()
        host = self.download_all([*arrays, *notes])
        self.checks.raise_noted(host[len(arrays) :])
        return host[: len(arrays)]

    def _fetch(self, arrays: Sequence[Any]) -> list[Array]:
        arena = self._arena()
        fields = [(a.shape, a.dtype) for a in arrays]
        starts, size = layout(fields)
        arena.reserve(max(1, size))
        views = [arena.view(start, shape, dtype) for start, (shape, dtype) in zip(starts, fields)]
        with self.active():
            for array, view in zip(arrays, views):
                if array.size:
                    array.get(out=view, blocking=False)
            arrived = _mark(self.xp)
        arrived.synchronize()
        return [view.copy() for view in views]

    def _arena(self) -> PinnedArena:
        arena: PinnedArena | None = getattr(self._local, "arena", None)
        if arena is None:
            arena = self._local.arena = PinnedArena(self.xp)
        return arena

    def scatter_add(self, target: Array, index: Array, values: object) -> None:
        """Add `values[i]` to `target[index[i]]` for every i, repeats included (first axis)."""
        self.xp.add.at(target, index, values)

    def check_range(self, ids: Array, limit: int, ignore: int, op: Operator) -> None:
        """Check ids; the next fetch reports those out of range."""
        self.checks.check(ids, limit, ignore, op)

    def copy_stage(self, slots: int = 3) -> CopyRing:
        """Return a new ring that copies batches to this GPU."""
        return CopyRing(self.xp, self.device, slots)

    def synchronize(self) -> None:
        """Wait for all work of the device."""
        with self.active():
            self.xp.cuda.runtime.deviceSynchronize()

    def __repr__(self) -> str:
        return f"CupyBackend({self.device})"


def _mark(cupy: ModuleType) -> Any:
    return cupy.cuda.get_current_stream().record(cupy.cuda.Event(disable_timing=True))


@cache
def cupy_backend(device: int) -> CupyBackend:
    """Return the backend of a GPU: one per process, because plans are cached by backend."""
    return CupyBackend(device)

"""Gradients on GPUs: NCCL sums them on the device, on a separate stream, while backward continues.

Uses CuPy's interface to NCCL. The trainers still meet, and detect missing ones, through their Communicator, which also
passes NCCL's id at the start. Unless every trainer has NCCL and its own GPU, gradients go through the host.
"""

from __future__ import annotations

import os
import weakref
import zlib
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.distributed.communicator import Communicator

__all__ = ["GpuWork", "Nccl", "nccl_of"]

_ID_BYTES = 128
_TYPES = {"f2": "NCCL_FLOAT16", "f4": "NCCL_FLOAT32", "f8": "NCCL_FLOAT64"}

_found: weakref.WeakKeyDictionary[Communicator, Nccl | None] = weakref.WeakKeyDictionary()


def nccl_of(trainers: Communicator, dev: object) -> Nccl | None:
    """Return NCCL between the GPUs of these trainers, or None if that is impossible; all of them must call this.

    `dev` is the GPU of this trainer, with `xp` (CuPy) and its number `device`.
    """
    if trainers not in _found:
        _found[trainers] = _connect(trainers, dev)
    return _found[trainers]


def _connect(trainers: Communicator, dev: Any) -> Nccl | None:
    """Agree whether all trainers can use NCCL, and connect them."""
    mine = zlib.crc32(trainers.members[trainers.rank].host.encode()), dev.device
    able = _module(dev.xp) is not None and dev.is_gpu
    said = trainers.all_gather(np.array([able, *mine, _visible(dev)], np.int64))
    places = {tuple(row[1:].tolist()) for row in said}
    if not said[:, 0].all() or len(places) < len(said):
        return None  # NCCL needs one GPU per trainer
    return Nccl(trainers, dev)


def _module(cupy: object) -> Any:
    """Return CuPy's interface to NCCL; None if there is none or FLUIDIO_NCCL=off."""
    if os.environ.get("FLUIDIO_NCCL", "").lower() in ("off", "0", "no", "false"):
        return None
    try:
        from cupy.cuda import nccl
    except ImportError:
        return None
    return nccl if getattr(nccl, "available", False) else None


def _visible(dev: object) -> int:
    """Return a number that identifies the visible GPUs: GPU 0 may differ between trainers."""
    return zlib.crc32(os.environ.get("CUDA_VISIBLE_DEVICES", "").encode())


class Nccl:
    """NCCL between the GPUs of some trainers, on a stream separate from computation."""

    def __init__(self, trainers: Communicator, dev: Any) -> None:
        self._nccl, self._cupy, self._device = _module(dev.xp), dev.xp, dev.device
        name = np.zeros(_ID_BYTES, np.uint8)
        if trainers.rank == 0:
            name[:] = [byte & 255 for byte in self._nccl.get_unique_id()]
        trainers.broadcast(name, 0).wait()
        with self._cupy.cuda.Device(self._device):
            self._comm = self._communicator(len(trainers.members), name, trainers.rank)
            self._stream = self._cupy.cuda.Stream(non_blocking=True)

    def _communicator(self, size: int, name: Any, rank: int) -> Any:
        """Return CuPy's communicator; its id is bytes, and was a tuple of signed numbers until CuPy 13."""
        try:
            return self._nccl.NcclCommunicator(size, name.tobytes(), rank)
        except TypeError:
            return self._nccl.NcclCommunicator(size, tuple(name.view(np.int8).tolist()), rank)

    def all_reduce(self, array: Any) -> GpuWork:
        """Start summing an array over all trainers, in place, once its computation is done."""
        cupy = self._cupy
        with cupy.cuda.Device(self._device):
            ready, done = (cupy.cuda.Event(disable_timing=True) for _ in range(2))
            ready.record(cupy.cuda.get_current_stream())
            self._stream.wait_event(ready)
            kind = getattr(self._nccl, _TYPES[array.dtype.str[1:]])
            pointer = array.data.ptr
            self._comm.allReduce(pointer, pointer, array.size, kind, self._nccl.NCCL_SUM, self._stream.ptr)
            done.record(self._stream)
        return GpuWork(cupy, self._device, done, array)


class GpuWork:
    """A pending sum on a GPU. Its memory is kept until the computing stream waits for it."""

    def __init__(self, cupy: ModuleType, device: int, done: Any, array: Any) -> None:
        self._cupy = cupy
        self._device = device
        self._done = done
        self._array = array

    def wait(self) -> None:
        """Make later work on the current stream wait for the sum; the host does not wait."""
        with self._cupy.cuda.Device(self._device):
            self._cupy.cuda.get_current_stream().wait_event(self._done)

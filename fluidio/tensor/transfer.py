"""Copy a host array to a GPU; the only file below the executor that touches CuPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.errors import DeviceError, MissingDependencyError, missing_dependency
from fluidio.places import get_cuda_device_count
from fluidio.tensor.array import Array

__all__ = ["pinned_copy", "require_cupy", "upload"]


def require_cupy(device: int | None = None) -> Any:
    """Return the cupy module, or raise an error that says what to install or how to stay on the CPU."""
    place = "a CUDA place" if device is None else f"CUDAPlace({device})"
    try:
        import cupy
    except ImportError as error:
        raise MissingDependencyError(
            f"{missing_dependency('CuPy', 'cuda12', place)}, or 'fluidio[cuda13]' for a CUDA 13 driver; to run on the "
            "CPU: `--device cpu`, or fluid.CPUPlace()",
            name="CuPy",
        ) from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(
            f"{place}: CuPy finds no CUDA driver or device ({error}); run on the CPU with `--device cpu` "
            "or fluid.CPUPlace()"
        ) from error
    if device is not None and device >= count:
        raise DeviceError(f"CUDAPlace({device}): there is no such GPU; the number must lie in 0 ... {count - 1}")
    return cupy


def upload(array: object, device: int) -> Any:
    """Return a copy of `array` on GPU number `device`."""
    cupy = require_cupy(device)
    with cupy.cuda.Device(device):
        return cupy.array(array, order="C", copy=True)


def pinned_copy(array: Array) -> Array:
    """Return a copy in page-locked memory, or in ordinary memory without a GPU."""
    if not get_cuda_device_count():
        return np.array(array, order="C", copy=True)
    import cupy

    memory = cupy.cuda.alloc_pinned_memory(max(1, array.nbytes))
    pinned = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    pinned[...] = array
    return pinned

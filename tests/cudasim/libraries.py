"""Replace, or refuse loudly, the parts of CuPy that are prebuilt device code: thrust's sorts and random numbers.

Prebuilt code carries NVIDIA's own runtime, which finds no GPU; some of it would silently return garbage.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

_RANDOM = (
    "cupy.random is prebuilt device code (cuRAND): it does not run on the simulator. "
    "Draw on the host with NumPy and upload, as fluidio does."
)


def install(cupy: Any, lib: ctypes.PyDLL) -> None:
    """Put host versions of the sorts into CuPy and make its random numbers raise."""
    lib.sim_sort.argtypes = [ctypes.c_ssize_t, ctypes.c_char, ctypes.c_int, ctypes.c_ssize_t, ctypes.c_ssize_t]
    lib.sim_sort.argtypes += [ctypes.c_long, ctypes.c_long, ctypes.c_int]
    _install_sorts(cupy, lib)
    _forbid_random(cupy)


def _install_sorts(cupy: Any, lib: ctypes.PyDLL) -> None:
    thrust = cupy.cuda.thrust

    def submit(dtype: Any, data: int, order: int, rows: int, count: int, keys: int) -> None:
        kind = np.dtype(dtype).kind
        if kind not in "biuf":
            raise NotImplementedError(f"cudasim does not sort {dtype}")
        stream = cupy.cuda.get_current_stream().ptr
        status = lib.sim_sort(stream, kind.encode(), np.dtype(dtype).itemsize, data, order, rows, count, keys)
        cupy.cuda.runtime.check_status(status)

    def split(shape: Sequence[int]) -> tuple[int, int]:
        return math.prod(shape[:-1]), shape[-1]

    def sort(dtype: Any, data: int, keys: int, shape: Sequence[int]) -> None:
        submit(dtype, data, 0, *split(shape), 0)

    def argsort(dtype: Any, order: int, data: int, keys: int, shape: Sequence[int]) -> None:
        submit(dtype, data, order, *split(shape), 0)

    def lexsort(dtype: Any, order: int, data: int, keys: int, count: int) -> None:
        submit(dtype, data, order, 1, count, keys)

    thrust.sort, thrust.argsort, thrust.lexsort = sort, argsort, lexsort


def _forbid_random(cupy: Any) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise NotImplementedError(_RANDOM)

    for name in dir(cupy.random):
        if not name.startswith("_") and callable(getattr(cupy.random, name)):
            setattr(cupy.random, name, refuse)

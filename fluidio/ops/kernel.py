"""The arguments of a kernel besides its arrays: attributes, the array library, LoDs, scratch memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from fluidio.errors import EnforceNotMet
from fluidio.ops.frame import SubBlock
from fluidio.tensor import LoDTensorArray, SelectedRows
from fluidio.tensor.add_rows import add_rows
from fluidio.tensor.array import Array, ArrayLibrary
from fluidio.tensor.lod import NO_LOD, LoD

__all__ = ["NEVER", "Backend", "Call", "KernelResult", "NumpyBackend", "put_along_axis"]


_LINE = 64  # bytes of a cache line

NEVER = -1 << 62
"""The value of `ignore` in `check_range` if no id is ignored."""


KernelOutput = Array | SelectedRows | LoDTensorArray | list[Array] | None
KernelResult = KernelOutput | tuple[KernelOutput, ...] | list[KernelOutput] | dict[str, KernelOutput]
"""The result of a kernel: the value of its output, or of its outputs in order or by slot."""


class Backend(Protocol):
    """The array library of one place, and the few operations that differ between libraries."""

    xp: ArrayLibrary
    is_gpu: bool
    kernels: Mapping[str, Callable[..., Any]]
    """Op types for which this backend has its own kernel."""

    def owns(self, array: Array) -> bool: ...

    def upload(self, array: Any) -> Any: ...

    def download(self, array: Array | None) -> Any: ...

    def fetch(self, arrays: Sequence[Array]) -> list[Array]: ...

    def active(self) -> AbstractContextManager[Any]: ...

    def check_range(self, ids: Array, limit: int, ignore: int, op: Any) -> None: ...

    def scatter_add(self, target: Array, index: Array, values: Array) -> None: ...


class NumpyBackend:
    """The host."""

    xp: ArrayLibrary = cast(ArrayLibrary, np)
    is_gpu = False
    kernels: Mapping[str, Callable[..., Any]] = {}

    def owns(self, array: Array) -> bool:
        """Return whether the array lives here."""
        return isinstance(array, np.ndarray)

    def upload(self, array: Any) -> Any:
        """Return the array on the host."""
        return array.get() if hasattr(array, "__cuda_array_interface__") else np.asarray(array)

    def download(self, array: Array | None) -> Any:
        return array

    def fetch(self, arrays: Sequence[Array]) -> list[Array]:
        """Return several arrays on the host with one wait."""
        return list(arrays)

    def active(self) -> AbstractContextManager[Any]:
        """Return a context in which work goes to this device."""
        return nullcontext()

    def check_range(self, ids: Array, limit: int, ignore: int, op: Any) -> None:
        """Raise for ids outside [0, limit) other than `ignore`."""
        if not ids.size:
            return
        if ids.max() >= limit or ids.min() < 0:
            bad = ids[((ids >= limit) | (ids < 0)) & (ids != ignore)]
            if bad.size:
                raise EnforceNotMet(
                    f"label {bad.reshape(-1)[0]} is out of range: the input has {limit} classes, 0 ... {limit - 1}"
                )

    def scatter_add(self, target: Array, index: Array, values: Array) -> None:
        """Add `values[i]` to `target[index[i]]` for every i, repeats included (first axis)."""
        add_rows(target, index, values)


def put_along_axis(xp: ArrayLibrary | ModuleType, target: Array, index: Array, values: Array, axis: int) -> None:
    """Like NumPy's function of this name, but also for CuPy 13, which lacks it."""
    if hasattr(xp, "put_along_axis"):
        xp.put_along_axis(target, index, values, axis)
        return
    axis %= target.ndim
    places = [xp.arange(n).reshape(-1, *(1,) * (target.ndim - 1 - d)) for d, n in enumerate(target.shape)]
    places[axis] = index
    target[tuple(places)] = values


class Call:
    """One bound op of a plan.

    Attributes:
        attrs: the op's attributes, defaults filled in.
        xp: numpy or cupy.
        dev: the backend (`scatter_add`, `upload`, `download`).
        lods: for ops with lod="kernel": input slot -> LoD (a list of LoDs for a `many` slot); set before each call.
        out_lods: for those ops: output slot -> LoD (or list of LoDs), to be set by the kernel.
        state: a dict that lives as long as the plan.
        ins, outs: slot -> positions in the frame, for raw ops.
        blocks: attribute name -> runnable sub-block, for raw ops.
    """

    __slots__ = ("attrs", "blocks", "dev", "ins", "lods", "op", "out_lods", "outs", "state", "wanted", "xp")

    def __init__(self, op: Any, attrs: dict[str, Any], dev: Backend, wanted: frozenset[str]) -> None:
        self.op = op
        self.attrs = attrs
        self.dev = dev
        self.xp = dev.xp
        self.wanted = wanted
        self.lods: dict[str, Any] = {}
        self.out_lods: dict[str, Any] = {}
        self.state: dict[Any, Any] = {}
        self.ins: dict[str, list[int]] = {}
        self.outs: dict[str, list[int]] = {}
        self.blocks: dict[str, SubBlock] = {}

    def wants(self, slot: str) -> bool:
        """Return whether this output is used."""
        return slot in self.wanted

    def lod(self, slot: str) -> LoD:
        """Return the LoD of an input (of a "kernel" LoD op)."""
        lod: LoD = self.lods.get(slot) or NO_LOD
        return lod

    def scratch(self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Return memory that the next call reuses; never return it as a result."""
        key = ("scratch", name)
        buffer = self.state.get(key)
        size = math.prod(shape)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            buffer = self.state[key] = self.empty((size,), dtype)
        return buffer[:size].reshape(shape)

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Return fresh memory aligned to a cache line: short ufunc calls on it take half the time."""
        if self.dev.is_gpu:
            return self.xp.empty(shape, dtype)
        size = math.prod(shape) * np.dtype(dtype).itemsize
        buffer = np.empty(size + _LINE, np.uint8)
        start = -buffer.ctypes.data % _LINE
        return buffer[start : start + size].view(dtype).reshape(shape)

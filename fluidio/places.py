"""Where tensors live and programs run: CPUPlace, CUDAPlace(i), CUDAPinnedPlace."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence

from fluidio.errors import DeviceError, EnforceNotMet

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "Place",
    "PlaceLike",
    "cpu_places",
    "cuda_pinned_places",
    "cuda_places",
    "get_cuda_device_count",
    "is_compiled_with_cuda",
    "use_cpu_for_cuda",
]

_cuda_means_cpu = False


def use_cpu_for_cuda(on: bool) -> None:
    """Run every CUDA place on the CPU (`fluidio run --device cpu`)."""
    global _cuda_means_cpu
    _cuda_means_cpu = on


def cuda_means_cpu() -> bool:
    """Return whether CUDA places mean the CPU in this process."""
    return _cuda_means_cpu


class _PlaceBase:
    _kind = -1

    def _type(self) -> int:
        return self._kind

    def _equals(self, other: object) -> bool:
        return self == other

    def is_cpu_place(self) -> bool:
        return isinstance(self, CPUPlace)

    def is_gpu_place(self) -> bool:
        return isinstance(self, CUDAPlace)

    def is_cuda_pinned_place(self) -> bool:
        return isinstance(self, CUDAPinnedPlace)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self).__name__, *self.__dict__.values()))

    def __repr__(self) -> str:
        return type(self).__name__


class CPUPlace(_PlaceBase):
    """The host's memory and its NumPy."""

    _kind = 1


class CUDAPlace(_PlaceBase):
    """GPU number `device`.

    fluidio looks for the card when the place is used, not when it is created, so that a script can build its
    program anywhere; `Executor(CUDAPlace(0))` on a machine without a GPU says what to do.
    """

    _kind = 0

    def __init__(self, device: int = 0) -> None:
        self.device = operator.index(device)
        if self.device < 0:
            raise EnforceNotMet(
                f"CUDAPlace({device}): there is no such GPU; the number must lie in 0 ... "
                f"{max(get_cuda_device_count(), 1) - 1}"
            )

    def get_device_id(self) -> int:
        return self.device

    def __repr__(self) -> str:
        return f"CUDAPlace({self.device})"


class CUDAPinnedPlace(_PlaceBase):
    """Page-locked host memory, from which copies to a GPU run asynchronously."""

    _kind = 2


class Place:
    """Fluid's tagged union of places (`core.Place`)."""

    def __init__(self) -> None:
        self._place: _PlaceBase | None = None

    def set_place(self, place: PlaceLike) -> None:
        if isinstance(place, (str, int)):
            raise TypeError(f"set_place() takes a place such as fluid.CPUPlace(), got {place!r}")
        self._place = place._place if isinstance(place, Place) else place

    def is_cpu_place(self) -> bool:
        return isinstance(self._place, CPUPlace)

    def is_gpu_place(self) -> bool:
        return isinstance(self._place, CUDAPlace)

    def is_cuda_pinned_place(self) -> bool:
        return isinstance(self._place, CUDAPinnedPlace)

    def _type(self) -> int:
        return unwrap(self)._type()

    def _equals(self, other: object) -> bool:
        return self._place == (other._place if isinstance(other, Place) else other)

    def gpu_device_id(self) -> int:
        if not isinstance(self._place, CUDAPlace):
            raise EnforceNotMet(f"{self._place} is not a CUDAPlace")
        return self._place.device

    def __repr__(self) -> str:
        return f"Place({self._place})"


PlaceLike = CPUPlace | CUDAPlace | CUDAPinnedPlace | Place


def unwrap(place: object) -> _PlaceBase:
    """Return the concrete place behind a Place, a place, or a string such as 'cpu', 'gpu:0', 'cuda:1'."""
    if isinstance(place, Place):
        place = place._place
    if isinstance(place, _PlaceBase):
        return place
    if isinstance(place, str):
        kind, _, index = place.lower().partition(":")
        if kind == "cpu":
            return CPUPlace()
        if kind in ("gpu", "cuda") and (index or "0").isdecimal():
            return CUDAPlace(int(index or 0))
    raise TypeError(f"expected a place such as fluid.CPUPlace() or 'cpu', got {place!r}")


def is_compiled_with_cuda() -> bool:
    """Return whether a GPU can be used here: CuPy is installed and sees a device.

    Fluid: the answer was about the build; scripts use it to choose `CUDAPlace(0)`, so here it is about this machine.
    """
    return not _cuda_means_cpu and get_cuda_device_count() > 0


def get_cuda_device_count() -> int:
    """Return the number of GPUs that CuPy sees; 0 without CuPy or a driver."""
    if _cuda_means_cpu:
        return 0
    try:
        import cupy
    except ImportError:
        return 0
    try:
        return int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0


def cpu_places(device_count: int | None = None) -> list[CPUPlace]:
    """Return `device_count` CPU places; by default the number in CPU_NUM, else 1.

    Fluid: until 1.5 the default was the number of cores, so that a program's batches depended on the machine.
    """
    count = (_numbers("CPU_NUM", "1") or [0])[0] if device_count is None else device_count
    if count < 1:
        raise ValueError(
            f"cpu_places needs at least one place, got {count} (device_count, or CPU_NUM in the environment)"
        )
    return [CPUPlace() for _ in range(count)]


def _numbers(name: str, default: str) -> list[int]:
    """Return the comma-separated whole numbers in an environment variable."""
    text = os.environ.get(name) or default
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ValueError(f"{name}={text!r}: expected whole numbers separated by commas") from None


def cuda_places(device_ids: Sequence[int] | int | None = None) -> list[CUDAPlace] | list[CPUPlace]:
    """Return CUDA places: the ids given, else FLAGS_selected_gpus, else every device.

    Under `--device cpu` they are CPU places.
    """
    if isinstance(device_ids, int):
        device_ids = [device_ids]
    if device_ids is None:
        device_ids = _numbers("FLAGS_selected_gpus", "") or range(get_cuda_device_count())
    if _cuda_means_cpu:
        return [CPUPlace() for _ in device_ids or [0]]
    if not device_ids:
        raise DeviceError(
            f"cuda_places(): {_why_no_device()}; run on the CPU with `--device cpu`, or use fluid.cpu_places()"
        )
    return [CUDAPlace(i) for i in device_ids]


def _why_no_device() -> str:
    try:
        import cupy  # noqa: F401
    except ImportError:
        return "CuPy is missing: pip install 'fluidio[cuda12]', or 'fluidio[cuda13]' for a CUDA 13 driver"
    return "no CUDA device is visible"


def cuda_pinned_places(device_count: int | None = None) -> list[CUDAPinnedPlace]:
    """Return `device_count` pinned places; by default the number in CPU_NUM, else 1."""
    return [CUDAPinnedPlace() for _ in cpu_places(device_count)]

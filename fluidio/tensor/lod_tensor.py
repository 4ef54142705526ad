"""LoDTensor: an array, its LoD, and Fluid's Python API over both."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import DTypeLike, VarType, to_numpy, to_vartype
from fluidio.era import era
from fluidio.errors import EnforceNotMet
from fluidio.places import CPUPlace, CUDAPinnedPlace, CUDAPlace, PlaceLike, cuda_means_cpu, unwrap
from fluidio.tensor import lod as lod_math
from fluidio.tensor.array import Array
from fluidio.tensor.lod import NO_LOD, LoD

__all__ = ["LoDTensor", "Tensor", "from_uint16"]

_ALWAYS_KEPT = frozenset("?bBilqfd")  # dtype characters that set() keeps in every version
_KEPT = _ALWAYS_KEPT | frozenset("he")  # int16 and float16 became float32 until 1.5: only a strict old era does that
_CPP_NAMES = {"bool": "bool", "int32": "int", "float32": "float", "float64": "double"}
_CPP_NAMES["float16"] = "::paddle::platform::float16"


class LoDTensor:
    """A tensor whose rows may be grouped into sequences.

    `array` is the NumPy or CuPy array (None while unset), `levels` the LoD as offsets; both are for fluidio's own
    code and hold no copies. Everything else is Fluid's API.
    """

    __slots__ = ("__weakref__", "array", "dims", "levels")

    def __init__(self, lod: Sequence[Sequence[int]] | None = None) -> None:
        self.array: Any = None
        self.levels: LoD = NO_LOD
        if lod is None:
            return
        if era().lod_constructor_takes_offsets:
            self.levels = lod_math.from_offsets(lod)
        else:
            self.set_recursive_sequence_lengths(lod)

    @classmethod
    def wrap(cls, array: object, levels: LoD = NO_LOD) -> LoDTensor:
        """Return a tensor over `array` without copying or checking."""
        tensor = cls.__new__(cls)
        tensor.array = array
        tensor.levels = levels
        return tensor

    # -- data ---------------------------------------------------------------------------------------------------

    def set(self, array: Any, place: PlaceLike | None = None, zero_copy: bool = False) -> None:
        """Copy `array` into the tensor and keep the LoD.

        Fluid: uint16 becomes float16: until 1.5 it holds the bits, in 1.8 the numbers. Until 1.5 lists, int16, float16
        and everything else NumPy can convert become float32; 1.8 keeps int16 and float16, converts a list as NumPy
        does, and refuses the rest.
        """
        host = array if hasattr(array, "__cuda_array_interface__") else _as_settable(array)
        concrete = CPUPlace() if place is None else unwrap(place)
        if isinstance(concrete, CUDAPlace) and not cuda_means_cpu():
            from fluidio.tensor.transfer import upload

            self.array = upload(host, concrete.device)
        elif isinstance(concrete, CUDAPinnedPlace) and not cuda_means_cpu():
            from fluidio.tensor.transfer import pinned_copy

            self.array = pinned_copy(_to_host(host))
        elif zero_copy and isinstance(host, np.ndarray) and host.flags.c_contiguous:
            self.array = host
        else:
            self.array = np.array(_to_host(host), order="C", copy=True)

    def shape(self) -> list[int]:
        return list(getattr(self, "dims", (0,)) if self.array is None else self.array.shape)

    def _dtype(self) -> VarType:
        return VarType.FP32 if self.array is None else to_vartype(self.array.dtype)

    dtype = _dtype

    def _get_dims(self) -> list[int]:
        return self.shape()

    def _set_dims(self, dims: Sequence[int]) -> None:
        if self.array is None:
            self.dims = tuple(dims)
        elif self.array.size == int(np.prod(dims)):
            self.array = self.array.reshape(dims)
        else:
            self.array = np.zeros(dims, self.array.dtype)

    get_dims = _get_dims
    set_dims = _set_dims

    def _place(self) -> CPUPlace | CUDAPlace:
        if self.array is None or isinstance(self.array, np.ndarray):
            return CPUPlace()
        return CUDAPlace(self.array.device.id)

    def _is_initialized(self) -> bool:
        return self.array is not None

    def _alloc_float(self, place: PlaceLike | None = None) -> None:
        self._alloc(np.float32)

    def _alloc_double(self, place: PlaceLike | None = None) -> None:
        self._alloc(np.float64)

    def _alloc_int(self, place: PlaceLike | None = None) -> None:
        self._alloc(np.int32)

    def _alloc(self, dtype: DTypeLike) -> None:
        self.array = np.zeros(self.shape(), to_numpy(dtype))

    def _mutable_data(self, place: PlaceLike, dtype: VarType) -> int:
        """Allocate memory for the tensor's dims and return its address."""
        if self.array is None or self.array.dtype != to_numpy(dtype):
            self._alloc(dtype)
        array: Any = self.array
        return int(array.ctypes.data)

    def _set_layout(self, layout: str) -> None:
        """Do nothing: the op that reads the tensor decides its layout."""

    def _get_float_element(self, index: int) -> float:
        return float(self._flat(index, np.float32)[index])

    def _set_float_element(self, index: int, value: float) -> None:
        self._flat(index)[index] = value

    def _flat(self, index: int, dtype: DTypeLike | None = None) -> Any:
        flat = self.held_array().reshape(-1)
        if dtype is not None and flat.dtype != np.dtype(to_numpy(dtype)):
            raise EnforceNotMet(f"the tensor holds {flat.dtype}, not {np.dtype(to_numpy(dtype))}")
        if not 0 <= index < flat.size:
            raise EnforceNotMet(f"element {index} does not exist: the tensor has {flat.size} elements")
        return flat

    _set_double_element = _set_float_element

    def _get_double_element(self, index: int) -> float:
        return float(self._flat(index, np.float64)[index])

    def _share_data_with(self, other: LoDTensor) -> None:
        self.array = other.held_array()

    def _copy(self, place: PlaceLike | None = None) -> LoDTensor:
        copied = LoDTensor()
        copied.set(self.array, place)
        copied.levels = self.levels
        return copied

    def _clear(self) -> None:
        """Give up the data; the dims stay."""
        self.dims = tuple(self.shape())
        self.array = None
        self.levels = NO_LOD

    # -- LoD ----------------------------------------------------------------------------------------------------

    def lod(self) -> list[list[int]]:
        """Return the LoD as offsets."""
        return lod_math.to_lists(self.levels)

    def set_lod(self, lod: Sequence[Sequence[int]]) -> None:
        """Set the LoD from offsets; EnforceNotMet when it does not fit the rows."""
        self._set_levels(lod_math.from_offsets(lod), "lod")

    def recursive_sequence_lengths(self) -> list[list[int]]:
        """Return the LoD as lengths."""
        return lod_math.to_lengths(self.levels)

    def set_recursive_sequence_lengths(self, recursive_sequence_lengths: Sequence[Sequence[int]]) -> None:
        """Set the LoD from lengths; EnforceNotMet when it does not fit the rows."""
        self._set_levels(lod_math.from_lengths(recursive_sequence_lengths), "recursive_sequence_lengths")

    def _set_levels(self, levels: LoD, what: str) -> None:
        wrong = lod_math.problem(levels, self._rows())
        if wrong and not (what == "lod" and era().lod_constructor_takes_offsets):
            raise EnforceNotMet(f"the new {what} does not fit the tensor: {wrong}")
        self.levels = levels

    def has_valid_recursive_sequence_lengths(self) -> bool:
        return lod_math.is_valid(self.levels, self._rows())

    def _rows(self) -> int | None:
        return None if self.array is None or self.array.ndim == 0 else int(self.array.shape[0])

    # -- exchange with other libraries --------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        data = np.empty(0) if self.array is None else self.array  # Fluid: a tensor without data is an empty list
        host = _to_host(data)
        if copy is False and host is not data:
            raise ValueError("a tensor on the GPU cannot become a NumPy array without a copy")
        if dtype is not None and host.dtype != dtype:
            if copy is False:
                raise ValueError(f"{host.dtype} cannot become {np.dtype(dtype)} without a copy")
            return host.astype(dtype)
        return host.copy() if copy and host is data else host

    def __dlpack__(self, **options: object) -> Any:
        return self.held_array().__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.held_array().__dlpack_device__()

    def _to_dlpack(self) -> Any:
        return self.held_array().__dlpack__()

    def held_array(self) -> Any:
        if self.array is None:
            raise EnforceNotMet("the tensor holds no data yet: set() it, or run the program that writes it")
        return self.array

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.array.__cuda_array_interface__  # AttributeError for a host array, as the protocol wants

    def __getitem__(self, index: Array) -> LoDTensor:
        """Index with whole numbers and slices; the result has no LoD.

        Fluid: a whole number keeps its dim, with size 1; negative numbers, which gave zeros, count from the end here.
        """
        data = self.held_array()
        keys = index if isinstance(index, tuple) else (index,)
        if len(keys) > data.ndim:
            raise IndexError(f"{len(keys)} indices for a tensor of {data.ndim} dimensions")
        return LoDTensor.wrap(data[tuple([_as_slice(key, size) for key, size in zip(keys, data.shape)])])

    def __len__(self) -> int:
        return 0 if self.array is None else len(self.array)

    def __getstate__(self) -> tuple[Any, list[list[int]]]:
        return (None if self.array is None else _to_host(self.array)), self.lod()

    def __setstate__(self, state: tuple[Any, list[list[int]]]) -> None:
        self.array = state[0]
        self.levels = lod_math.from_offsets(state[1])

    def __repr__(self) -> str:
        if self.array is None:
            return "LoDTensor(unset)"
        lod = f", lod={self.lod()}" if self.levels else ""
        return f"LoDTensor(shape={self.shape()}, dtype={self.array.dtype}{lod})\n{_to_host(self.array)}"

    def __str__(self) -> str:
        """Return what Fluid 1.8 prints: LoD, dimensions, the C++ name of the dtype, all elements."""
        if self.array is None:
            return repr(self)
        lod = "".join("{" + ", ".join(map(str, level)) + "}" for level in self.lod())
        name = str(self.array.dtype)
        data = " ".join([f"{element:g}" for element in _to_host(self.array).reshape(-1).tolist()])
        return (
            f"\tlod: {{{lod}}}\n\tdim: {', '.join(map(str, self.shape()))}\n\tlayout: NCHW\n"
            f"\tdtype: {_CPP_NAMES.get(name, name + '_t')}\n\tdata: [{data}]\n"
        )


Tensor = LoDTensor


def _to_host(array: Any) -> Array:
    """Return a NumPy array: the same one, or a copy from the GPU."""
    return np.asarray(array) if isinstance(array, (np.ndarray, np.generic)) else array.get()


def from_uint16(host: Array) -> Array:
    """Convert uint16 to float16: by its bits in older eras, by its numbers in 1.8."""
    return host.view(np.float16) if era().uint16_holds_bits else host.astype(np.float16)


def _as_settable(given: object) -> Array:
    """Return `given` as an array of a dtype that a tensor can hold in this era."""
    try:
        host = np.asarray(given)
    except ValueError as error:
        raise EnforceNotMet(f"LoDTensor.set: the data are ragged, so they cannot form one tensor: {error}") from error
    if host.dtype == np.uint16:
        return from_uint16(host)
    if not host.dtype.isnative:
        host = host.astype(host.dtype.newbyteorder("="))
    casts = era().tensor_set_casts_to_float32
    kept = _ALWAYS_KEPT if casts and era().strict else _KEPT
    if host.dtype.char in kept and not (casts and isinstance(given, (list, tuple))):
        return host
    if isinstance(given, LoDTensor):
        return host
    if casts and host.dtype.kind in "biuf":
        return host.astype(np.float32)
    raise EnforceNotMet(
        "LoDTensor.set takes bool, float16, float32, float64, int8, int16, int32, int64 or uint8; got "
        f"{host.dtype} from {type(given).__name__}"
    )


def _as_slice(key: Any, size: int) -> slice:
    if isinstance(key, slice):
        return key
    try:
        number = operator.index(key)
    except TypeError:
        raise IndexError(f"a tensor is indexed by whole numbers and slices, not by {type(key).__name__}") from None
    if not -size <= number < size:
        raise IndexError(f"index {number} is outside a dimension of size {size}")
    return slice(number % size, number % size + 1)

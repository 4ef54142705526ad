"""The byte form of LoDTensors: records, variable files and checkpoints all use it.

    u32 0, u64 levels, levels x { u64 nbytes, offsets as u64 },
    u32 0, i32 desc_size, TensorDesc as protobuf { data_type = 1, dims = 2 }, raw data

A RecordIO record is a u32 count followed by that many of them. Numbers are little-endian.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fluidio.dtypes import VarType, to_numpy, to_vartype
from fluidio.recordio.format.compressors import Bytes, CodecError
from fluidio.tensor.array import Array, DType
from fluidio.tensor.lod import NO_LOD, LoD
from fluidio.varint import read_varint, varint

__all__ = [
    "MOST_EMPTY",
    "TENSOR_DTYPES",
    "TensorHead",
    "decode_record",
    "decode_tensor",
    "encode_desc",
    "encode_record",
    "encode_tensor",
    "parse_head",
    "raw_data",
    "tensor_prefix",
]


_u32 = struct.Struct("<I")
_u64 = struct.Struct("<Q")
_version_levels = struct.Struct("<IQ")
_version_size = struct.Struct("<Ii")
_NO_LOD_HEAD = bytes(12)
_DATA_TYPES = {
    int(kind): to_numpy(kind).newbyteorder("<")
    for kind in VarType
    if kind <= VarType.FP64 or kind in (VarType.UINT8, VarType.INT8)
}
TENSOR_DTYPES = frozenset(dtype.newbyteorder("=") for dtype in _DATA_TYPES.values())
"""The dtypes that survive a round trip. (Fluid also accepted uint16 but returned int16.)"""
_MAX_RANK = 32
MOST_EMPTY = (1 << 31) - 1
"""The limit of the product of the other dims if one is 0, which nothing in the file bounds."""
_USUAL_DESC = 64  # bytes; longer ones are not worth remembering


class TensorHead(NamedTuple):
    """The head of a tensor: its LoD, dtype, dims, and where the data begins and ends."""

    lod: LoD
    dtype: np.dtype[Any]
    dims: tuple[int, ...]
    start: int
    stop: int


# -- encode -----------------------------------------------------------------------------------------------------------


def encode_desc(dtype: npt.DTypeLike, dims: Sequence[int]) -> bytes:
    """Return the TensorDesc bytes, dims unpacked as Fluid wrote them."""
    kind = to_vartype(np.dtype(dtype).newbyteorder("="))
    return b"\x08" + varint(int(kind)) + b"".join(b"\x10" + varint(dim) for dim in dims)


@functools.lru_cache(maxsize=4096)
def _without_lod(dtype: DType, dims: tuple[int, ...]) -> bytes:
    desc = encode_desc(dtype, dims)
    return _NO_LOD_HEAD + _version_size.pack(0, len(desc)) + desc


def tensor_prefix(dtype: DType, dims: tuple[int, ...], lod: LoD = NO_LOD) -> bytes:
    """Return all bytes of a tensor before its data."""
    if not lod:
        return _without_lod(dtype, dims)
    parts = [_version_levels.pack(0, len(lod))]
    for level in lod:
        offsets = np.ascontiguousarray(level, "<i8").tobytes()
        parts += [_u64.pack(len(offsets)), offsets]
    parts.append(_without_lod(dtype, dims)[len(_NO_LOD_HEAD) :])
    return b"".join(parts)


def encode_tensor(array: Array, lod: LoD = NO_LOD) -> bytes:
    """Return one LoDTensor as the `save` op writes it."""
    return tensor_prefix(array.dtype, array.shape, lod) + raw_data(array)


def raw_data(array: Array) -> bytes:
    """Return an array's data in C order, little-endian."""
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return array.tobytes()


def encode_record(tensors: Sequence[tuple[Array, LoD]]) -> bytes:
    """Return one RecordIO record of (array, LoD) pairs."""
    parts = [_u32.pack(len(tensors))]
    for array, lod in tensors:
        parts.append(tensor_prefix(array.dtype, array.shape, lod))
        parts.append(raw_data(array))
    return b"".join(parts)


# -- decode -----------------------------------------------------------------------------------------------------------


def parse_head(data: Bytes, offset: int = 0, end: int | None = None) -> TensorHead:
    """Parse everything before a tensor's data and check that the data is there.

    Raises:
        CodecError: versions, LoD or TensorDesc are wrong, or the bytes run out.
    """
    end = len(data) if end is None else end
    version, levels = _unpack(_version_levels, data, offset, end, "LoDTensor head")
    if version != 0:
        raise CodecError(f"the LoDTensor at +{offset} has version {version}; fluidio reads version 0")
    position = offset + 12
    if levels > (end - position) // 8:
        raise CodecError(f"{levels} LoD levels at +{offset} are more than {end - position} bytes can hold")
    lod = []
    for _ in range(levels):
        (nbytes,) = _unpack(_u64, data, position, end, "LoD level")
        position += 8
        if nbytes % 8 or nbytes > end - position:
            raise CodecError(f"a LoD level at +{position} claims {nbytes} bytes, but {end - position} are left")
        lod.append(np.frombuffer(data, "<i8", nbytes // 8, position).astype(np.int64))
        position += nbytes
    version, desc_size = _unpack(_version_size, data, position, end, "tensor head")
    if version != 0:
        raise CodecError(f"the tensor at +{position} has version {version}; fluidio reads version 0")
    position += 8
    if not 0 <= desc_size <= end - position:
        raise CodecError(f"the TensorDesc at +{position} claims {desc_size} bytes, but {end - position} are left")
    desc = bytes(data[position : position + desc_size])
    try:
        dtype, dims = _parse_desc(desc) if desc_size <= _USUAL_DESC else _parse_desc.__wrapped__(desc)
    except CodecError as error:
        raise CodecError(f"the TensorDesc at +{position} {error}: {desc[:40].hex(' ')}") from None
    position += desc_size
    nbytes = dtype.itemsize
    for dim in dims:
        nbytes *= dim
    if not nbytes and math.prod([dim for dim in dims if dim]) > MOST_EMPTY:
        raise CodecError(f"tensor of shape {dims} at +{position}: more than {MOST_EMPTY} items of no bytes")
    if nbytes > end - position:
        raise CodecError(
            f"a tensor of shape {dims} {dtype.name} at +{position} needs {nbytes} bytes, but {end - position} are left"
        )
    return TensorHead(tuple(lod), dtype, dims, position, position + nbytes)


def decode_tensor(data: Bytes, offset: int = 0, end: int | None = None) -> tuple[Array, LoD, int]:
    """Return (array, LoD, offset after it) of the LoDTensor at `offset`; the array is a copy."""
    head = parse_head(data, offset, end)
    try:
        count = (head.stop - head.start) // head.dtype.itemsize
        array = np.frombuffer(data, head.dtype, count, head.start).reshape(head.dims).copy()
    except ValueError as error:  # a zero among dims too large for NumPy
        raise CodecError(f"tensor of shape {head.dims} at +{offset}: {error}") from error
    return array, head.lod, head.stop


def decode_record(data: Bytes, start: int = 0, end: int | None = None) -> tuple[list[tuple[Array, LoD]], int]:
    """Return the tensors of the record in data[start:end] and the offset where they end."""
    end = len(data) if end is None else end
    (count,) = _unpack(_u32, data, start, end, "number of tensors")
    if count > (end - start) // 20:
        raise CodecError(f"a record of {end - start} bytes claims {count} tensors")
    position = start + 4
    tensors = []
    for _ in range(count):
        array, lod, position = decode_tensor(data, position, end)
        tensors.append((array, lod))
    return tensors, position


def _unpack(form: struct.Struct, data: Bytes, offset: int, end: int, what: str) -> tuple[int, ...]:
    if offset + form.size > end:
        raise CodecError(f"{what} at +{offset} needs {form.size} bytes, but {end - offset} are left")
    return form.unpack_from(data, offset)


@functools.lru_cache(maxsize=1024)  # most tensors of a file have a shape that was seen before
def _parse_desc(desc: bytes) -> tuple[DType, tuple[int, ...]]:
    """Return dtype and dims; fields may come in any order, dims packed or not, unknown fields are skipped."""
    dtype: np.dtype[Any] | None = None
    dims: list[int] = []
    position = 0
    try:
        while position < len(desc):
            key, position = read_varint(desc, position, len(desc))
            field, wire = key >> 3, key & 7
            if wire == 0:
                value, position = read_varint(desc, position, len(desc))
                if field == 1:
                    dtype = _DATA_TYPES.get(value, dtype)
                elif field == 2:
                    dims.append(value)
            elif wire == 2:
                size, position = read_varint(desc, position, len(desc))
                stop = position + size
                if stop > len(desc):
                    raise IndexError
                while field == 2 and position < stop:
                    value, position = read_varint(desc, position, len(desc))
                    dims.append(value)
                if field == 2 and position != stop:
                    raise IndexError
                position = stop
            elif wire in (1, 5):
                position += 8 if wire == 1 else 4
                if position > len(desc):
                    raise IndexError
            else:
                raise IndexError
    except IndexError:
        raise CodecError("cannot be parsed") from None
    if dtype is None:
        raise CodecError("names no data type that a tensor can hold")
    if any(dim >= 1 << 63 for dim in dims):
        shown = tuple(dim - (1 << 64) if dim >> 63 else dim for dim in dims)
        raise CodecError(f"has negative dims {shown}")
    if len(dims) > _MAX_RANK:
        raise CodecError(f"has {len(dims)} dims")
    return dtype, tuple(dims)

"""TFRecord files of tf.train.Example, read and written without TensorFlow.

Integers go to int64_list, float16 and float32 to float_list, bytes (and dense uint8 arrays) to bytes_list; float64 has
no list of its own and is stored as raw bytes. A list of strings is a bytes_list of several; other levels of sequences
beyond the first are stored in `NAME/lod_0`, ..., and so is the number of rows that hold no items.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.conversion import storage
from fluidio.conversion.formats.members import check_members
from fluidio.conversion.formats.records import Record, blocks_of, check_names, converted, records_of, shaped
from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import RecordBlock
from fluidio.recordio.files.named import strings
from fluidio.recordio.files.schema import Field, RowsVaryError
from fluidio.recordio.format.checksum import masked_crc32c
from fluidio.tensor.array import Array
from fluidio.varint import read_varint, varint

__all__ = ["parse_example", "read", "read_records", "write"]

_head = struct.Struct("<QI")
_crc = struct.Struct("<I")


# -- frames ------------------------------------------------------------------------------------------------------------


def read_records(path: str) -> Iterator[bytes]:
    """Yield the records of a TFRecord file, checksums verified."""
    left = storage.size(path)
    with storage.opened(path) as file:
        number = 0
        while head := file.read(12):
            left -= 12
            if len(head) < 12:
                raise ConversionError(f"{path}: record {number}: the file ends inside a record")
            length, crc = _head.unpack(head)
            if masked_crc32c(head[:8]) != crc:
                raise ConversionError(
                    f"{path}: record {number}: the checksum of its length is wrong; is this a TFRecord file?"
                )
            if length + 4 > left:
                raise ConversionError(f"{path}: record {number} claims {length} bytes, but only {left} are left")
            data = file.read(length)
            (crc,) = _crc.unpack(file.read(4))
            left -= length + 4
            if masked_crc32c(data) != crc:
                raise ConversionError(f"{path}: record {number}: the checksum of its data is wrong")
            yield data
            number += 1


def frame(data: bytes) -> bytes:
    """Return a record with lengths and checksums around it."""
    length = struct.pack("<Q", len(data))
    return b"".join([length, _crc.pack(masked_crc32c(length)), data, _crc.pack(masked_crc32c(data))])


# -- tf.train.Example --------------------------------------------------------------------------------------------------


def varints(values: npt.NDArray[np.int64]) -> bytes:
    """Return numbers as packed varints."""
    numbers = values.astype(np.int64).view(np.uint64)
    if not len(numbers) or int(numbers.max()) < 0x80:
        return numbers.astype(np.uint8).tobytes()
    shifts = np.arange(10, dtype=np.uint64) * np.uint64(7)
    groups = (numbers[:, None] >> shifts).astype(np.uint64)
    used = np.maximum((groups != 0).sum(axis=1), 1)
    digits = (groups & np.uint64(0x7F)).astype(np.uint8)
    place = np.arange(10)
    digits[place < used[:, None] - 1] |= 0x80
    packed: npt.NDArray[np.uint8] = digits[place < used[:, None]]
    return packed.tobytes()


def read_varints(data: bytes) -> npt.NDArray[np.int64]:
    """Return the numbers in packed varints."""
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw < 0x80)
    if len(raw) and (not len(ends) or ends[-1] != len(raw) - 1):
        raise ConversionError("an int64_list ends inside a number")
    if len(ends) == len(raw):
        return raw.astype(np.int64)
    starts = np.concatenate([[0], ends[:-1] + 1])
    if int((ends - starts).max()) > 9:
        raise ConversionError("a number of an int64_list has more than ten bytes")
    place = np.arange(len(raw)) - np.repeat(starts, ends - starts + 1)
    parts = (raw & 0x7F).astype(np.uint64) << (place.astype(np.uint64) * np.uint64(7))
    return np.bitwise_or.reduceat(parts, starts).view(np.int64)


def _field(number: int, data: bytes) -> bytes:
    return b"".join([bytes([number << 3 | 2]), varint(len(data)), data])


def _feature(name: str, kind: int, data: bytes) -> bytes:
    """Return a map entry: kind 1 is bytes, 2 float, 3 int64; `data` are the list's values."""
    return _field(1, _field(1, name.encode()) + _field(2, _field(kind, _field(1, data))))


def _features_of_strings(name: str, values: list[bytes]) -> bytes:
    return _field(1, _field(1, name.encode()) + _field(2, _field(1, b"".join(_field(1, value) for value in values))))


def example(features: list[bytes]) -> bytes:
    """Return a tf.train.Example of encoded features."""
    return _field(1, b"".join(features))


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Yield (field, wire type, value) of a message."""
    position = 0
    while position < len(data):
        key, position = _read_varint(data, position)
        field, wire = key >> 3, key & 7
        if wire == 0:
            value, position = _read_varint(data, position)
            yield field, wire, value
            continue
        if wire == 2:
            size, position = _read_varint(data, position)
        else:
            size = {1: 8, 5: 4}.get(wire, -1)
        if size < 0 or position + size > len(data):
            raise ConversionError("a record is not a tf.train.Example")
        yield field, wire, data[position : position + size]
        position += size


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    try:
        return read_varint(data, position, len(data))
    except IndexError:
        raise ConversionError("a record is not a tf.train.Example") from None


def parse_example(data: bytes) -> dict[str, Any]:
    """Return the features of a tf.train.Example: lists of bytes, or arrays of float32 or int64.

    Raises:
        ConversionError: the bytes are something else.
    """
    out: dict[str, Any] = {}
    try:
        for _, _, features in _fields(data):
            for _, _, entry in _fields(features):
                parts = {field: value for field, _, value in _fields(entry)}
                out[parts.get(1, b"").decode()] = _values(parts.get(2, b""))
    except (TypeError, ValueError, AttributeError) as error:  # a number where a message should be, and the like
        raise ConversionError(f"a record is not a tf.train.Example: {error}") from error
    return out


def _values(feature: bytes) -> Any:
    for kind, _, content in _fields(feature):
        values = [(wire, value) for _, wire, value in _fields(content)]
        if kind == 1:
            return [value for _, value in values]
        if kind == 2:
            return np.frombuffer(b"".join(value for _, value in values), "<f4").astype(np.float32)
        loose = [v if w == 0 else read_varints(v) for w, v in values]
        numbers = [np.array([v], np.uint64).view(np.int64) if isinstance(v, int) else v for v in loose]
        return np.concatenate(numbers) if numbers else np.empty(0, np.int64)
    return np.empty(0, np.int64)


# -- blocks ------------------------------------------------------------------------------------------------------------


def write(path: str, slots: list[Field], blocks: Iterable[RecordBlock]) -> None:
    """Write blocks as examples."""
    check_members(slots, lambda slot: [slot.name, *(f"{slot.name}/lod_{level}" for level in range(_levels(slot)))])
    with storage.writing(path) as file:
        for record in records_of(blocks):
            features = [part for slot, (array, lod) in zip(slots, record) for part in _encode(slot, array, lod)]
            file.write(frame(example(features)))


def _encode(slot: Field, array: Array, lod: Any) -> Iterator[bytes]:
    dtype = array.dtype
    if not array.size and slot.rows is not None and len(array) != slot.rows:
        raise RowsVaryError(slot.name, slot.rows)
    if slot.text and slot.lod_level == 2 and len(lod[0]) == 2:
        yield _features_of_strings(slot.name, strings(array, lod[1], decode=False))
        return
    if dtype in (np.float32, np.float16):
        yield _feature(slot.name, 2, array.astype("<f4").tobytes())
    elif dtype in (np.uint8, np.float64):
        yield _feature(slot.name, 1, array.astype(dtype.newbyteorder("<")).tobytes())
    else:
        yield _feature(slot.name, 3, varints(array.reshape(-1).astype(np.int64)))
    if slot.lod_level > 1 or (slot.lod_level == 1 and len(lod[0]) != 2) or _counts_rows(slot):
        for level, offsets in enumerate(lod or [[0, len(array)]]):
            yield _feature(f"{slot.name}/lod_{level}", 3, varints(np.asarray(offsets, np.int64)))


def _counts_rows(slot: Field) -> bool:
    """Return whether the number of rows must be stored, because they hold no items that would tell it."""
    return slot.rows is None and not math.prod(slot.shape)


def _levels(slot: Field) -> int:
    """Return how many levels of sequences the features of a slot may have."""
    return slot.lod_level or int(_counts_rows(slot))


def read(path: str, slots: list[Field] | None) -> tuple[list[Field], Iterator[RecordBlock]]:
    """Return the slots and the blocks of a file of examples; without slots the first example decides."""
    examples = _examples(path)
    first = next(examples, None)
    if first is None:
        return slots or [], iter(())
    known = slots or _guess(first)
    names = None if slots else set(first)

    def records() -> Iterator[Record]:
        yield _decode(first, known, path)
        for features in examples:
            check_names(features, names, path)
            yield _decode(features, known, path)

    return known, blocks_of(records(), known)


def _examples(path: str) -> Iterator[dict[str, Any]]:
    for number, record in enumerate(read_records(path)):
        try:
            yield parse_example(record)
        except ConversionError as error:
            raise ConversionError(f"{path}: record {number}: {error}") from error


def _guess(features: dict[str, Any]) -> list[Field]:
    slots = []
    for name in sorted(features):
        values = features[name]
        if isinstance(values, list) and len(values) == 1:
            slots.append(Field(name, "uint8", (1,), 1, None, "bytes"))
        elif isinstance(values, list):
            slots.append(Field(name, "uint8", (1,), 2, None, "byte strings"))
        else:
            level = int(len(values) != 1)
            number = "int" if values.dtype == np.int64 else "scalar"
            slots.append(Field(name, values.dtype.name, (1,), level, None if level else 1, "list" if level else number))
    return slots


def _decode(features: dict[str, Any], slots: list[Field], path: str) -> Record:
    record: list[tuple[Array, Any]] = []
    for slot in slots:
        if slot.name not in features:
            raise ConversionError(f"{path}: an example has no feature {slot.name}; it has {', '.join(features)}")
        values = features[slot.name]
        if slot.text and slot.lod_level == 2 and f"{slot.name}/lod_0" not in features:
            record.append(_several(list(values)))
            continue
        if isinstance(values, list):
            if len(values) > 1:
                raise ConversionError(f"{path}: {slot.name} holds {len(values)} strings in one example, expected one")
            if slot.dtype in ("int64", "float32"):  # never written as bytes
                raise ConversionError(f"{path}: {slot.name} holds a string in one example, expected {slot.dtype}")
            values = np.frombuffer(b"".join(values), np.dtype(slot.dtype).newbyteorder("<"))
        stored = [features.get(f"{slot.name}/lod_{level}") for level in range(_levels(slot))]
        if _counts_rows(slot) and not len(values) and stored[-1] is not None:
            values = np.empty((int(stored[-1][-1]), *slot.shape), values.dtype)
        array = shaped(converted(values, slot, path), slot)
        lod: tuple[Any, ...] = ()
        if slot.lod_level:
            lod = tuple(s if s is not None else np.array([0, len(array)], np.int64) for s in stored)
        record.append((array, lod))
    return record


def _several(values: list[bytes]) -> tuple[Array, Any]:
    """Return a list of strings as a tensor with two levels."""
    inner = np.zeros(len(values) + 1, np.int64)
    np.cumsum([len(value) for value in values], out=inner[1:])
    array = np.frombuffer(b"".join(values), np.uint8).reshape(-1, 1)
    return array, (np.array([0, len(values)], np.int64), inner)

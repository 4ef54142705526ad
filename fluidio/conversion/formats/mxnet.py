"""MXNet's (dmlc's) RecordIO of images, `.rec`, for reading: label, number and encoded image of each record.

    word 0xced7230a   word: 3 bits of kind, 29 bits of length   data, padded to four bytes

A record that contains the first word itself is stored in parts (kinds 1, 2, ..., 3), split where the word was. The
data of an image begin with 24 bytes: the number of labels, one label, and two numbers; several labels follow them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fluidio.conversion import storage
from fluidio.conversion.rows import RowBuffer
from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import RecordBlock
from fluidio.recordio.files.schema import Field
from fluidio.recordio.format.dialects import MAGIC

__all__ = ["read", "read_records", "write"]

_MAGIC = 0xCED7230A
_MAGIC_BYTES = struct.pack("<I", _MAGIC)
_words = struct.Struct("<II")
_image = struct.Struct("<IfQQ")
_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)


def read_records(path: str) -> Iterator[bytes]:
    """Yield the records of a file, parts joined."""
    left, number = storage.size(path), 0
    parts: list[bytes] = []
    with storage.opened(path) as file:
        while head := file.read(_words.size):
            left -= len(head)
            kind, data = _part(path, number, file, head, left)
            left -= -(-len(data) // 4) * 4
            if (kind in (_WHOLE, _FIRST)) is bool(parts):
                raise ConversionError(f"{path}: record {number}: its parts are out of order")
            parts.append(data)
            if kind in (_WHOLE, _LAST):
                yield _MAGIC_BYTES.join(parts)
                parts, number = [], number + 1
    if parts:
        raise ConversionError(f"{path}: record {number}: the file ends between its parts")


def _part(path: str, number: int, file: Any, head: bytes, left: int) -> tuple[int, bytes]:
    """Return the kind and the data of a part."""
    if len(head) < _words.size:
        raise ConversionError(f"{path}: record {number}: the file ends inside a record")
    magic, word = _words.unpack(head)
    if magic != _MAGIC:
        problem = f"{path}: record {number} must begin with {_MAGIC:#010x}, but begins with {magic:#010x}"
        hint = ": this is RecordIO as Paddle has it, so pass --from recordio" if head.startswith(MAGIC) else ""
        raise ConversionError(problem + hint)
    kind, length = word >> 29, word & ((1 << 29) - 1)
    if kind > _LAST or length > left:
        raise ConversionError(f"{path}: record {number} claims {length} bytes, but only {left} are left")
    data: bytes = file.read(-(-length // 4) * 4)
    return kind, data[:length]


def _row(path: str, number: int, record: bytes) -> dict[str, Any]:
    if len(record) < _image.size:
        raise ConversionError(
            f"{path}: record {number} has only {len(record)} bytes; the header of an image alone has {_image.size}"
        )
    count, label, index, _ = _image.unpack_from(record)
    end = _image.size + 4 * count
    if end > len(record):
        raise ConversionError(f"{path}: record {number} claims {count} labels, too many for its {len(record)} bytes")
    labels = np.frombuffer(record, "<f4", count, _image.size)
    return {"label": labels if count else np.float32(label), "id": _signed(index), "image": record[end:]}


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def read(path: str, slots: list[Field] | None) -> tuple[list[Field], Iterator[RecordBlock]]:
    """Return the slots and the blocks of a file of images; the first one decides between a label and several."""
    rows = (_row(path, number, record) for number, record in enumerate(read_records(path)))
    first = next(rows, None)
    if first is None:
        return slots or [], iter(())
    several = isinstance(first["label"], np.ndarray)
    label = (
        Field("label", "float32", (1,), 1, None, "list") if several else Field("label", "float32", (1,), kind="scalar")
    )
    known = [label, Field("id", "int64", (1,), kind="int"), Field("image", "uint8", (1,), 1, None, "bytes")]
    return known, _blocks(first, rows, known)


def _blocks(first: dict[str, Any], rows: Iterator[dict[str, Any]], slots: list[Field]) -> Iterator[RecordBlock]:
    buffer = RowBuffer(slots, 1000, 4 << 20)
    full = buffer.add(first)
    for row in rows:
        if full:
            yield buffer.take()
        full = buffer.add(row)
    yield buffer.take()


def write(path: str, slots: list[Field], blocks: Iterable[RecordBlock]) -> None:
    """Refuse: fluidio reads this format only."""
    raise ConversionError("fluidio reads MXNet's format but does not write it: choose another format")

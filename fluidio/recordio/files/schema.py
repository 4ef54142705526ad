"""Field: what one column of a data set holds; kept in manifests, Parquet metadata and beside TFRecord files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import RecordBlock

__all__ = ["Field", "from_json", "of_block", "to_json"]

_TEXTS = ("bytes", "str", "strings", "byte strings", "record")


@dataclass(frozen=True)
class Field:
    """One slot of all records.

    Attributes:
        name: what users call it.
        dtype: NumPy's name.
        shape: the dims after the first.
        lod_level: how many levels of sequences.
        rows: the first dim of every record; None where it varies.
        kind: the Python value a row held: "int", "float", "bool", "scalar" (a number of NumPy's), "array", "cast"
            (an array of a declared dtype; "cast number" and "cast scalar" for single ones), "bytes", "str", "list",
            "arrays" (a list of arrays), "strings", "byte strings", "lists"; "record" for records
            that are bytes and no tensors.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    lod_level: int = 0
    rows: int | None = 1
    kind: str = "array"

    @property
    def is_text(self) -> bool:
        """Return whether a record holds one string of bytes."""
        return self.dtype == "uint8" and self.lod_level == 1 and self.shape == (1,)

    def alike(self, other: Field) -> bool:
        """Return whether records of both can be in one file."""
        return (self.name, self.dtype, self.shape, self.lod_level) == (
            other.name,
            other.dtype,
            other.shape,
            other.lod_level,
        )

    @property
    def text(self) -> str:
        """Return the kind of strings the rows held; "" if they held none."""
        return self.kind if self.kind in _TEXTS else ""

    def __str__(self) -> str:
        first = "rows" if self.rows is None else self.rows
        lod = f", LoD {self.lod_level}" if self.lod_level else ""
        text = f" ({self.text})" if self.text else ""
        return f"{self.name}: {self.dtype} {(first, *self.shape)}{lod}{text}"


def of_block(block: RecordBlock, names: Sequence[str] | None = None) -> list[Field]:
    """Return the slots of a block, with the given names or slot_0, slot_1, ..."""
    if names is not None and len(names) != len(block.columns):
        raise ConversionError(f"{len(names)} names for records of {len(block.columns)} tensors: {', '.join(names)}")
    return [
        Field(
            names[number] if names is not None else f"slot_{number}",
            column.data.dtype.newbyteorder("=").name,
            tuple(column.data.shape[1:]),
            len(column.lod),
            column.rows_per_record if not column.lod else None,
        )
        for number, column in enumerate(block.columns)
    ]


def to_json(slots: Sequence[Field]) -> list[dict[str, Any]]:
    """Return slots as plain values."""
    return [asdict(slot) | {"shape": list(slot.shape)} for slot in slots]


def from_json(found: Any) -> list[Field]:
    """Return the slots in plain values or in JSON text."""
    try:
        if isinstance(found, (str, bytes)):
            found = json.loads(found)
        slots = [_checked(Field(**(entry | {"shape": tuple(entry["shape"])}))) for entry in found]
    except (TypeError, KeyError, ValueError, SyntaxError, RecursionError) as error:
        raise ConversionError(f"not a list of slots as fluidio writes it: {error}") from error
    return slots


def _checked(slot: Field) -> Field:
    """Return a slot that somebody else described if its values have the types they should have."""
    for value, wanted in ((slot.name, str), (slot.dtype, str), (slot.kind, str), (slot.lod_level, int)):
        if type(value) is not wanted:
            raise TypeError(f"{value!r} where a{'n' if wanted is int else ''} {wanted.__name__} is expected")
    sizes = [slot.lod_level, *slot.shape, *([] if slot.rows is None else [slot.rows])]
    if slot.lod_level < 0 or not all(type(size) is int and -1 <= size < 1 << 63 for size in sizes):
        raise ValueError(f"{slot.name}: sizes are {sizes}, whole numbers of 64 bits are expected")
    if np.dtype(slot.dtype).hasobject or np.dtype(slot.dtype).fields:
        raise TypeError(f"{slot.name}: {slot.dtype} is not a numeric dtype")
    return slot

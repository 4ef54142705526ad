"""Field: what one column of a data set holds; kept in manifests, Parquet metadata and beside TFRecord files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import Column, RecordBlock

__all__ = [
    "Field",
    "RowsVaryError",
    "as_number",
    "empty_block",
    "from_json",
    "of_block",
    "of_both",
    "to_json",
    "with_block",
    "without_rows",
]

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
        dims = ", ".join(["rows" if self.rows is None else str(self.rows), *map(str, self.shape)])
        lod = f", LoD {self.lod_level}" if self.lod_level else ""
        text = f" ({self.text})" if self.text else ""
        return f"{self.name}: {self.dtype} ({dims}{'' if self.shape else ','}){lod}{text}"


def of_block(block: RecordBlock, names: Sequence[str] | None = None) -> list[Field]:
    """Return the slots of a block, with the given names or slot_0, slot_1, ..."""
    if names is not None and len(names) != len(block.columns):
        raise ConversionError(f"got {len(names)} names for records of {len(block.columns)} tensors: {', '.join(names)}")
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


def as_number(slot: Field) -> Field:
    """Return an undescribed slot, with single values treated as numbers."""
    single = slot.kind == "array" and (slot.shape, slot.rows, slot.lod_level) == ((1,), 1, 0)
    return replace(slot, kind="scalar") if single else slot


def of_both(slots: Sequence[Field], others: Sequence[Field]) -> list[Field] | None:
    """Return the slots that describe records of either kind; None if their names or tensors differ."""
    if len(slots) != len(others) or not all(a.alike(b) for a, b in zip(slots, others)):
        return None
    found = [_common(a, b) for a, b in zip(slots, others)]
    return None if any(("record" in (a.kind, b.kind)) and a != b for a, b in zip(slots, others)) else found


def _common(a: Field, b: Field) -> Field:
    """Return the slot of values that two templates called by different Python types: int and int64, str and bytes."""
    rows = a.rows if a.rows == b.rows else None
    if a.kind == b.kind:
        return replace(a, rows=rows)
    texts = {a.text, b.text}
    if "" not in texts:
        return replace(a, rows=rows, kind="byte strings" if a.lod_level > 1 else "bytes")
    number = texts == {""} and not a.lod_level and rows == 1 and not {a.kind, b.kind} & {"array", "cast"}
    return replace(a, rows=rows, kind="scalar" if number else "array")


class RowsVaryError(ConversionError):
    """Records of `slot` have different numbers of rows, although its description has one number."""

    def __init__(self, slot: str, rows: object) -> None:
        super().__init__(slot, rows)
        self.slot = slot
        self.rows = rows

    def __str__(self) -> str:
        return f"{self.slot}: some records have {self.rows} rows, others have not"


def with_block(slots: Sequence[Field], block: RecordBlock) -> list[Field]:
    """Return the slots that describe a further block, too: without a number of rows where it has another.

    Raises:
        ConversionError: its tensors are of another kind.
    """
    theirs = of_block(block, [slot.name for slot in slots]) if len(block.columns) == len(slots) else of_block(block)
    if len(theirs) != len(slots) or not all(a.alike(b) for a, b in zip(slots, theirs)):
        kinds = f"some are {'; '.join(map(str, slots))}, others {'; '.join(map(str, theirs))}"
        raise ConversionError(f"the records differ: {kinds}; one set can hold only records of one kind")
    return [
        slot if slot.lod_level or slot.rows == other.rows or not len(block) else without_rows(slot)
        for slot, other in zip(slots, theirs)
    ]


def without_rows(slot: Field) -> Field:
    """Return a slot whose records have different numbers of rows, and are therefore no single numbers."""
    return slot if slot.rows is None else replace(slot, rows=None, kind="array")


def empty_block(slots: Sequence[Field]) -> RecordBlock:
    """Return a block of no records with these slots."""
    columns = []
    for slot in slots:
        none = np.empty((0, *(max(dim, 0) for dim in slot.shape)), slot.dtype)
        edges = np.zeros(1, np.int64) if slot.lod_level or slot.rows is None else None
        columns.append(Column(none, edges, (np.zeros(1, np.int64),) * slot.lod_level, num_records=0))
    return RecordBlock(columns, 0)


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
            raise TypeError(f"expected a{'n' if wanted is int else ''} {wanted.__name__}, found {value!r}")
    sizes = [slot.lod_level, *slot.shape, *([] if slot.rows is None else [slot.rows])]
    if slot.lod_level < 0 or not all(type(size) is int and -1 <= size < 1 << 63 for size in sizes):
        raise ValueError(f"{slot.name}: sizes must be whole numbers of 64 bits, found {sizes}")
    if np.dtype(slot.dtype).hasobject or np.dtype(slot.dtype).fields:
        raise TypeError(f"{slot.name}: {slot.dtype} is not a numeric dtype")
    return slot

"""Nulls of Arrow columns, which no tensor can hold: rows without them, or a value in their place."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from fluidio.conversion.formats.arrow_types import plain_batch
from fluidio.errors import ConversionError

__all__ = ["refuse", "without_nulls"]

DROP = "drop"


def without_nulls(batch: Any, nulls: str) -> Any:
    """Return a RecordBatch without nulls.

    Args:
        nulls: "drop" leaves rows out that hold one; anything else is a value, as text, for columns of its type.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    batch = plain_batch(batch)
    if not any(column.null_count for column in batch.columns):
        return batch
    if nulls == DROP:
        valid = [pc.is_valid(column) for column in batch.columns]
        keep = valid[0]
        for mask in valid[1:]:
            keep = pc.and_(keep, mask)
        return batch.filter(keep)
    columns = [
        pc.fill_null(column, _value(pa, name, column.type, nulls)) if column.null_count else column
        for name, column in zip(batch.schema.names, batch.columns)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _value(pa: ModuleType, name: str, kind: object, text: str) -> Any:
    if pa.types.is_nested(kind):
        raise ConversionError(f"{name}: there is no value to replace a null of type {kind}: use --nulls drop")
    try:
        return pa.scalar(text).cast(kind)
    except pa.ArrowInvalid as error:
        raise ConversionError(f"{name}: {text!r} cannot replace a null of type {kind}: {error}") from error


def refuse(name: str, count: int) -> None:
    """Raise for nulls of a column."""
    raise ConversionError(
        f"{name}: {count} values are null, which tensors cannot express: --nulls drop skips such rows, "
        "--nulls VALUE replaces the nulls (with `fluidio convert`, after `--`)"
    )

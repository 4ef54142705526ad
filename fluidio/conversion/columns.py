"""Whole columns in place of rows, which a template may yield for speed."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from fluidio.conversion.rows import RowBuffer, cast, slots_of, tells_its_type, tensor_dtype
from fluidio.errors import ConversionError
from fluidio.recordio.decode.block import Column, RecordBlock
from fluidio.recordio.files.schema import Field
from fluidio.recordio.write.narrowing import unmasked

__all__ = ["Columns", "block_of", "is_columns"]


class Columns(dict[str, Any]):
    """Many rows at once: name -> array (one row for each item of the first dim) or list (one row for each item).

    Example:
        >>> Columns(image=np.zeros((100, 784), "float32"), label=np.arange(100), name=["a"] * 100)  # doctest: +SKIP
    """


def is_columns(value: object) -> bool:
    """Return whether a template yielded many rows: `Columns`, an Arrow table or batch, or a DataFrame of pandas."""
    return isinstance(value, Columns) or _is_arrow(value) or _is_frame(value)


def block_of(value: Any, declared: Mapping[str, Any] | None = None) -> tuple[list[Field], RecordBlock]:
    """Return the slots and the records of a value for which `is_columns` is true.

    Raises:
        ConversionError: columns of unequal length, or of values that no tensor can hold.
    """
    if _is_frame(value):
        value = _from_frame(value)
    if _is_arrow(value):
        return _from_arrow(value)
    for name, column in value.items():
        if (
            isinstance(column, (str, bytes, bytearray, Mapping, Set))
            or not hasattr(column, "__len__")
            or _is_single(column)
        ):
            raise ConversionError(
                f"{name}: a column must be an array or a list with one item for each row, got {_kind(column)}"
            )
    lengths = {name: len(column) for name, column in value.items()}
    if not lengths or len(set(lengths.values())) > 1:
        said = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise ConversionError(f"all columns must have the same length, got {said or 'none'}")
    strange = [name for name in value if not isinstance(name, str)]
    if strange:
        raise ConversionError(f"the name of a column must be a str, got {type(strange[0]).__name__} {strange[0]!r}")
    names = list(declared) if declared is not None else list(value)
    if declared is not None and set(names) != set(value):
        raise ConversionError(f"SCHEMA names {', '.join(names)}, but the columns are {', '.join(value)}")
    made = [_column(name, value[name], None if declared is None else declared[name]) for name in names]
    return [slot for slot, _ in made], RecordBlock([column for _, column in made], next(iter(lengths.values())))


def _is_single(column: object) -> bool:
    return isinstance(column, np.ndarray) and not column.ndim


def _kind(column: object) -> str:
    return "an array of no dims" if _is_single(column) else f"a {type(column).__name__}"


def _column(name: str, values: Any, declared: Any) -> tuple[Field, Column]:
    if isinstance(values, np.ma.MaskedArray):
        values = unmasked(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "US" and values.ndim == 1:
        values = values.tolist()
    if isinstance(values, np.ndarray) and declared in (str, bytes, "str", "bytes") and values.dtype != object:
        raise ConversionError(f"{name} is an array of {values.dtype}, but SCHEMA says {declared}")
    if not isinstance(values, np.ndarray) or values.dtype == object or isinstance(declared, tuple):
        return _from_items(name, list(values), declared)
    if declared is not None:
        values = cast(values, np.dtype(declared), "SCHEMA says").astype(declared, copy=False)
    dtype = tensor_dtype(name, values.dtype)
    kind = {"int64": "int", "float64": "float", "bool": "bool"}.get(dtype, "scalar") if values.ndim == 1 else "array"
    data = values.reshape(-1, 1) if values.ndim == 1 else values
    return Field(name, dtype, tuple(data.shape[1:]), kind=kind), Column(data)


def _from_items(name: str, items: list[Any], declared: object) -> tuple[Field, Column]:
    """Return a column of strings, lists or anything else that a row may hold."""
    if not items:
        raise ConversionError(f"{name}: there are no rows, so its type is unknown")
    slots = slots_of(
        {name: next(filter(tells_its_type, items), items[0])}, None if declared is None else {name: declared}
    )
    buffer = RowBuffer(slots, len(items) + 1, 1 << 62)
    for item in items:
        buffer.add({name: item})
    return slots[0], buffer.take().columns[0]


def _from_arrow(value: Any) -> tuple[list[Field], RecordBlock]:
    from fluidio.conversion.formats import arrow

    if not len(value.schema):
        raise ConversionError("a table without columns, so there would be nothing in the records")
    batches = value.to_batches() if hasattr(value, "to_batches") else [value]
    slots = arrow.slots_of(value.schema)
    for slot in slots:
        tensor_dtype(slot.name, np.dtype(slot.dtype))
    if not batches:
        raise ConversionError("this table has no rows: leave it out")
    return slots, RecordBlock.concat([arrow.to_block(batch, slots) for batch in batches])


def _from_frame(frame: Any) -> Columns:
    """Return the columns of a DataFrame, preceded by the named levels of its index."""
    named = [name for name in frame.index.names if name is not None]
    if named:
        frame = frame.reset_index(level=named)
    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConversionError(f"several columns are called {twice}: rename them first")
    return Columns({name: _series(frame.iloc[:, number], name) for number, name in enumerate(names)})


def _series(series: Any, name: str) -> Any:
    """Return a pandas column as an array, or as a list if it holds objects."""
    array = series.to_numpy()
    if array.dtype.kind in "mM":
        raise ConversionError(f"{name}: a tensor cannot hold {array.dtype}: convert it, for example to int64 or str")
    nullable = array.dtype == object or not isinstance(series.dtype, np.dtype)  # Int64 and others have an NA
    missing = int(series.isna().sum()) if nullable else 0
    if missing:
        raise ConversionError(
            f"{name}: {missing} values are missing, which tensors cannot express; drop or replace them first"
        )
    return array if array.dtype != object else list(array)


def _is_arrow(value: object) -> bool:
    return type(value).__module__.startswith("pyarrow") and type(value).__name__ in ("RecordBatch", "Table")


def _is_frame(value: object) -> bool:
    return type(value).__module__.startswith("pandas") and type(value).__name__ == "DataFrame"

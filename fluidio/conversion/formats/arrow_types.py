"""Fewer Arrow types: dictionaries, views and fixed-size strings become plain strings, lists and numbers."""

from __future__ import annotations

from typing import Any

from fluidio.errors import ConversionError

__all__ = ["plain_array", "plain_batch", "plain_type", "signature"]


def plain_type(kind: Any) -> Any:
    """Return the type of the same values without dictionaries, views, fixed-size strings and fixed-shape tensors.

    Views of lists stay as they are: pyarrow casts them, but loses items (seen in 26.0).
    """
    import pyarrow as pa

    is_ = pa.types
    if is_.is_dictionary(kind) or is_.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if is_.is_large_string(kind) or is_.is_string_view(kind):
        return pa.large_string()
    if is_.is_large_binary(kind) or is_.is_binary_view(kind) or is_.is_fixed_size_binary(kind):
        return pa.large_binary()
    if is_.is_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if is_.is_large_list(kind):
        return pa.large_list(plain_type(kind.value_type))
    if is_.is_fixed_size_list(kind):
        item = plain_type(kind.value_type)
        return pa.list_(item, kind.list_size) if _is_number(item) else pa.list_(item)
    if _is_tensor(kind):
        found = kind.value_type
        for dim in reversed(kind.shape):
            found = pa.list_(found, dim)
        return found
    return kind


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    while pa.types.is_fixed_size_list(kind):
        kind = kind.value_type
    return bool(pa.types.is_primitive(kind))


def _is_tensor(kind: Any) -> bool:
    """Return whether a type is Arrow's fixed-shape tensor with its dims in order."""
    if getattr(kind, "extension_name", "") != "arrow.fixed_shape_tensor":
        return False
    return list(kind.permutation or range(len(kind.shape))) == list(range(len(kind.shape)))


def plain_array(array: Any, name: str) -> Any:
    """Return an array with its plain type.

    Raises:
        ConversionError: pyarrow cannot convert it.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_run_end_encoded(kind):
        return plain_array(pc.run_end_decode(array), name)
    wanted = plain_type(kind)
    if wanted == kind:
        return array
    try:
        if _is_tensor(kind):
            return _nested(array.storage, kind.shape)
        return array.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ConversionError(f"{name}: a column of {kind} cannot be read: {error}") from error


def _nested(array: Any, shape: Any) -> Any:
    """Return flat lists of a tensor's items as lists of lists."""
    import pyarrow as pa

    if array.null_count:
        return array  # the reader refuses nulls
    values = array.flatten()
    for dim in reversed(shape):
        values = pa.FixedSizeListArray.from_arrays(values, dim)
    return values


def plain_batch(batch: Any) -> Any:
    """Return a RecordBatch whose columns have plain types, with the metadata of the schema."""
    import pyarrow as pa

    fields = [pa.field(field.name, plain_type(field.type)) for field in batch.schema]
    if all(field.type == old.type for field, old in zip(fields, batch.schema)):
        return batch
    arrays = [plain_array(column, name) for column, name in zip(batch.columns, batch.schema.names)]
    fields = [field.with_type(array.type) for field, array in zip(fields, arrays)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, metadata=batch.schema.metadata))


def signature(kind: Any) -> Any:
    """Return what two types must share to hold the same values: nested lists, and the kind of their items."""
    import pyarrow as pa

    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return "list", signature(kind.value_type)
    if pa.types.is_fixed_size_list(kind):
        return kind.list_size, signature(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "str"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "bytes"
    return str(kind)

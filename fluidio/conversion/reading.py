"""`read_rows`: the rows that a template yielded, back from the shards, as the Python values they were."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from fluidio.conversion import storage
from fluidio.conversion.formats.records import records_of
from fluidio.errors import ConversionError
from fluidio.recordio import BlockReader
from fluidio.recordio.files import schema
from fluidio.recordio.files.notes import read_manifest
from fluidio.recordio.files.schema import Field
from fluidio.tensor.array import Array
from fluidio.tensor.lod import LoD

__all__ = ["read_rows", "rows_of", "value_of"]


def read_rows(output: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a generated data set, shard after shard.

    Args:
        output: the prefix that was given to `generate`.

    Example:
        >>> next(read_rows("out/train"))                                            # doctest: +SKIP
        {'file_name': 'n01/0.jpg', 'label': 0, 'data': b'...'}
    """
    manifest = read_manifest(output)
    if manifest is None:
        raise ConversionError(f"{output}: there is no manifest, so the names and types of the rows are unknown")
    slots = schema.from_json(manifest["slots"])
    for shard in manifest["shards"]:
        yield from rows_of(storage.join(storage.parent(output), shard["name"]), slots)


def rows_of(path: object, slots: list[Field]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one file."""
    with BlockReader(path) as reader:
        for record in records_of(reader):
            yield {slot.name: value_of(slot, array, lod) for slot, (array, lod) in zip(slots, record, strict=True)}


def value_of(slot: Field, array: Array, lod: LoD) -> Any:
    """Return the Python value that a tensor of one record holds, with all rows if there are more than expected."""
    if slot.rows == 1 and len(array) != 1 and not slot.lod_level:
        return array
    if slot.kind in ("int", "float", "bool", "cast number"):
        return array.item()
    if slot.kind in ("scalar", "cast scalar"):
        return array[0, 0]
    if slot.kind in ("bytes", "record") and slot.is_text:
        return array.tobytes()
    if slot.kind == "str":
        return array.tobytes().decode()
    if slot.kind == "list":
        return array[:, 0].tolist() if slot.shape == (1,) else list(array)
    if slot.kind == "arrays":
        return list(array)
    if slot.lod_level > 1:
        return _nested(array, lod, slot)
    return array[0] if slot.rows == 1 else array


def _nested(array: Array, lod: LoD, slot: Field) -> Any:
    """Return the nested lists that one record holds; the outermost level gives their number."""
    found: list[Any] = [array[start:stop] for start, stop in itertools.pairwise(lod[-1].tolist())]
    if slot.kind == "strings":
        found = [part.tobytes().decode() for part in found]
    elif slot.kind == "byte strings":
        found = [part.tobytes() for part in found]
    elif slot.shape == (1,):
        found = [part[:, 0].tolist() for part in found]
    for level in reversed(lod[1:-1]):
        found = [found[start:stop] for start, stop in itertools.pairwise(level.tolist())]
    return found

"""Tools over records: count, sample, filter, select, map, merge, diff, sort. They stream, and hold little in memory."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

import numpy as np

from fluidio.conversion import storage
from fluidio.conversion.formats import of_name
from fluidio.conversion.formats.recordio import content_of
from fluidio.conversion.looking import blocks_with_slots, choose, names_of, rows
from fluidio.conversion.new_set import making, named_prefix
from fluidio.conversion.progress import note
from fluidio.conversion.reshard import split
from fluidio.conversion.rows import RowBuffer, slots_of, tells_its_type, typical_row
from fluidio.conversion.sorting import Keyed, in_order
from fluidio.errors import ConversionError
from fluidio.recordio import File, Writer
from fluidio.recordio.decode.block import RecordBlock
from fluidio.recordio.files import notes, schema
from fluidio.recordio.files.part_files import temporary_folder
from fluidio.recordio.files.schema import Field
from fluidio.recordio.files.sidecar import open_index
from fluidio.recordio.files.source import is_url
from fluidio.recordio.files.steady import steadily
from fluidio.recordio.format.chunks import ChunkReader
from fluidio.recordio.format.dialects import FLUID, Dialect

__all__ = ["count", "diff", "filtered", "mapped", "merge", "sample", "select", "sorted_by"]

_KINDS = {str: "text", bytes: "bytes", float: "numbers"}
_CHUNK = 4 << 20


def count(paths: Sequence[str]) -> list[int]:
    """Return the number of records of each file, from headers or indexes alone."""
    return [_count(path) for path in steadily(paths)]


def _count(path: str) -> int:
    records = open_index(path).num_records
    note(1)
    return records


def sample(paths: Sequence[str], size: int, seed: int = 0) -> Iterator[tuple[str, int, bytes]]:
    """Yield (path, number, record) of `size` records drawn without replacement, in their order; only they are read."""
    counts = count(paths)
    total = sum(counts)
    chosen = np.sort(np.random.default_rng(seed).choice(total, min(size, total), replace=False))
    ends = np.cumsum(counts)
    for number, path in enumerate(steadily(paths)):
        before = int(ends[number]) - counts[number]
        mine = chosen[(chosen >= before) & (chosen < ends[number])] - before
        if len(mine):
            with File(path) as file:
                for record in mine.tolist():
                    yield path, record, file.get(record)


# -- new sets ----------------------------------------------------------------------------------------------------------


def filtered(paths: Sequence[str], expression: str, output: str, shards: int = 1) -> tuple[list[str], int, int]:
    """Keep the records for which a Python expression over the names of their slots is true.

    `row` is a dict of them, for names that are not Python's. Only the columns that the expression names are decoded
    (with `row`, all); the kept records are copied byte for byte.

    Returns:
        The new paths, the number of records kept, and the total number.
    """
    try:
        code = compile(expression, "<filter>", "eval")
    except SyntaxError as error:
        raise ConversionError(f"{expression!r} is not a Python expression: {error}") from error
    seen = kept = 0

    def chosen() -> Iterator[bytes]:
        nonlocal seen, kept
        for path in steadily(paths):
            known = names_of(path)
            used = set(_names(code))
            names = None if "row" in used - set(known) else [name for name in known if name in used]
            for record, row in zip(_records([path]), rows([path], names), strict=True):
                seen += 1
                note(1)
                if _true(code, expression, row, path, known):
                    kept += 1
                    yield record

    made = _write(chosen(), output, shards, paths, notes.slots_of(paths))
    return made, kept, seen


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that some code looks up, also those in its comprehensions and lambdas."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _true(code: Any, expression: str, row: dict[str, Any], path: str, known: list[str]) -> bool:
    try:  # as globals: comprehensions and lambdas would not see the locals
        return bool(eval(code, {"np": np, "row": row, **row, "__builtins__": __builtins__}))
    except Exception as error:
        problem = f"{type(error).__name__}: {error}; the names are {', '.join(known)}"
        raise ConversionError(f"{path}: {expression!r}: {problem}") from error


def select(paths: Sequence[str], columns: Sequence[str], output: str, shards: int = 1) -> list[str]:
    """Write records with some columns only, in this order."""
    if not columns or len(set(columns)) < len(columns):
        problem = "name at least one column" if not columns else f"a column is named twice in {', '.join(columns)}"
        raise ConversionError(f"{problem}; the columns of a set need different names")
    slots, _ = blocks_with_slots(paths[0])
    wanted = [slots[number] for number in choose(paths[0], slots, columns)]

    def blocks() -> Iterator[RecordBlock]:
        for path in steadily(paths):
            theirs, found = blocks_with_slots(path)
            chosen = choose(path, theirs, columns)
            for block in found:
                note(len(block))
                part = RecordBlock([block.columns[number] for number in chosen], len(block))
                try:
                    wanted[:] = schema.with_block(wanted, part)
                except ConversionError as error:
                    raise ConversionError(f"{path}: {error}") from error
                yield part

    return _write_blocks(blocks(), output, shards, paths, wanted)


def mapped(paths: Sequence[str], function: str | Callable[[dict[str, Any]], Any], output: str, shards: int = 1) -> Any:
    """Write the result of a function for each row: a dict, None to drop it, or an iterable of dicts.

    Args:
        function: a callable, "module:function" or "folder/script.py:function".

    Returns:
        The new paths and the number of rows.
    """
    call = _function(function) if isinstance(function, str) else function
    slots: list[Field] = []
    total = 0

    def blocks() -> Iterator[RecordBlock]:
        nonlocal total
        first, made = typical_row(_made(call, paths))
        if first:
            slots.extend(_slots_made(first, notes.slots_of(paths) or _undescribed(paths[0])))
        buffer = RowBuffer(slots, 1000, _CHUNK)
        for row in made:
            total += 1
            if buffer.add(row):
                yield buffer.take()
        if buffer.rows:
            yield buffer.take()

    made = _write_blocks(blocks(), output, shards, paths, slots)
    return made, total


def _undescribed(path: str) -> list[Field]:
    return [] if content_of(path) == "samples" else blocks_with_slots(path)[0]


def _slots_made(row: Mapping[str, Any], before: Sequence[Field]) -> list[Field]:
    """Return the slots of what a function made; those it was given where it has kept their type or made empty lists."""
    kept = {slot.name: found for slot in before if (found := _kept(slot, row.get(slot.name))) is not None}
    return [kept.get(name) or slots_of({name: value})[0] for name, value in row.items()]


def _kept(slot: Field, value: Any) -> Field | None:
    """Return the slot of a value that is still of the type of a slot; sequences of tensors would look like arrays."""
    if not tells_its_type(value):
        return slot
    if isinstance(value, np.ndarray) and slot.rows != 1 and not slot.lod_level and value.shape[1:] == slot.shape:
        warnings.warn(f"{slot.name}: several rows in a record become one row, an array {value.shape}", stacklevel=2)
    if not slot.lod_level or slot.kind not in ("array", "list", "lists"):
        return None
    if isinstance(value, np.ndarray):
        same = slot.lod_level == 1 and (value.dtype.name, value.shape[1:]) == (slot.dtype, slot.shape)
        return dataclasses.replace(slot, kind="list") if same and value.ndim else None
    if not isinstance(value, list) or slot.shape != (1,):
        return None
    nested = all(isinstance(item, list) for item in value)
    number = next(itertools.chain.from_iterable(value), None) if nested else value[0]
    kinds = {int: "iu", float: "f", bool: "b"}
    same = slot.lod_level == 1 + nested and np.dtype(slot.dtype).kind in kinds.get(type(number), "-")
    return dataclasses.replace(slot, kind="lists" if nested else "list") if same else None


def _made(call: Callable[[dict[str, Any]], Any], paths: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    for number, row in enumerate(rows(paths)):
        note(1)
        try:
            result = call(row)
        except Exception as error:
            raise ConversionError(f"row {number}: {type(error).__name__}: {error}") from error
        several = isinstance(result, Iterable) and not isinstance(result, (Mapping, str, bytes))
        for made in result if several else () if result is None else (result,):
            if not isinstance(made, Mapping):
                raise ConversionError(
                    f"row {number}: the function must return a dict or None, it returned {type(made).__name__}"
                )
            yield made


def _function(name: str) -> Callable[[dict[str, Any]], Any]:
    path, colon, attribute = name.rpartition(":")
    if not colon or not attribute:
        raise ConversionError(f"{name}: expected module:function or script.py:function")
    script = path.endswith(".py")
    place = os.path.abspath(os.path.dirname(path)) if script else os.getcwd()
    sys.path.insert(0, place)
    try:
        found = getattr(importlib.import_module(os.path.basename(path)[:-3] if script else path), attribute)
    except Exception as error:
        problem = f"expected module:function or script.py:function: {type(error).__name__}: {error}"
        raise ConversionError(f"{name}: {problem}") from error
    finally:
        sys.path.remove(place)
    if not callable(found):
        raise ConversionError(f"{name} is not a function")
    function: Callable[[dict[str, Any]], Any] = found
    return function


def merge(paths: Sequence[str], output: str, shards: int = 1) -> list[str]:
    """Write the records of several sets into one, in order; their slots must match."""
    noted = [slots for path in paths if (slots := notes.slots_beside(path)) is not None]
    for slots in noted[1:]:
        if len(slots) != len(noted[0]) or not all(a.alike(b) for a, b in zip(slots, noted[0])):
            raise ConversionError(f"the slots differ: {'; '.join(map(str, noted[0]))} and {'; '.join(map(str, slots))}")
    found = [(path, layout) for path in paths if (layout := _layout(path))]
    for path, layout in found[1:]:
        if layout != found[0][1]:
            said = f"records of {', '.join(layout)}, those of {found[0][0]} are {', '.join(found[0][1])}"
            raise ConversionError(f"{path}: {said}; a file can hold only one of the two")
    return split(list(paths), output, shards)


def _layout(path: str) -> list[str]:
    """Return a description of a file's first record, [] if there is none, that is the same for all its records."""
    try:
        slots = of_name("recordio").read(path, None)[0]
    except ConversionError:
        return ["pickled samples"]
    if [slot.kind for slot in slots] == ["record"]:
        return ["bytes"]
    return [f"{slot.dtype} of {len(slot.shape) + 1} dims and LoD {slot.lod_level}" for slot in slots]


def sorted_by(
    paths: Sequence[str], column: str, output: str, shards: int = 1, *, reverse: bool = False, memory: int = 256 << 20
) -> list[str]:
    """Write the records in the order of a column; equal ones keep their order. Runs that fit the memory are merged."""

    with temporary_folder(_place(output)) as folder:
        found = in_order(_keyed(paths, column), folder, memory, reverse=reverse)
        return _write(found, output, shards, paths, notes.slots_of(paths))


def _keyed(paths: Sequence[str], column: str) -> Iterator[Keyed]:
    """Yield the records with the keys to sort by; NaN comes after all others."""
    kinds: set[type] = set()
    for record, row in zip(_records(paths), rows(paths, [column]), strict=True):
        note(1)
        key = _single(row[column])
        if isinstance(key, (np.ndarray, list, tuple)):
            raise ConversionError(
                f"{column} holds several values in a record: sort by a column with one number or text"
            )
        if not isinstance(key, (str, bytes, int, float, np.bool_, np.integer, np.floating)):
            raise ConversionError(f"{column} holds {type(key).__name__}: sort by a column of numbers or text")
        kinds.add(type(key) if isinstance(key, (str, bytes)) else float)
        if len(kinds) > 1:
            said = " and ".join(sorted(_KINDS[kind] for kind in kinds))
            raise ConversionError(f"{column} holds {said}, which have no order")
        key = key.item() if isinstance(key, np.generic) else key
        yield (False, key) if key == key else (True, 0.0), record


def _single(value: Any) -> Any:
    """Return the number in an array of one, any other value as it is."""
    return value.reshape(-1)[0] if isinstance(value, np.ndarray) and value.size == 1 else value


def diff(one: Sequence[str], other: Sequence[str], limit: int = 10) -> tuple[int, list[tuple[int, Any, Any]]]:
    """Compare records in their order; return how many differ and the first of them as (number, one, other).

    A missing record is None.
    """
    found: list[tuple[int, Any, Any]] = []
    differing = number = 0
    ours, theirs = _records(one), _records(other)
    while True:
        a, b = next(ours, None), next(theirs, None)
        if a is None and b is None:
            return differing, found
        note(1)
        if a != b:
            differing += 1
            if len(found) < limit:
                found.append((number, a, b))
        number += 1


def _records(paths: Iterable[str]) -> Iterator[bytes]:
    for path in steadily(paths):
        with ChunkReader(path) as reader:
            for chunk in reader:
                yield from chunk.records()


def _place(output: str) -> str:
    folder = tempfile.gettempdir() if is_url(output) else storage.parent(output)
    storage.make_folder(folder)
    return folder


def _write(
    records: Iterator[bytes], output: str, shards: int, sources: Sequence[str], slots: Sequence[Field] | None
) -> list[str]:
    """Write records into a new set."""

    def fill(writer: Writer) -> None:
        for record in records:
            writer.write(record)

    return _fill(fill, output, shards, sources, lambda: slots, _dialect(sources))


def _dialect(paths: Sequence[str]) -> Dialect:
    return next((dialect for path in paths if (dialect := open_index(path).dialect) is not None), FLUID)


def _write_blocks(
    blocks: Iterator[RecordBlock], output: str, shards: int, sources: Sequence[str], slots: Sequence[Field]
) -> list[str]:
    def fill(writer: Writer) -> None:
        for block in blocks:
            writer.write_block(block)

    return _fill(fill, output, shards, sources, lambda: slots)


def _fill(
    fill: Callable[[Writer], None],
    output: str,
    shards: int,
    sources: Sequence[str],
    slots: Callable[[], Sequence[Field] | None],
    dialect: Dialect = FLUID,
) -> list[str]:
    """Write one file and move it into place, split into shards if there are several."""
    output = named_prefix(output, sources[0])
    if shards == 1:
        with making(output, 1) as new:
            total = _written(new.staged[0], fill, dialect)
            new.placed(0)
            new.finish([total], slots())
        return new.targets
    with temporary_folder(_place(output)) as folder, storage.naming(folder):
        whole = os.path.join(folder, "all")
        _written(whole, fill, dialect)
        noted = slots()
        if noted:
            storage.write(os.path.join(folder, notes.SLOTS), json.dumps(schema.to_json(noted)).encode())
        return split(whole, output, shards)


def _written(path: str, fill: Callable[[Writer], None], dialect: Dialect) -> int:
    with Writer(path, "snappy", 1000, dialect=dialect, max_chunk_bytes=_CHUNK) as writer:
        fill(writer)
    return writer.num_records

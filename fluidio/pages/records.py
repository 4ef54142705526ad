"""The records page: what a data set holds, where it is damaged, how its columns are distributed, and some samples."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.conversion.inspecting import as_json
from fluidio.conversion.looking import row_of_record
from fluidio.errors import FluidioError, RecordIOError
from fluidio.pages import page as pages
from fluidio.pages.columns import ColumnSketch
from fluidio.pages.drawing import Drawn, draw
from fluidio.pages.file_map import file_map
from fluidio.pages.samples import cell
from fluidio.recordio.files.index import ChunkIndex, build_index
from fluidio.recordio.files.notes import slots_beside
from fluidio.recordio.files.schema import Field
from fluidio.recordio.files.survey import Survey, survey
from fluidio.recordio.format.tensor_codec import decode_record

__all__ = ["records_data", "records_page"]

_DRAWN = 20_000
_SHOWN = 400
_SHOWN_BYTES = 2_500_000
_FILES = 500
_MAPS = 60
_EMPTY = np.zeros(0, np.int64)


def records_page(paths: Sequence[str], *, verify: bool = False) -> str:
    """Return the HTML page about some files.

    Args:
        verify: read everything, as `fluidio inspect --verify` does; else headers and a sample.
    """
    return pages.page("records", _title(paths), records_data(paths, verify=verify))


def records_data(paths: Sequence[str], *, verify: bool = False) -> dict[str, Any]:
    """Return the data of the records page as plain values."""
    surveys = [survey(path, verify=verify, preview=0) for path in paths]
    indexes = [_index(path) for path in paths]
    order = sorted(range(len(paths)), key=lambda n: not surveys[n].damage)[:_FILES]
    shown = sorted(order)
    mapped = sorted(order[:_MAPS])
    return {
        "totals": _totals(surveys),
        "files": as_json([surveys[n] for n in shown]),
        "maps": [{"path": paths[n], "size": surveys[n].size, **file_map(surveys[n], indexes[n])} for n in mapped],
        **_contents(paths, indexes, sum(each.records for each in surveys)),
    }


def _title(paths: Sequence[str]) -> str:
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def _index(path: str) -> ChunkIndex:
    try:
        return build_index(path, on_error="skip")
    except RecordIOError as error:  # not a RecordIO file: the survey reports it
        return ChunkIndex(_EMPTY, _EMPTY, _EMPTY, None, error)


def _totals(surveys: Sequence[Survey]) -> dict[str, Any]:
    """Return the sums over all files of the figures that `inspect` reports for each."""
    compressors: Counter[str] = Counter()
    for each in surveys:
        compressors.update(each.compressors)
    unpacked = [each.payload_bytes for each in surveys]
    return {
        "files": len(surveys),
        "records": sum(each.records for each in surveys),
        "chunks": sum(each.chunks for each in surveys),
        "size": sum(each.size for each in surveys),
        "stored_bytes": sum(each.stored_bytes for each in surveys),
        "payload_bytes": None if None in unpacked else sum(size or 0 for size in unpacked),
        "compressors": dict(compressors),
        "dialects": sorted({name for each in surveys for name in each.dialects}),
        "content": dict(Counter(each.content for each in surveys)),
        "damage": sum(len(each.damage) for each in surveys),
        "damaged_files": sum(bool(each.damage) for each in surveys),
        "verified": all(each.verified for each in surveys),
        "notes": [f"{each.path}: {note}" for each in surveys for note in each.notes][:20],
    }


def _contents(paths: Sequence[str], indexes: Sequence[ChunkIndex], total: int) -> dict[str, Any]:
    """Return the columns and the samples of records drawn evenly from the files."""
    slots = {number: _slots(path) for number, path in enumerate(paths[:1])}
    columns: dict[str, ColumnSketch] = {}
    held: list[Drawn] = []
    drawn = unreadable = 0
    every = max(1, min(total, _DRAWN) // _SHOWN)
    for each in draw(paths, indexes, _DRAWN):
        described = slots.setdefault(each.file, _slots(paths[each.file]))
        row = _row(each.record, described)
        unreadable += row is None
        for name, value in (row or {}).items():
            columns.setdefault(name, ColumnSketch(name)).add(value)
        if drawn % every == 0 and len(held) < _SHOWN:
            held.append(each)
        drawn += 1
    return {
        "drawn": drawn,
        "unreadable": unreadable,
        "columns": [column.as_json() for column in columns.values()],
        "samples": _samples(held, paths, slots),
    }


def _slots(path: str) -> list[Field] | None:
    try:
        return slots_beside(path)
    except FluidioError:
        return None


def _row(record: bytes, slots: list[Field] | None) -> dict[str, Any] | None:
    try:
        return row_of_record(record, slots)
    except (FluidioError, ValueError, IndexError, pickle.UnpicklingError):
        return None


def _samples(held: Sequence[Drawn], paths: Sequence[str], slots: dict[int, list[Field] | None]) -> list[dict[str, Any]]:
    """Return the displayed form of some records, or of every n-th if all would be too much for a page."""
    samples = [_sample(each, paths[each.file], slots[each.file]) for each in held]
    size = sum(len(pages.as_json(sample)) for sample in samples)
    return samples[:: 1 + size // _SHOWN_BYTES]


def _sample(drawn: Drawn, path: str, slots: list[Field] | None) -> dict[str, Any]:
    row = _row(drawn.record, slots)
    if row is None:
        cells = {"record": cell(drawn.record) | {"note": "not readable as tensors or as a sample"}}
    else:
        lods = [*_lods(drawn.record), *[()] * len(row)]
        cells = {name: cell(value, lod) for (name, value), lod in zip(row.items(), lods)}
    return {"file": path, "record": drawn.number, "bytes": len(drawn.record), "cells": cells}


def _lods(record: bytes) -> list[Any]:
    try:
        return [lod for _, lod in decode_record(record)[0]]
    except ValueError:
        return []

"""Surveys of files with the names of their slots, for `fluidio inspect --json` and the records page."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

from fluidio.conversion.looking import rows, short
from fluidio.errors import FluidioError
from fluidio.recordio.files.notes import slots_beside
from fluidio.recordio.files.survey import Survey

__all__ = ["as_json", "names_and_rows"]


def as_json(surveys: Sequence[Survey]) -> list[dict[str, Any]]:
    """Return surveys as plain values, each with the names of its slots."""
    return [dataclasses.asdict(each) | {"names": names_and_rows(each, 0)[0]} for each in surveys]


def names_and_rows(found: Survey, preview: int) -> tuple[list[str], list[str]]:
    """Return the slot names described beside a file, and its first records by these names."""
    if found.content not in ("tensors", "nothing") or found.damage or "<" in found.path:
        return [], []
    try:
        slots = slots_beside(found.path)
        if found.content == "nothing":
            return [slot.name for slot in slots or ()], []
        if slots is None or len(slots) != len(found.slots):
            return [], []
        if found.peeked:  # a row would need the whole chunk
            return [slot.name for slot in slots], []
        with contextlib.closing(rows([found.path])) as source:
            texts = [short(row) for row in itertools.islice(source, max(0, preview))]
    except (FluidioError, ValueError) as error:
        return [], [f"({error})"]
    return [slot.name for slot in slots], texts

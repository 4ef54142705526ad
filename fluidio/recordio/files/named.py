"""Batches by the names of their slots, text as text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.errors import RecordIOError
from fluidio.recordio.files.notes import slots_of
from fluidio.recordio.files.schema import Field

__all__ = ["Names", "names_of"]


class Names:
    """The slots of some files, to name the items of a batch."""

    def __init__(self, slots: Sequence[Field] | None, source: str = "") -> None:
        self.slots = slots
        self._source = source

    def __call__(self, batch: Sequence[Any]) -> dict[str, Any]:
        """Return name -> value for a batch as `iter_batches` yields it.

        Strings become a list with one item per record, lists of strings a list of lists; everything else is unchanged.
        """
        slots: Sequence[Field | None] = self.slots if self.slots is not None else [None] * len(batch)
        return self.named([_value(slot, value) for slot, value in itertools.zip_longest(slots, batch)][: len(batch)])

    def named(self, values: Sequence[object]) -> dict[str, Any]:
        """Return name -> value, values unchanged."""
        if self.slots is None:
            return {f"slot_{number}": value for number, value in enumerate(values)}
        names = [slot.name for slot in self.slots]
        if len(names) != len(values):
            problem = (
                f"the records have {len(values)} slots, but the names of {len(names)} are given: {', '.join(names)}"
            )
            raise RecordIOError(problem, path=self._source)
        return dict(zip(names, values))


def names_of(paths: Sequence[object]) -> Names:
    """Return the declared slot names of some files; slot_0, slot_1, ... if there are none."""
    return Names(slots_of(paths), str(paths[0]) if paths else "")


def _value(slot: Field | None, value: object) -> Any:
    if slot is None or not slot.text or not isinstance(value, tuple):
        return value
    data, lod = value
    texts = strings(data, lod[-1], decode=slot.text in ("str", "strings"))
    if len(lod) == 1:
        return texts
    return [texts[start:stop] for start, stop in itertools.pairwise(lod[0].tolist())]


def strings(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], *, decode: bool) -> list[Any]:
    """Return the strings stored one after another in an array of bytes."""
    joined = data.tobytes()
    parts = [joined[start:stop] for start, stop in itertools.pairwise(offsets.tolist())]
    return [part.decode() for part in parts] if decode else parts

"""Slot names as member names: names that could not be read back are refused before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fluidio.errors import ConversionError
from fluidio.recordio.files.schema import Field

__all__ = ["check_members"]


def check_members(
    slots: Sequence[Field],
    members: Callable[[Field], Iterable[str]],
    *,
    reserved: Iterable[str] = (),
    forbidden: str = "\0",
    empty: bool = True,
) -> None:
    """Raise for slots whose members would overwrite one another or have invalid names.

    Args:
        members: returns the names of a slot's members.
        reserved: names that the format uses itself.
        forbidden: characters that cannot be in a name.
        empty: whether a name may be empty.
    """
    owners = dict.fromkeys(reserved, "the format itself")
    for slot in slots:
        if (not slot.name and not empty) or any(each in slot.name for each in forbidden):
            raise ConversionError(f"{slot.name!r} cannot be part of a file name: rename the slot with --names")
        for member in members(slot):
            if member in owners:
                both = f"{slot.name!r} and {owners[member]}"
                raise ConversionError(f"{both} would be stored as {member!r}: rename the slot with --names")
            owners[member] = repr(slot.name)

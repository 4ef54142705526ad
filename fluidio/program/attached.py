"""Attached: objects that other packages attach to a program, by class; not part of it, so never copied."""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["Attached"]

T = TypeVar("T")


class Attached:
    """One object of each class."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[type[Any], Any] = {}

    def get(self, kind: type[T]) -> T:
        """Return the object of this class, created on first use."""
        found: T | None = self._found.get(kind)
        return self._found.setdefault(kind, kind()) if found is None else found

    def __deepcopy__(self, memo: dict[int, Any]) -> Attached:
        return Attached()

    def __copy__(self) -> Attached:
        return Attached()

    def __reduce__(self) -> tuple[type[Attached], tuple[()]]:
        return Attached, ()

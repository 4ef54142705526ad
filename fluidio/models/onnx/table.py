"""The table op -> ONNX: one function for each op type, written like a kernel.

    @maps("relu")
    def relu(k, x):
        return k("Relu", x)

The function gets the inputs in the order of the op's slots (None for one that is absent, a list for a slot that takes
several) and returns the outputs in the order of theirs; None for an output that is not computed. What cannot be written
raises `Refused` with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["RAW", "TABLE", "Refused", "load_table", "maps"]

Mapping = Callable[..., Any]
F = TypeVar("F", bound=Mapping)
TABLE: dict[str, Mapping] = {}
RAW: set[str] = set()


class Refused(Exception):
    """An op, or this use of it, cannot be expressed in ONNX; the text says why."""


def maps(*types: str, raw: bool = False) -> Callable[[F], F]:
    """Register the function for these op types; a `raw` one gets only the op and sets values itself."""

    def register(function: F) -> F:
        for name in types:
            if name in TABLE:
                raise ValueError(f"{name} is in the table already")
            TABLE[name] = function
            if raw:
                RAW.add(name)
        return function

    return register


def load_table() -> dict[str, Mapping]:
    """Return the table, filled."""
    import fluidio.models.onnx.themes  # noqa: F401

    return TABLE

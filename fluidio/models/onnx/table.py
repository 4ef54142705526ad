"""The table from ops to ONNX: one function per op type, written like a kernel.

    @maps("relu")
    def relu(k, x):
        return k("Relu", x)

The function gets the inputs in the order of the op's slots (None for an absent one, a list for a slot that takes
several) and returns the outputs in the order of their slots (None for one that is not computed). It raises `Refused`
with the reason if the op cannot be written.
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
    """Return the complete table."""
    import fluidio.models.onnx.themes  # noqa: F401

    return TABLE

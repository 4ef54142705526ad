"""Helpers of `fluid.backward` that legacy code calls by name."""

from __future__ import annotations

from typing import Any

from fluidio.program.op_def import grad_name as _append_grad_suffix_

__all__ = ["_append_grad_suffix_", "_as_list", "_strip_grad_suffix_"]


def _as_list(value: object) -> list[Any]:
    """Return a list: empty for None, of one item for anything but a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _strip_grad_suffix_(name: str) -> str:
    """Return the name of the variable that a gradient belongs to."""
    return name.partition("@GRAD")[0]

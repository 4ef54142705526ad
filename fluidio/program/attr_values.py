"""Attribute values as Fluid keeps them: floats in 32 bits, a dtype as its number."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

__all__ = ["as_float32", "as_stored"]


def as_float32(value: Any) -> Any:
    """Return an attribute with its floats rounded to 32 bits; 1e100 is infinite there."""
    if isinstance(value, float):
        with np.errstate(over="ignore"):
            return float(np.float32(value))
    if isinstance(value, list) and value and isinstance(value[0], float):
        return [as_float32(one) for one in value]
    return value


def as_stored(value: object) -> Any:
    """Return an attribute as `op.attr` shows it."""
    return int(value) if isinstance(value, (enum.IntEnum, enum.IntFlag)) else as_float32(value)

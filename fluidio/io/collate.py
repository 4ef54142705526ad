"""`default_collate_fn`: make one array per field of a list of samples."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidio.tensor.array import Array

__all__ = ["default_collate_fn"]


def default_collate_fn(batch: Sequence[Any]) -> list[Array]:
    """Stack samples field by field; a single array or number counts as a sample with one field.

    >>> default_collate_fn([([1.0, 2.0], 7), ([3.0, 4.0], 8)])
    [array([[1., 2.],
           [3., 4.]]), array([7, 8])]
    """
    first = batch[0]
    if isinstance(first, np.ndarray | numbers.Number):
        return [_stack(0, batch)]
    if not isinstance(first, list | tuple):
        raise TypeError(
            "default_collate_fn: a sample must be a number, an array, or a tuple or list of them, got "
            f"{type(first).__name__}; pass the DataLoader a collate_fn of your own"
        )
    for number, sample in enumerate(batch):
        if len(sample) != len(first):
            raise ValueError(
                f"default_collate_fn: the first sample of a batch has {len(first)} fields, sample {number} "
                f"has {len(sample)}"
            )
    return [_stack(field, values) for field, values in enumerate(zip(*batch))]


def _stack(field: int, values: Sequence[object]) -> Array:
    try:
        return np.stack([np.asarray(value) for value in values])
    except ValueError as error:
        shapes = sorted({str(np.shape(value)) for value in values if isinstance(value, np.ndarray)})
        raise ValueError(
            f"default_collate_fn: field {field} cannot be stacked ({error}"
            + (f"; shapes in the batch: {', '.join(shapes)}" if shapes else "")
            + "); pad the samples or give the DataLoader a collate_fn of your own"
        ) from error

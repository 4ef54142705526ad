"""similarity_focus: mark the rows and columns of the largest elements of a slice."""

from __future__ import annotations

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.registry import op, same_as
from fluidio.tensor.array import Array

__all__: list[str] = []


def _focus(plane: Array) -> Array:
    """Return ones at the largest elements of a matrix, at most one per row and column, until either runs out."""
    rows, columns = plane.shape
    mask = np.zeros(plane.shape, bool)
    free_rows, free_columns = np.ones(rows, bool), np.ones(columns, bool)
    for place in np.argsort(-plane.reshape(-1), kind="stable"):
        i, j = divmod(int(place), columns)
        if free_rows[i] and free_columns[j]:
            mask[i, j] = True
            free_rows[i] = free_columns[j] = False
    return mask


@op("similarity_focus", "X", "Out", {"axis": 1, "indexes": []}, infer=same_as("X"), grad=False)
def similarity_focus(k: Call, x: Array) -> Array:
    """Out = 1 along `axis` where any of the slices `indexes` is marked, else 0. On the host."""
    values, axis = k.dev.download(x), k.attrs["axis"]
    out = np.zeros_like(values)
    for image, marks in zip(values, out):
        for index in k.attrs["indexes"]:
            mask = _focus(image.take(index, axis=axis - 1))
            np.moveaxis(marks, axis - 1, 0)[:, mask] = 1
    return k.dev.upload(out)

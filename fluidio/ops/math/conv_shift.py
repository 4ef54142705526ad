"""conv_shift: a circular correlation of rows."""

from __future__ import annotations

from typing import Any

from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op, same_as
from fluidio.tensor.array import Array

__all__: list[str] = []


def _shifts(width: int) -> list[tuple[int, int]]:
    """Return each column of Y and its offset from the output's position."""
    return [(j, j - (width - 1) // 2) for j in range(width)]


@op("conv_shift", "X Y", "Out", infer=same_as("X"), grad=True)
def conv_shift(k: Call, x: Array, y: Array) -> Any:
    """Out[i] = the sum over j of X[i + j - half the width of Y, wrapping around] * Y[j]."""
    return sum(k.xp.roll(x, -step, axis=1) * y[:, j : j + 1] for j, step in _shifts(y.shape[1]))


@gradient("conv_shift", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def conv_shift_grad(k: Call, x: Array, y: Array, dout: Array) -> Any:
    xp, shifts = k.xp, _shifts(y.shape[1])
    dx = sum(xp.roll(dout * y[:, j : j + 1], step, axis=1) for j, step in shifts) if k.wants("X@GRAD") else None
    dy = None
    if k.wants("Y@GRAD"):
        dy = xp.stack([(xp.roll(x, -step, axis=1) * dout).sum(axis=1) for _, step in shifts], axis=1)
    return dx, dy

"""Sample images at given positions (grid_sampler, affine_grid); position encoding; products of feature maps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fluidio.ops.compiled.turned import row_by_row
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op, same_as
from fluidio.ops.shape.dims import host_ints
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_affine(c: InferContext) -> None:
    sizes = c.attrs["output_shape"]
    c.check(c.has("OutputShape") or len(sizes) == 4, f"output_shape must hold 4 sizes, got {sizes}")
    c.set("Output", (c.shape("Theta")[0], -1, -1, 2), c.dtype("Theta"), 0)  # Fluid: whatever output_shape says


def _plane(k: Call, theta: Array, shape: Array) -> tuple[Any, int, int]:
    """Return all pixels as rows (x, y, 1) with x and y in [-1, 1], and height and width."""
    height, width = (host_ints(k, shape) or k.attrs["output_shape"])[2:]
    x, y = np.linspace(-1, 1, width), np.linspace(-1, 1, height)
    rows = np.stack([np.tile(x, height), np.repeat(y, width), np.ones(height * width)], axis=1)
    return k.dev.upload(rows.astype(theta.dtype)), height, width


@op(
    "affine_grid",
    "Theta OutputShape?",
    "Output",
    {"use_cudnn": True, "output_shape": []},
    infer=_infer_affine,
    grad=True,
    lod="none",
)
def affine_grid(k: Call, theta: Array, shape: Array) -> Array:
    """Output = the source position of each pixel under the affine maps Theta [N, 2, 3]."""
    rows, height, width = _plane(k, theta, shape)
    return k.xp.matmul(rows, theta.swapaxes(1, 2)).reshape(-1, height, width, 2)


@gradient("affine_grid", "Theta OutputShape Output@GRAD", "Theta@GRAD")
def affine_grid_grad(k: Call, theta: Array, shape: Array, dout: Array) -> Array:
    rows, _, _ = _plane(k, theta, shape)
    return k.xp.matmul(dout.reshape(dout.shape[0], math.prod(dout.shape[1:3]), 2).swapaxes(1, 2), rows)


def _infer_sampler(c: InferContext) -> None:
    x, grid = c.shape("X"), c.shape("Grid")
    c.check(
        len(x) == 4 and len(grid) == 4 and grid[3] in (2, -1),
        f"X must have 4 dims and Grid 4 with the last of size 2; got X {list(x)} and Grid {list(grid)}",
    )
    c.set("Output", (x[0], x[1], *x[2:]), c.dtype("X"), 0)


class _Samples:
    """The four pixels around each position of a grid: their positions, weights, and whether they are in the image."""

    def __init__(self, k: Call, x: Array, grid: Array) -> None:
        xp = k.xp
        n, _, height, width = x.shape
        self.scale = ((width - 1) / 2, (height - 1) / 2)
        px, py = (grid[..., 0] + 1) * self.scale[0], (grid[..., 1] + 1) * self.scale[1]
        left, top = xp.floor(px), xp.floor(py)
        self.dx, self.dy = (px - left).astype(x.dtype), (py - top).astype(x.dtype)
        self.corners = []
        base = xp.arange(n).reshape(n, 1, 1) * (height * width)
        for down in (0, 1):
            for right in (0, 1):
                column, row = (left + right).astype(np.int64), (top + down).astype(np.int64)
                inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
                flat = base + xp.clip(row, 0, height - 1) * width + xp.clip(column, 0, width - 1)
                across, along = (self.dx if right else 1 - self.dx), (self.dy if down else 1 - self.dy)
                self.corners.append((flat, inside, across, along, 2 * right - 1, 2 * down - 1))

    @staticmethod
    def values(x: Any, flat: Any, inside: Any) -> Any:
        """Return the pixels [N, H, W, C] at flat positions, zeros outside the image."""
        pixels = x.transpose(0, 2, 3, 1).reshape(-1, x.shape[1])
        return pixels[flat] * inside[..., None]


@op("grid_sampler", "X Grid", "Output", {"use_cudnn": True}, infer=_infer_sampler, grad=True, lod="none")
def grid_sampler(k: Call, x: Array, grid: Array) -> Array:
    """Output = X interpolated at the positions in Grid ([-1, 1] is the image, zeros outside)."""
    samples = _Samples(k, x, grid)
    total: Any = 0
    for flat, inside, across, along, _, _ in samples.corners:
        total = total + samples.values(x, flat, inside) * (across * along)[..., None]
    return row_by_row(k.xp, total.transpose(0, 3, 1, 2))


@gradient("grid_sampler", "X Grid Output@GRAD", "X@GRAD Grid@GRAD")
def grid_sampler_grad(k: Call, x: Array, grid: Array, dout: Array) -> KernelResult:
    xp, samples = k.xp, _Samples(k, x, grid)
    d = dout.transpose(0, 2, 3, 1)
    dx = xp.zeros((x.shape[0] * x.shape[2] * x.shape[3], x.shape[1]), x.dtype)
    dgrid = xp.zeros_like(grid)
    for flat, inside, across, along, sign_x, sign_y in samples.corners:
        if k.wants("X@GRAD"):
            weighted = d * (across * along * inside)[..., None]
            k.dev.scatter_add(dx, flat.reshape(-1), weighted.reshape(-1, x.shape[1]))
        if k.wants("Grid@GRAD"):
            slope = (samples.values(x, flat, inside) * d).sum(axis=-1)
            dgrid[..., 0] += slope * along * sign_x * samples.scale[0]
            dgrid[..., 1] += slope * across * sign_y * samples.scale[1]
    shape = (x.shape[0], *x.shape[2:], x.shape[1])
    back = row_by_row(xp, dx.reshape(shape).transpose(0, 3, 1, 2)) if k.wants("X@GRAD") else None
    return back, dgrid if k.wants("Grid@GRAD") else None


@op("add_position_encoding", "X", "Out", {"alpha": 1.0, "beta": 1.0}, infer=same_as("X"), grad=True, lod="kernel")
def add_position_encoding(k: Call, x: Array) -> Array:
    """Out = alpha X plus beta times sines and cosines of the position in the sequence."""
    lod = k.lod("X")
    k.out_lods["Out"] = lod
    half = x.shape[-1] // 2
    if lod:
        starts = lod[-1]
        places = np.arange(x.shape[0]) - np.repeat(starts[:-1], np.diff(starts))
    else:
        places = np.arange(x.shape[1])
    speeds = np.power(10000.0, np.arange(half) / (half - 1)) if half > 1 else np.array([10000.0])
    angles = places[:, None] / speeds
    code = np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(x.dtype)
    return k.attrs["alpha"] * x + k.attrs["beta"] * k.dev.upload(code)


@gradient("add_position_encoding", "Out@GRAD", "X@GRAD", lod="none")
def add_position_encoding_grad(k: Call, dout: Array) -> Array:
    return k.attrs["alpha"] * dout


def _infer_fsp(c: InferContext) -> None:
    x, y = c.shape("X"), c.shape("Y")
    fits = len(x) == len(y) == 4 and all(a == b or a < 0 or b < 0 for a, b in zip(x[2:], y[2:]))
    c.check(fits, f"X {list(x)} and Y {list(y)} must be images of the same height and width")
    c.set("Out", (c.shape("X")[0], c.shape("X")[1], c.shape("Y")[1]), c.dtype("X"), 0)


def _flat(x: Array) -> Array:
    return x.reshape(*x.shape[:2], -1)


@op("fsp", "X Y", "Out", infer=_infer_fsp, grad=True, lod="none")
def fsp(k: Call, x: Array, y: Array) -> Array:
    """Out = products of each channel of X with each of Y, averaged over the pixels."""
    return k.xp.matmul(_flat(x), _flat(y).swapaxes(1, 2)) / (x.shape[2] * x.shape[3])


@gradient("fsp", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def fsp_grad(k: Call, x: Array, y: Array, dout: Array) -> KernelResult:
    d = dout / (x.shape[2] * x.shape[3])
    return (
        k.xp.matmul(d, _flat(y)).reshape(x.shape) if k.wants("X@GRAD") else None,
        k.xp.matmul(d.swapaxes(1, 2), _flat(x)).reshape(y.shape) if k.wants("Y@GRAD") else None,
    )

"""Convolution with shifted samples: deformable_conv, deformable_conv_v1. On the host."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_ATTRS: dict[str, Any] = {
    "strides": [1, 1],
    "paddings": [0, 0],
    "dilations": [1, 1],
    "groups": 1,
    "deformable_groups": 1,
    "im2col_step": 64,
}


def _infer(c: InferContext) -> None:
    x, weight, a = c.shape("Input"), c.shape("Filter"), c.attrs
    c.check(len(x) == 4, f"Input must have 4 dims, its shape is {list(x)}")
    c.check(
        x[1] == weight[1] * a["groups"],
        f"Input has {x[1]} channels, but Filter {weight[1]} in {a['groups']} groups needs {weight[1] * a['groups']}",
    )
    sides = []
    for side in (0, 1):
        window = a["dilations"][side] * (weight[2 + side] - 1) + 1
        reach = x[2 + side] + 2 * a["paddings"][side] - window
        sides.append(reach // a["strides"][side] + 1 if x[2 + side] >= 0 else -1)
    c.set("Output", (x[0], weight[0], *sides), c.dtype("Input"))


class _Samples:
    """The sampled positions and their weights, for every deformable group, filter point and output."""

    def __init__(self, k: Call, x: Array, offset: Array, mask: Array | None, kernel: tuple[int, int]) -> None:
        a = k.attrs
        images, _, self.height, self.width = x.shape
        out = offset.shape[2:]
        points = kernel[0] * kernel[1]
        moves = offset.reshape(images, a["deformable_groups"], points, 2, *out)
        self.mask = np.ones_like(moves[:, :, :, 0]) if mask is None else mask.reshape(moves[:, :, :, 0].shape)
        self.y = moves[:, :, :, 0] + _grid(a, kernel, out, 0, moves.dtype)
        self.x = moves[:, :, :, 1] + _grid(a, kernel, out, 1, moves.dtype)
        self.inside = (self.y > -1) & (self.x > -1) & (self.y < self.height) & (self.x < self.width)
        self.top, self.left = np.floor(self.y), np.floor(self.x)

    def corners(self) -> Any:
        """Yield for each neighbouring pixel its flat index, its weight, and the weight's derivatives by y and x."""
        down, right = self.y - self.top, self.x - self.left
        for low_y in (True, False):
            for low_x in (True, False):
                row = (self.top if low_y else self.top + 1).astype(np.int64)
                column = (self.left if low_x else self.left + 1).astype(np.int64)
                there = self.inside & (row >= 0) & (row < self.height) & (column >= 0) & (column < self.width)
                wy, wx = (1 - down if low_y else down), (1 - right if low_x else right)
                index = np.where(there, row * self.width + column, 0)
                slope_y, slope_x = (-wx if low_y else wx), (-wy if low_x else wy)
                yield index, wy * wx * there, slope_y * there, slope_x * there


def _grid(
    attrs: dict[str, Any], kernel: tuple[int, int], out: tuple[int, ...], side: int, dtype: npt.DTypeLike
) -> Array:
    """Return the positions an unshifted filter reads along one side: [points, rows, columns]."""
    point = np.arange(kernel[0] * kernel[1])
    step = point // kernel[1] if side == 0 else point % kernel[1]
    start = np.arange(out[side]) * attrs["strides"][side] - attrs["paddings"][side]
    shape = (1, -1, 1) if side == 0 else (1, 1, -1)
    return (start.reshape(shape) + (step * attrs["dilations"][side])[:, None, None]).astype(dtype)


def _by_group(x: Array, groups: int) -> Array:
    """Return the image as [images, deformable groups, channels, pixels]."""
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, -1)


def _read(flat: Array, index: Array) -> Array:
    """Return pixels [images, groups, channels, points, rows, columns] at flat indices without the channels."""
    spread = index.reshape(*index.shape[:2], 1, -1)
    taken = np.take_along_axis(flat, np.broadcast_to(spread, (*flat.shape[:3], spread.shape[-1])), axis=3)
    return taken.reshape(*flat.shape[:3], *index.shape[2:])


def _columns(k: Call, x: Any, offset: Any, mask: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return the samples, their values before masking, and the weight in groups [groups, filters, inputs]."""
    step = min(k.attrs["im2col_step"], x.shape[0])
    if x.shape[0] % step:
        raise EnforceNotMet(f"im2col_step {step} must divide the batch size {x.shape[0]}")
    samples = _Samples(k, x, offset, mask, weight.shape[2:])
    flat = _by_group(x, k.attrs["deformable_groups"])
    values = sum(_read(flat, index) * share[:, :, None] for index, share, _, _ in samples.corners())
    groups = k.attrs["groups"]
    return samples, values, weight.reshape(groups, weight.shape[0] // groups, -1)


def _grouped(array: Array, groups: int) -> Array:
    """Return columns by deformable group, channel, point and place as [images, groups, inputs, places]."""
    images, places = array.shape[0], array.shape[-2] * array.shape[-1]
    return array.reshape(images, groups, -1, places)


_warned = False


def _mixed(k: Call, out: Array, back: bool = False) -> Array:
    """Return the output as Fluid computes it, or convert its gradient to that of the correct output.

    Fluid computes im2col_step images at once as [filters, images, places] but reads the result as [images, filters,
    places]. For a batch smaller than im2col_step it computes nothing and returns zeros, which is not imitated.
    """
    global _warned
    images, filters = out.shape[:2]
    step = k.attrs["im2col_step"]
    if step == 1 or filters == 1 or step > images:
        return out
    if not _warned:
        _warned = True
        warnings.warn(
            f"deformable_conv with im2col_step {step}: like Fluid 1.8.5, fluidio mixes the images of a batch; "
            "im2col_step=1 gives each image its own output",
            stacklevel=2,
        )
    parts = (filters, step) if back else (step, filters)
    return out.reshape(images // step, *parts, -1).transpose(0, 2, 1, 3).reshape(out.shape)


def _forward(k: Call, x: Any, offset: Any, mask: Any, weight: Any) -> Any:
    image, moves, filters = (k.dev.download(v) for v in (x, offset, weight))
    factor = None if mask is None else k.dev.download(mask)
    samples, values, matrix = _columns(k, image, moves, factor, filters)
    columns = _grouped(values * samples.mask[:, :, None], k.attrs["groups"])
    out = matrix[None] @ columns
    return k.dev.upload(_mixed(k, out.reshape(image.shape[0], filters.shape[0], *moves.shape[2:])))


def _backward(k: Call, x: Any, offset: Any, mask: Any, weight: Any, dout: Any) -> tuple[Any, Any, Any, Any]:
    image, moves, filters, d = (k.dev.download(v) for v in (x, offset, weight, dout))
    factor = None if mask is None else k.dev.download(mask)
    groups = k.attrs["groups"]
    samples, values, matrix = _columns(k, image, moves, factor, filters)
    by_place = _mixed(k, d, back=True).reshape(d.shape[0], groups, d.shape[1] // groups, -1)
    columns = _grouped(values * samples.mask[:, :, None], groups)
    dweight = np.einsum("ngop,ngip->goi", by_place, columns).reshape(filters.shape)
    dvalues = (matrix.transpose(0, 2, 1)[None] @ by_place).reshape(values.shape)
    dmask = (dvalues * values).sum(axis=2).reshape(-1, values.shape[1] * values.shape[3], *moves.shape[2:])
    dvalues = dvalues * samples.mask[:, :, None]
    flat = _by_group(image, k.attrs["deformable_groups"])
    dflat = np.zeros_like(flat)
    slopes = np.zeros((*samples.y.shape[:3], 2, *moves.shape[2:]), d.dtype)
    for index, share, slope_y, slope_x in samples.corners():
        pixels = _read(flat, index)
        slopes[:, :, :, 0] += (dvalues * pixels).sum(axis=2) * slope_y
        slopes[:, :, :, 1] += (dvalues * pixels).sum(axis=2) * slope_x
        _add_at(dflat, index, dvalues * share[:, :, None])
    return dflat.reshape(image.shape), slopes.reshape(moves.shape), dmask, dweight


def _add_at(dflat: Array, index: Array, values: Array) -> None:
    for n in range(dflat.shape[0]):
        for g in range(dflat.shape[1]):
            places = index[n, g].reshape(-1)
            for c in range(dflat.shape[2]):
                added = np.bincount(places, values[n, g, c].reshape(-1), dflat.shape[3])
                dflat[n, g, c] += added.astype(dflat.dtype)


def _wanted(k: Call, **found: Any) -> tuple[Any, ...]:
    return tuple(k.dev.upload(v) if k.wants(f"{slot}@GRAD") else None for slot, v in found.items())


@op("deformable_conv", "Input Offset Mask Filter", "Output", _ATTRS, infer=_infer, grad=True, lod="none")
def deformable_conv(k: Call, x: Array, offset: Array, mask: Array, weight: Array) -> Array:
    """Output = a convolution that reads each sample at a position shifted by Offset, times Mask."""
    return _forward(k, x, offset, mask, weight)


@gradient("deformable_conv", "Input Offset Mask Filter Output@GRAD", "Input@GRAD Offset@GRAD Mask@GRAD Filter@GRAD")
def deformable_conv_grad(k: Call, x: Array, offset: Array, mask: Array, weight: Array, dout: Array) -> KernelResult:
    dx, doffset, dmask, dweight = _backward(k, x, offset, mask, weight, dout)
    return _wanted(k, Input=dx, Offset=doffset, Mask=dmask, Filter=dweight)


@op("deformable_conv_v1", "Input Offset Filter", "Output", _ATTRS, infer=_infer, grad=True, lod="none")
def deformable_conv_v1(k: Call, x: Array, offset: Array, weight: Array) -> Array:
    """Output = a convolution that reads each sample at a position shifted by Offset."""
    return _forward(k, x, offset, None, weight)


@gradient("deformable_conv_v1", "Input Offset Filter Output@GRAD", "Input@GRAD Offset@GRAD Filter@GRAD")
def deformable_conv_v1_grad(k: Call, x: Array, offset: Array, weight: Array, dout: Array) -> KernelResult:
    dx, doffset, _, dweight = _backward(k, x, offset, None, weight, dout)
    return _wanted(k, Input=dx, Offset=doffset, Filter=dweight)

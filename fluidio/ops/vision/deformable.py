"""Convolution with shifted samples: deformable_conv, deformable_conv_v1. On the host."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.ops.threads import thread_count
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

compiled: Any
try:
    from fluidio.ops.compiled import _samples as compiled

    compiled.instructions(512)
except ImportError:
    compiled = None

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
        with np.errstate(invalid="ignore"):  # positions that are not finite lie outside
            down, right = self.y - self.top, self.x - self.left
            top, left = (np.where(self.inside, side, 0).astype(np.int64) for side in (self.top, self.left))
        for low_y in (True, False):
            for low_x in (True, False):
                row, column = (top if low_y else top + 1), (left if low_x else left + 1)
                there = self.inside & (row >= 0) & (row < self.height) & (column >= 0) & (column < self.width)
                wy, wx = (1 - down if low_y else down), (1 - right if low_x else right)
                index = np.where(there, row * self.width + column, 0)
                slope_y, slope_x = (-wx if low_y else wx), (-wy if low_x else wy)
                yield index, *(np.where(there, part, 0) for part in (wy * wx, slope_y, slope_x))


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


class _Columns:
    """The masked samples of a call [images, channels, points, places], and where gradients of theirs go."""

    def __init__(self, k: Call, x: Array, offset: Array, mask: Array | None, weight: Array) -> None:
        step = min(k.attrs["im2col_step"], x.shape[0])
        if step and x.shape[0] % step:
            raise EnforceNotMet(f"im2col_step {step} must divide the batch size {x.shape[0]}")
        self.k, self.arrays, self.kernel = k, (x, offset, mask), weight.shape[2:]
        self.shape = (*x.shape[:2], weight.shape[2] * weight.shape[3], offset.shape[2] * offset.shape[3])

    def _in_c(self) -> bool:
        arrays = [a for a in self.arrays if a is not None]
        return (
            compiled is not None
            and all(type(a) is np.ndarray and a.dtype == np.float32 and a.flags.c_contiguous for a in arrays)
            and all(a.size for a in arrays)
        )

    def _numbers(self) -> tuple[int, ...]:
        a, (x, offset, _) = self.k.attrs, self.arrays
        lists = (self.kernel, *(a[name] for name in ("strides", "paddings", "dilations")))
        return (*x.shape, a["deformable_groups"], *offset.shape[2:], *(n for pair in lists for n in pair))

    def _samples(self) -> tuple[_Samples, Array, Array]:
        x, offset, mask = self.arrays
        samples, flat = _Samples(self.k, x, offset, mask, self.kernel), _by_group(x, self.k.attrs["deformable_groups"])
        values: Any = sum(_read(flat, index) * share[:, :, None] for index, share, _, _ in samples.corners())
        return samples, flat, values

    def values(self) -> Array:
        """Return the columns."""
        if not self._in_c():
            samples, _, values = self._samples()
            return (values * samples.mask[:, :, None]).reshape(self.shape)
        out = np.empty(self.shape, np.float32)
        compiled.read(*self.arrays, out, self._numbers(), thread_count())
        return out

    def spread(self, d: Array) -> tuple[Array, Array, Array, Array | None]:
        """Return the columns, and from their gradients those of the image, of Offset and of Mask; D may change."""
        image, moves, mask = self.arrays
        if self._in_c():
            columns, dx, slopes = np.ascontiguousarray(d), np.zeros_like(image), np.empty_like(moves)
            dmask = None if mask is None else np.empty_like(mask)
            compiled.spread(*self.arrays, columns, dx, slopes, dmask, self._numbers(), thread_count())
            return columns, dx, slopes, dmask
        samples, flat, values = self._samples()
        dvalues = d.reshape(values.shape)
        dmask = (dvalues * values).sum(axis=2).reshape(-1, values.shape[1] * values.shape[3], *moves.shape[2:])
        dvalues, values = (a * samples.mask[:, :, None] for a in (dvalues, values))
        dflat = np.zeros_like(flat)
        slopes = np.zeros((*samples.y.shape[:3], 2, *moves.shape[2:]), d.dtype)
        for index, share, slope_y, slope_x in samples.corners():
            met = (dvalues * _read(flat, index)).sum(axis=2)
            slopes[:, :, :, 0] += met * slope_y
            slopes[:, :, :, 1] += met * slope_x
            _add_at(dflat, index, dvalues * share[:, :, None])
        return values.reshape(self.shape), dflat.reshape(image.shape), slopes.reshape(moves.shape), dmask


def _by_groups(array: Array, groups: int) -> Array:
    """Return columns as [images, groups, inputs, places]."""
    return array.reshape(array.shape[0], groups, array.shape[1] // groups * array.shape[2], array.shape[3])


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
    groups = k.attrs["groups"]
    columns = _by_groups(_Columns(k, image, moves, factor, filters).values(), groups)
    out = filters.reshape(1, groups, filters.shape[0] // groups, -1) @ columns
    return k.dev.upload(_mixed(k, out.reshape(image.shape[0], filters.shape[0], *moves.shape[2:])))


def _backward(k: Call, x: Any, offset: Any, mask: Any, weight: Any, dout: Any) -> tuple[Any, Any, Any, Any]:
    image, moves, filters, d = (k.dev.download(v) for v in (x, offset, weight, dout))
    factor = None if mask is None else k.dev.download(mask)
    groups = k.attrs["groups"]
    columns = _Columns(k, image, moves, factor, filters)
    by_place = _mixed(k, d, back=True).reshape(d.shape[0], groups, d.shape[1] // groups, d.shape[2] * d.shape[3])
    matrix = filters.reshape(1, groups, filters.shape[0] // groups, -1)
    dvalues = (matrix.transpose(0, 1, 3, 2) @ by_place).reshape(columns.shape)
    values, dx, slopes, dmask = columns.spread(dvalues)
    # Image by image: a product of all at once would copy them.
    dweight = np.zeros(matrix.shape[1:], d.dtype)
    for one, other in zip(by_place, _by_groups(values, groups)):
        dweight += one @ other.transpose(0, 2, 1)
    return dx, slopes, dmask, dweight.reshape(filters.shape)


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

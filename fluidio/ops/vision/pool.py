"""Pooling in two and three dims, vectorised over the positions in the window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from fluidio.errors import EnforceNotMet
from fluidio.ops.compiled import channels
from fluidio.ops.compiled.turned import row_by_row
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.ops.threads import share
from fluidio.ops.vision import windows
from fluidio.ops.vision.conv import channels_last
from fluidio.ops.vision.finite import weighted
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


compiled: Any
try:
    from fluidio.ops.compiled import _regions as compiled

    compiled.instructions(512)
except ImportError:
    compiled = None

_WORTH_A_THREAD = 1 << 16
"""Elements below which another thread costs more than it saves."""
_LOWEST = float(np.finfo(np.float32).min)


def _attrs(dims: int) -> dict[str, Any]:
    return {
        "pooling_type": "max",
        "ksize": [],
        "global_pooling": False,
        "strides": [1] * dims,
        "paddings": [0] * dims,
        "exclusive": True,
        "adaptive": False,
        "ceil_mode": False,
        "padding_algorithm": "EXPLICIT",
        "use_cudnn": False,
        "data_format": "NCHW" if dims == 2 else "NCDHW",
    }


def _parts(attrs: dict[str, Any], sizes: Sequence[int]) -> list[int]:
    """Return the number of windows of adaptive pooling; Fluid: with global pooling as well, one window per element."""
    return list(sizes if attrs["global_pooling"] else attrs["ksize"])


def _infer(c: InferContext) -> None:
    shape, a = c.shape("X"), c.attrs
    dims = len(a["ksize"])
    c.check(len(shape) == dims + 2, f"X must have {dims + 2} dims, its shape is {list(shape)}")
    last = channels_last(a)
    sizes = shape[1:-1] if last else shape[2:]
    if a["adaptive"]:
        outs = _parts(a, sizes)
    elif a["global_pooling"]:
        outs = [1] * dims
    else:
        pads = windows.padding_pairs(a, [max(n, 1) for n in sizes], a["ksize"], a["strides"])
        outs = windows.out_sizes(sizes, a["ksize"], a["strides"], pads, a["ceil_mode"])
        c.check(all(o > 0 or o == -1 for o in outs), f"X {list(shape)} is too small for a window of {a['ksize']}")
    c.set("Out", (shape[0], *outs, shape[-1]) if last else (*shape[:2], *outs), c.dtype("X"), c.input("X").lod_level)


class _Geometry:
    """One pooling on one input: which inputs and outputs meet at each position in the window."""

    def __init__(self, k: Call, sizes: tuple[int, ...]) -> None:
        a = k.attrs
        self.sizes = sizes
        if a["adaptive"]:  # Fluid: as many windows as adaptive pooling, but all of one size; layers use ..._with_index
            self.kernel = self.outs = _parts(a, sizes)
            self.strides, self.pads = a["strides"], [(0, 0)] * len(sizes)
        elif a["global_pooling"]:
            self.kernel, self.strides, self.pads = list(sizes), [1] * len(sizes), [(0, 0)] * len(sizes)
            self.outs = [1] * len(sizes)
        else:
            self.kernel, self.strides = a["ksize"], a["strides"]
            self.pads = windows.padding_pairs(a, sizes, self.kernel, self.strides)
            self.outs = windows.out_sizes(sizes, self.kernel, self.strides, self.pads, a["ceil_mode"])
        if any(o < 1 for o in self.outs):
            raise EnforceNotMet(f"an input of {list(sizes)} is too small for a window of {list(self.kernel)}")
        self.whole = (
            list(self.kernel) == list(sizes) and all(o == 1 for o in self.outs) and not any(map(any, self.pads))
        )

    def numbers(self) -> tuple[int, ...]:
        """Return the window parameters for the C code: sizes, strides and leading paddings of a plane."""
        return (*self.kernel, *self.strides, *(before for before, _ in self.pads))

    def places(self) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
        """Yield for each position in the window the slices of the input and the output that meet there."""
        for offset in product(*(range(n) for n in self.kernel)):
            pairs = [self._meet(i, o) for i, o in enumerate(offset)]
            if all(pairs):
                lead = (slice(None), slice(None))
                yield (*lead, *(p[0] for p in pairs if p)), (*lead, *(p[1] for p in pairs if p))

    def _meet(self, dim: int, offset: int) -> tuple[slice, slice] | None:
        """Return the slices along one dim: windows whose element `offset` is in the input, and those elements."""
        size, stride, before = self.sizes[dim], self.strides[dim], self.pads[dim][0]
        start = max(0, -((offset - before) // stride))
        stop = min(self.outs[dim], (size - 1 - offset + before) // stride + 1)
        if stop <= start:
            return None
        low = start * stride + offset - before
        return slice(low, low + (stop - start - 1) * stride + 1, stride), slice(start, stop)

    def counts(self, exclusive: bool, dtype: Any) -> Any:
        """Return how many elements each mean covers: a number, or an array over the outputs."""
        if not exclusive or self.whole:
            return dtype.type(windows.volume(self.kernel))
        total = np.ones((1,) * len(self.kernel), dtype)
        for dim, (size, kernel, stride) in enumerate(zip(self.sizes, self.kernel, self.strides)):
            starts = np.arange(self.outs[dim]) * stride - self.pads[dim][0]
            inside = np.minimum(starts + kernel, size) - np.maximum(starts, 0)
            total = total * inside.astype(dtype).reshape((-1,) + (1,) * (len(self.kernel) - 1 - dim))
        return total


def _counts(k: Call, g: _Geometry, dtype: npt.DTypeLike) -> Array:
    counts = g.counts(k.attrs["exclusive"], dtype)
    return k.dev.upload(counts) if isinstance(counts, np.ndarray) else counts


def _first(k: Call, x: Array) -> Array:
    return k.xp.moveaxis(x, -1, 1) if channels_last(k.attrs) else x


def _back(k: Call, x: Array) -> Array:
    return row_by_row(k.xp, k.xp.moveaxis(x, 1, -1)) if channels_last(k.attrs) else x


def _max(k: Call, x: Array, g: _Geometry) -> Array:
    if g.whole:
        return x.max(axis=tuple(range(2, x.ndim)), keepdims=True)
    if len(g.sizes) == 2 and x.size and channels.fits(x):
        return channels.max_pool(x, g.outs, g.numbers(), _LOWEST)
    covers_all = not any(map(any, g.pads)) and all(
        (o - 1) * s + n <= size for o, s, n, size in zip(g.outs, g.strides, g.kernel, g.sizes)
    )
    # Fluid: a window outside the input gives the lowest float32.
    out: Any = None if covers_all else k.xp.full((*x.shape[:2], *g.outs), _LOWEST, x.dtype)
    for source, place in g.places():
        if out is None:
            out = x[source].copy()
        else:
            k.xp.maximum(out[place], x[source], out=out[place])
    return out


def _max_grad(k: Call, x: Array, out: Array, dout: Array, g: _Geometry) -> Array:
    """Pass each window's gradient to its first largest element."""
    if len(g.sizes) == 2 and x.size and channels.fits(x, out, dout):
        return channels.max_pool_grad(x, out, dout, g.numbers())
    xp = k.xp
    dx = xp.zeros_like(x)
    apart = all(n <= s for n, s in zip(g.kernel, g.strides))
    waiting = xp.ones(out.shape, bool)
    for source, place in g.places():
        hit = x[source] == out[place]
        hit &= waiting[place]
        if apart:
            xp.multiply(dout[place], hit, out=dx[source])
        else:
            dx[source] += dout[place] * hit
        waiting[place] ^= hit
    return dx


def max_places(k: Call, x: Array, out: Array, values: Array) -> Array:
    """Return the entry of `values` at the first largest element of each window."""
    x, out, values = _first(k, x), _first(k, out), _first(k, values)
    g = _Geometry(k, x.shape[2:])
    waiting = k.xp.ones(out.shape, bool)
    found = k.xp.zeros(out.shape, values.dtype)
    for source, place in g.places():
        hit = (x[source] == out[place]) & waiting[place]
        found[place] += values[source] * hit
        waiting[place] ^= hit
    return _back(k, found)


def forward(k: Call, x: Array) -> Array:
    """Return the largest element or the mean of each window."""
    x = _first(k, x)
    if k.attrs["adaptive"] and k.attrs["pooling_type"] == "avg":
        return _back(k, _adaptive_forward(k, x))
    g = _Geometry(k, x.shape[2:])
    return _back(k, _max(k, x, g) if k.attrs["pooling_type"] == "max" else _mean(k, x, g))


def _mean(k: Call, x: Array, g: _Geometry) -> Array:
    if g.whole:
        return x.mean(axis=tuple(range(2, x.ndim)), keepdims=True)
    out = k.xp.zeros((*x.shape[:2], *g.outs), x.dtype)
    for source, place in g.places():
        out[place] += x[source]
    out /= _counts(k, g, x.dtype)
    return out


def _mean_grad(k: Call, x: Array, dout: Array, g: _Geometry) -> Array:
    share = dout * (1 / _counts(k, g, np.dtype(np.float32)))  # Fluid: the factor has 32 bits
    if g.whole:
        return k.xp.broadcast_to(share, x.shape).copy()
    dx = k.xp.zeros(x.shape, dout.dtype)
    for source, place in g.places():
        dx[source] += share[place]
    return dx


def _stretches(size: int, parts: int) -> list[tuple[int, int]]:
    """Return the start and stop of each window of adaptive pooling."""
    return [(i * size // parts, -(-(i + 1) * size // parts)) for i in range(parts)]


def _means(x: Array, stretches: list[tuple[int, int]]) -> Array:
    """Return the means of stretches of the last axis."""
    means: Array = np.stack([x[..., low:high].sum(-1) / (high - low) for low, high in stretches], -1)
    return means


def _adaptive(k: Call, x: Array, sizes: list[tuple[int, int]], transpose: bool) -> Array:
    """Average each window, or with `transpose` spread gradients over it."""
    if transpose:
        area = np.ones((), np.float32)
        for size, parts in sizes:
            area = area[..., None] * np.array([high - low for low, high in _stretches(size, parts)], np.float32)
        x = x * k.dev.upload(1 / area)  # Fluid: the factor has 32 bits
    for dim, (size, parts) in enumerate(sizes):
        stretches = _stretches(size, parts)
        rows = np.zeros((parts, size), x.dtype)
        for row, (low, high) in zip(rows, stretches):
            row[low:high] = 1 if transpose else 1 / (high - low)
        matrix = k.dev.upload(rows)
        moved = k.xp.moveaxis(x, 2 + dim, -1)
        if transpose or k.dev.is_gpu:
            x = k.xp.moveaxis(moved @ (matrix if transpose else matrix.T), -1, 2 + dim)
        else:
            x = np.moveaxis(weighted(moved, matrix.T, partial(_means, moved, stretches)), -1, 2 + dim)
    return row_by_row(k.xp, x)


def _register(name: str, dims: int) -> None:
    @op(name, "X", "Out", _attrs(dims), infer=_infer, grad=True)
    def kernel(k: Call, x: Any) -> Any:
        """Out = the largest element or the mean of each window."""
        return forward(k, x)

    @gradient(name, "X Out Out@GRAD", "X@GRAD")
    def kernel_grad(k: Call, x: Array, out: Array, dout: Array) -> Array:
        x, out, dout = _first(k, x), _first(k, out), _first(k, dout)
        if k.attrs["adaptive"] and k.attrs["pooling_type"] == "avg":
            return _back(k, _adaptive(k, dout, list(zip(x.shape[2:], _parts(k.attrs, x.shape[2:]))), True))
        g = _Geometry(k, x.shape[2:])
        return _back(
            k, _max_grad(k, x, out, dout, g) if k.attrs["pooling_type"] == "max" else _mean_grad(k, x, dout, g)
        )


def _adaptive_forward(k: Call, x: Array) -> Array:
    return _adaptive(k, x, list(zip(x.shape[2:], _parts(k.attrs, x.shape[2:]))), False)


_register("pool2d", 2)
_register("pool3d", 3)


def _infer_with_index(c: InferContext) -> None:
    shape, a = c.shape("X"), c.attrs
    outs = [o[1] for o in _cells_of(a, shape[2:])] if min(shape[2:]) > 0 else list(a["ksize"])
    c.set("Out", (*shape[:2], *outs), c.dtype("X"), c.input("X").lod_level)
    c.set("Mask", (*shape[:2], *outs), lod_level=c.input("X").lod_level)  # Fluid: layers declare it as X, it is int32


def _cells_of(a: dict[str, Any], sizes: tuple[int, ...]) -> list[tuple[list[tuple[int, int]], int]]:
    """Return the (start, stop) of the windows of each dim, and their number."""
    if a["adaptive"]:
        parts = _parts(a, sizes)
        return [([(i * n // p, -(-(i + 1) * n // p)) for i in range(p)], p) for n, p in zip(sizes, parts)]
    if a["global_pooling"]:
        return [([(0, n)], 1) for n in sizes]
    found = []
    for n, kernel, stride, pad in zip(sizes, a["ksize"], a["strides"], a["paddings"]):
        count = (n - kernel + 2 * pad) // stride + 1
        starts = [i * stride - pad for i in range(count)]
        found.append(([(max(s, 0), min(s + kernel, n)) for s in starts], count))
    return found


def _cells_in_c(x: Array, cells: list[tuple[list[tuple[int, int]], int]]) -> tuple[Array, Array] | None:
    """Return the largest elements of windows of images in single precision, and their positions, or None."""
    (down, rows), (across, columns), *more = cells
    if compiled is None or more or not channels.fits(x) or not x.size or any(b <= a for a, b in (*down, *across)):
        return None
    images = len(x)
    edges = np.tile(np.array([*down, *across], np.int64).reshape(-1), (images, 1))
    out = np.empty((*x.shape[:2], rows, columns), np.float32)
    places = np.empty(out.shape, np.int64)
    sizes = (*x.shape, rows, columns)
    share(
        images,
        -(-_WORTH_A_THREAD * images // x.size),
        lambda begin, end: compiled.pool(x, np.arange(images), edges, out, places, sizes, begin, end),
    )
    # What is nowhere lies in a window that has nothing above the lowest number, or a NaN.
    return None if (places < 0).any() or np.isnan(x).any() else (out, places.astype(np.int32))


def _register_with_index(name: str, dims: int) -> None:
    attrs = {"ksize": [], "global_pooling": False, "adaptive": False, "strides": [1] * dims, "paddings": [0] * dims}

    @op(name, "X", "Out Mask", attrs, infer=_infer_with_index, grad=True)
    def kernel(k: Call, x: Any) -> Any:
        """Out, Mask = the largest element of each window, and its position in the image."""
        cells = _cells_of(k.attrs, x.shape[2:])
        outs = [count for _, count in cells]
        found = _cells_in_c(x, cells)
        if found is not None:
            return found
        out = k.xp.empty((*x.shape[:2], *outs), x.dtype)
        mask = k.xp.empty(out.shape, np.int32)
        positions = k.xp.arange(windows.volume(x.shape[2:]), dtype=np.int32).reshape(x.shape[2:])
        for place in product(*(range(n) for n in outs)):
            box = tuple(slice(*cells[dim][0][i]) for dim, i in enumerate(place))
            window = x[(slice(None), slice(None), *box)].reshape(*x.shape[:2], -1)
            best = window.argmax(axis=-1)
            at: tuple[slice | int, ...] = (slice(None), slice(None), *place)
            out[at] = k.xp.take_along_axis(window, best[..., None], axis=-1)[..., 0]
            mask[at] = positions[box].reshape(-1)[best]
        return out, mask

    @gradient(name, "X Mask Out@GRAD", "X@GRAD")
    def kernel_grad(k: Call, x: Array, mask: Array, dout: Array) -> Array:
        images, area = x.shape[0] * x.shape[1], windows.volume(x.shape[2:])
        rows = k.xp.arange(images, dtype=np.int64)[:, None] * area
        index = (rows + mask.reshape(images, -1)).reshape(-1)
        dx = k.xp.zeros(images * area, x.dtype)
        k.dev.scatter_add(dx, index, dout.reshape(-1))
        return dx.reshape(x.shape)


_register_with_index("max_pool2d_with_index", 2)
_register_with_index("max_pool3d_with_index", 3)

"""Convolutions in two and three dims, by columns and matrix products, a block of images at a time."""

from __future__ import annotations

from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.ops import windows
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext

__all__: list[str] = []


def _attrs(dims: int) -> dict[str, Any]:
    return {
        "strides": [1] * dims,
        "paddings": [0] * dims,
        "padding_algorithm": "EXPLICIT",
        "groups": 1,
        "dilations": [1] * dims,
        "use_cudnn": False,
        "data_format": "NCHW" if dims == 2 else "NCDHW",
    }


def channels_last(attrs: dict[str, Any]) -> bool:
    return str(attrs["data_format"]).endswith("C")


def _infer(c: InferContext) -> None:
    x, w, a = c.shape("Input"), c.shape("Filter"), c.attrs
    dims = len(w) - 2
    c.check(len(x) == len(w), f"Input {list(x)} and Filter {list(w)} must have equally many dims")
    last = channels_last(a)
    channels, sizes = (x[-1], x[1:-1]) if last else (x[1], x[2:])
    c.check(
        channels == w[1] * a["groups"] or channels < 0,
        f"Input has {channels} channels, Filter {list(w)} with groups {a['groups']} takes {w[1] * a['groups']}",
    )
    c.check(w[0] % a["groups"] == 0, f"{w[0]} filters do not divide into {a['groups']} groups")
    kernel = w[2:]
    known = [max(n, 1) for n in sizes]
    pads = windows.padding_pairs(a, known, kernel, a["strides"])
    dilations = [1] * dims if a["padding_algorithm"] == "SAME" else a["dilations"]
    outs = windows.out_sizes(sizes, windows.reach(kernel, dilations), a["strides"], pads)
    if a["padding_algorithm"] == "SAME":
        outs = [-1 if n < 0 else -(-n // s) for n, s in zip(sizes, a["strides"])]
    c.check(all(o > 0 or o == -1 for o in outs), f"Input {list(x)} is too small for Filter {list(w)}: output {outs}")
    shape = (x[0], *outs, w[0]) if last else (x[0], w[0], *outs)
    c.set("Output", shape, c.dtype("Input"), c.input("Input").lod_level)


class Geometry:
    """The numbers of one convolution on one input: sizes, paddings, strides, where the columns come from."""

    def __init__(self, k: Call, shape: tuple[int, ...], w: Any) -> None:
        a = k.attrs
        self.kernel = w.shape[2:]
        self.strides = a["strides"]
        self.dilations = [1] * len(self.kernel) if a["padding_algorithm"] == "SAME" else a["dilations"]
        self.sizes = shape[2:]
        self.pads = windows.padding_pairs(a, self.sizes, self.kernel, self.strides)
        self.outs = windows.out_sizes(self.sizes, windows.reach(self.kernel, self.dilations), self.strides, self.pads)
        if any(o < 1 for o in self.outs):
            raise EnforceNotMet(f"an input of {list(self.sizes)} is too small for a filter of {list(self.kernel)}")
        self.padded = tuple(n + p + q for n, (p, q) in zip(self.sizes, self.pads))
        self.inner = (slice(None), slice(None), *(slice(p, p + n) for n, (p, _) in zip(self.sizes, self.pads)))
        self.images, self.channels, self.groups = shape[0], shape[1], a["groups"]
        self.area = windows.volume(self.outs)
        self.depth = self.channels // self.groups * windows.volume(self.kernel)
        """Rows of the columns of one group."""
        # A 1x1 kernel that visits every element in turn needs no columns: the image is its own.
        self.direct = windows.volume(self.kernel) == 1 and self.padded == tuple(self.sizes) and max(self.strides) == 1

    def block(self, itemsize: int) -> int:
        return windows.block_rows(self.depth * self.groups * self.area, itemsize, self.images)

    def pad(self, k: Call, x: Any, name: str = "padded") -> Any:
        """Return X with zeros around it, in scratch memory; X itself if there is nothing to add."""
        if self.padded == tuple(self.sizes):
            return x
        padded = k.scratch(name, (*x.shape[:2], *self.padded), x.dtype)
        padded[...] = 0
        padded[self.inner] = x
        return padded

    def columns(self, k: Call, x: Any) -> Any:
        """Return the columns [n, groups, depth, area] of some padded images."""
        shape = (x.shape[0], self.groups, self.depth, self.area)
        if self.direct:
            return x.reshape(shape)
        wide = (x.shape[0], self.channels, *self.kernel, *self.outs)
        columns = k.scratch("columns", wide, x.dtype)
        columns[...] = windows.view(k.xp, x, self.kernel, self.strides, self.dilations, self.outs)
        return columns.reshape(shape)

    def fold(self, k: Call, columns: Any) -> Any:
        """Return images whose elements are the sums of the columns taken from them (a view into scratch memory)."""
        n = columns.shape[0]
        if self.direct:
            return columns.reshape(n, self.channels, *self.sizes)
        padded = k.scratch("folded", (n, self.channels, *self.padded), columns.dtype)
        padded[...] = 0
        wide = columns.reshape(n, self.channels, *self.kernel, *self.outs)
        windows.add_back(padded, wide, self.kernel, self.strides, self.dilations, self.outs)
        return padded[self.inner]


def correlate(k: Call, x: Any, w: Any, g: Geometry) -> Any:
    """Return the convolution of X [N, C, *] with W [F, C / groups, *]."""
    xp = k.xp
    filters = w.reshape(g.groups, w.shape[0] // g.groups, g.depth)
    out = xp.empty((g.images, g.groups, filters.shape[1], g.area), x.dtype)
    step = g.block(x.dtype.itemsize)
    for start in range(0, g.images, step):
        part = slice(start, start + step)
        columns = g.columns(k, g.pad(k, x[part]))
        xp.matmul(filters, columns, out=out[part])
    return out.reshape(g.images, w.shape[0], *g.outs)


def spread(k: Call, y: Any, w: Any, g: Geometry) -> Any:
    """Return the transposed convolution: X@GRAD of `correlate` for an output gradient Y."""
    xp = k.xp
    filters = w.reshape(g.groups, w.shape[0] // g.groups, g.depth).swapaxes(1, 2)
    flat = y.reshape(g.images, g.groups, -1, g.area)
    x = xp.empty((g.images, g.channels, *g.sizes), y.dtype)
    step = g.block(y.dtype.itemsize)
    for start in range(0, g.images, step):
        part = slice(start, start + step)
        n = flat[part].shape[0]
        columns = k.scratch("dcolumns", (n, g.groups, g.depth, g.area), y.dtype)
        xp.matmul(filters, flat[part], out=columns)
        x[part] = g.fold(k, columns)
    return x


def filter_gradient(k: Call, x: Any, y: Any, w: Any, g: Geometry) -> Any:
    """Return W@GRAD of `correlate` for inputs X and output gradients Y."""
    xp = k.xp
    flat = y.reshape(g.images, g.groups, -1, g.area)
    total = xp.zeros((g.groups, w.shape[0] // g.groups, g.depth), w.dtype)
    step = g.block(x.dtype.itemsize)
    for start in range(0, g.images, step):
        part = slice(start, start + step)
        columns = g.columns(k, g.pad(k, x[part]))
        total += xp.matmul(flat[part], columns.swapaxes(2, 3)).sum(axis=0)
    return total.reshape(w.shape)


def first(k: Call, x: Any) -> Any:
    """Return X with its channels at axis 1, whatever the data_format."""
    return k.xp.ascontiguousarray(k.xp.moveaxis(x, -1, 1)) if channels_last(k.attrs) else k.xp.ascontiguousarray(x)


def back(k: Call, x: Any) -> Any:
    return k.xp.ascontiguousarray(k.xp.moveaxis(x, 1, -1)) if channels_last(k.attrs) else x


def _register(name: str, dims: int) -> None:
    @op(name, "Input Filter Bias? ResidualData?", "Output", _attrs(dims), infer=_infer, grad=True)
    def kernel(k: Call, x: Any, w: Any, bias: Any, residual: Any) -> Any:
        """Output = Input convolved with Filter [filters, channels / groups, *kernel]."""
        x = first(k, x)
        out = correlate(k, x, w, Geometry(k, x.shape, w))
        return back(k, out)

    @gradient(name, "Input Filter Output@GRAD", "Input@GRAD Filter@GRAD")
    def kernel_grad(k: Call, x: Any, w: Any, dout: Any) -> Any:
        x, dout = first(k, x), first(k, dout)
        g = Geometry(k, x.shape, w)
        return (
            back(k, spread(k, dout, w, g)) if k.wants("Input@GRAD") else None,
            filter_gradient(k, x, dout, w, g) if k.wants("Filter@GRAD") else None,
        )


_register("conv2d", 2)
_register("depthwise_conv2d", 2)
_register("conv3d", 3)

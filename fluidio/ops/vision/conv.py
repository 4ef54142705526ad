"""Convolutions in two and three dims: columns and matrix products, a block of images at a time."""

from __future__ import annotations

from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.ops.compiled.turned import row_by_row
from fluidio.ops.fused import mkldnn
from fluidio.ops.half import summed_in_single
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.ops.vision import conv_ways, windows
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

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
        **mkldnn.ATTRS,
    }


def channels_last(attrs: dict[str, Any]) -> bool:
    return str(attrs["data_format"]).endswith("C")


def _infer(c: InferContext) -> None:
    x, w, a = c.shape("Input"), c.shape("Filter"), c.attrs
    dims = len(w) - 2
    c.check(len(x) == len(w), f"Input {list(x)} and Filter {list(w)} must have the same number of dims")
    last = channels_last(a)
    channels, sizes = (x[-1], x[1:-1]) if last else (x[1], x[2:])
    c.check(
        channels == w[1] * a["groups"] or channels < 0,
        f"Input has {channels} channels, but Filter {list(w)} with groups {a['groups']} needs {w[1] * a['groups']}",
    )
    c.check(w[0] % a["groups"] == 0, f"{w[0]} filters cannot be divided into {a['groups']} groups")
    kernel = w[2:]
    known = [max(n, 1) for n in sizes]
    pads = windows.padding_pairs(a, known, kernel, a["strides"])
    dilations = [1] * dims if a["padding_algorithm"] == "SAME" else a["dilations"]
    outs = windows.out_sizes(sizes, windows.reach(kernel, dilations), a["strides"], pads)
    if a["padding_algorithm"] == "SAME":
        outs = [-1 if n < 0 else -(-n // s) for n, s in zip(sizes, a["strides"])]
    c.check(
        all(o > 0 or o == -1 for o in outs),
        f"Input {list(x)} is too small for Filter {list(w)}: the output would have size {outs}",
    )
    shape = (x[0], *outs, w[0]) if last else (x[0], w[0], *outs)
    c.set("Output", shape, c.dtype("Input"), c.input("Input").lod_level)


_CACHED = 2 << 20
"""Bytes of columns to work on at once: about what a core's cache holds."""
_SHORT_ROW = 16
"""Copying rows shorter than this one by one costs more than turning the images first."""


class Geometry:
    """The geometry of one convolution on one input, and conversion to and from columns.

    Images with short rows are turned: a block is stored as [channels, *spatial, images], so that neighbours in a row
    and the same pixels of other images are contiguous, and all columns of the block are one matrix. Others stay
    [images, channels, *spatial]. Large images are processed one by one, in bands of rows.
    """

    def __init__(self, k: Call, shape: tuple[int, ...], w: Array, pads: windows.Pairs | None = None) -> None:
        a = k.attrs
        self.kernel = w.shape[2:]
        self.strides = a["strides"]
        self.dilations = [1] * len(self.kernel) if a["padding_algorithm"] == "SAME" else a["dilations"]
        self.sizes = shape[2:]
        self.pads = windows.padding_pairs(a, self.sizes, self.kernel, self.strides) if pads is None else pads
        spans = windows.reach(self.kernel, self.dilations)
        self.outs = windows.out_sizes(self.sizes, spans, self.strides, self.pads)
        self.pads = windows.reaching(self.sizes, spans, self.strides, self.pads, self.outs)
        if any(o < 1 for o in self.outs):
            raise EnforceNotMet(f"an input of {list(self.sizes)} is too small for a filter of {list(self.kernel)}")
        self.padded = tuple(n + p + q for n, (p, q) in zip(self.sizes, self.pads))
        self.is_padded = self.padded != tuple(self.sizes)
        self.images, self.channels, self.groups = shape[0], shape[1], a["groups"]
        self.depth = self.channels // self.groups * windows.volume(self.kernel)
        """Rows of the columns of one group."""
        self.row = windows.volume(self.outs[1:])
        # A 1x1 kernel with stride 1 needs no columns: the image itself will do.
        self.direct = windows.volume(self.kernel) == 1 and not self.is_padded and max(self.strides) == 1
        per_row = self.depth * self.groups * self.row * w.dtype.itemsize
        self.block = self.images if k.dev.is_gpu else max(1, min(self.images, _CACHED // (per_row * self.outs[0])))
        self.band = self.outs[0] if self.block > 1 else max(1, min(self.outs[0], _CACHED // per_row))
        self.turned = self.block > 1 and self.outs[-1] < _SHORT_ROW and not self.direct
        self.lead = 1 if self.turned else 2
        inner = tuple(slice(p, p + n) for n, (p, _) in zip(self.sizes, self.pads))
        self.inner = (slice(None),) * self.lead + inner

    def blocks(self) -> list[slice]:
        """Return the blocks of images."""
        return [slice(i, min(i + self.block, self.images)) for i in range(0, self.images, self.block)]

    def bands(self) -> list[tuple[int, int]]:
        """Return the bands of output rows."""
        return [(i, min(i + self.band, self.outs[0])) for i in range(0, self.outs[0], self.band)]

    def shape(self, images: int, sizes: windows.Ints) -> tuple[int, ...]:
        """Return the shape in which some images are stored."""
        return (self.channels, *sizes, images) if self.turned else (images, self.channels, *sizes)

    def turn(self, k: Call, x: Array) -> Array:
        """Return images [N, C, *] as a view in storage order."""
        return k.xp.moveaxis(x, 0, -1) if self.turned else x

    def load(self, k: Call, x: Any) -> Any:
        """Return some images in storage order, padded with zeros."""
        if not self.turned and not self.is_padded:
            return x
        loaded = k.scratch("images", self.shape(x.shape[0], self.padded), x.dtype)
        if self.is_padded:
            loaded[...] = 0
        loaded[self.inner] = self.turn(k, x)
        return loaded

    def _rows(self, images: Array, band: tuple[int, int]) -> Array:
        start = band[0] * self.strides[0]
        return images[:, start:] if self.turned else images[:, :, start:]

    def columns(self, k: Call, images: Any, band: tuple[int, int]) -> Any:
        """Return the columns of a band of output rows: [groups, depth, places * N], or [N, groups, depth, places]."""
        rows, outs = self._rows(images, band), [band[1] - band[0], *self.outs[1:]]
        if self.direct:
            return rows[:, :, : outs[0]].reshape(images.shape[0], self.groups, self.depth, -1)
        found = windows.view(k.xp, rows, self.lead, self.kernel, self.strides, self.dilations, outs)
        columns = k.scratch("columns", found.shape, images.dtype)
        columns[...] = found
        lead = (self.groups,) if self.turned else (images.shape[0], self.groups)
        return columns.reshape(*lead, self.depth, -1)

    def add(self, images: Array, columns: Array, band: tuple[int, int]) -> None:
        """Add columns to the image elements they were taken from."""
        outs = [band[1] - band[0], *self.outs[1:]]
        n = images.shape[-1] if self.turned else images.shape[0]
        wide = columns.reshape(self.shape(n, (*self.kernel, *outs)))
        windows.add_back(self._rows(images, band), self.lead, wide, self.kernel, self.strides, self.dilations, outs)

    def outputs(self, k: Call, y: Array, band: tuple[int, int]) -> Array:
        """Return a band of outputs of some images as [groups, filters, places * N], or [N, groups, filters, places]."""
        rows = y[:, :, band[0] : band[1]]
        each = y.shape[1] // self.groups
        if not self.turned:
            return rows.reshape(y.shape[0], self.groups, each, -1)
        turned = k.xp.moveaxis(rows, 0, -1)
        buffer = k.scratch("outputs", turned.shape, y.dtype)
        buffer[...] = turned
        return buffer.reshape(self.groups, each, -1)


def _filters(w: Array, g: Geometry) -> Array:
    return w.reshape(g.groups, w.shape[0] // g.groups, g.depth)


def correlate(k: Call, x: Array, w: Array, g: Geometry) -> Array:
    """Return the convolution of X [N, C, *] with W [F, C / groups, *]."""
    if conv_ways.serve(k, x, w):
        return conv_ways.correlate(x, w, g)
    filters = _filters(w, g)
    out = k.xp.empty((g.images, w.shape[0], *g.outs), x.dtype)
    for part in g.blocks():
        images = g.load(k, x[part])
        for band in g.bands():
            columns = g.columns(k, images, band)
            target = out[part][:, :, band[0] : band[1]]
            if not g.turned and g.band == g.outs[0]:
                k.xp.matmul(filters, columns, out=target.reshape(-1, g.groups, filters.shape[1], columns.shape[-1]))
                continue
            lead = columns.shape[:-2]
            product = k.scratch("product", (*lead, filters.shape[1], columns.shape[-1]), x.dtype)
            k.xp.matmul(filters, columns, out=product)
            turned = g.turn(k, target)
            turned[...] = product.reshape(turned.shape)
    return out


def spread(k: Call, y: Array, w: Array, g: Geometry) -> Array:
    """Return the transposed convolution: X@GRAD of `correlate` for an output gradient Y."""
    if conv_ways.serve(k, y, w):
        return conv_ways.spread(y, w, g)
    filters = _filters(w, g).swapaxes(1, 2)
    x = k.xp.empty((g.images, g.channels, *g.sizes), y.dtype)
    for part in g.blocks():
        images = k.scratch("images", g.shape(part.stop - part.start, g.padded), y.dtype)
        images[...] = 0
        for band in g.bands():
            outputs = g.outputs(k, y[part], band)
            columns = k.scratch("columns", (*outputs.shape[:-2], g.depth, outputs.shape[-1]), y.dtype)
            k.xp.matmul(filters, outputs, out=columns)
            g.add(images, columns, band)
        turned = g.turn(k, x[part])
        turned[...] = images[g.inner]
    return x


def filter_gradient(k: Call, x: Array, y: Array, w: Array, g: Geometry) -> Array:
    """Return W@GRAD of `correlate` for inputs X and output gradients Y."""
    if conv_ways.serve(k, x, y, w):
        return conv_ways.filter_gradient(x, y, w, g)
    total = k.xp.zeros((g.groups, w.shape[0] // g.groups, g.depth), w.dtype)
    for part in g.blocks():
        images = g.load(k, x[part])
        for band in g.bands():
            columns = g.columns(k, images, band)
            found = k.xp.matmul(g.outputs(k, y[part], band), columns.swapaxes(-1, -2))
            total += found if g.turned else found.sum(axis=0)
    return total.reshape(w.shape)


def first(k: Call, x: Array) -> Array:
    """Return X with its channels at axis 1, whatever the data_format."""
    return row_by_row(k.xp, k.xp.moveaxis(x, -1, 1)) if channels_last(k.attrs) else row_by_row(k.xp, x)


def back(k: Call, x: Array) -> Array:
    return row_by_row(k.xp, k.xp.moveaxis(x, 1, -1)) if channels_last(k.attrs) else x


def _register(name: str, dims: int) -> None:
    @op(name, "Input Filter Bias? ResidualData?", "Output", _attrs(dims), infer=_infer, grad=True)
    @summed_in_single
    def kernel(k: Call, x: Any, w: Any, bias: Any, residual: Any) -> Any:
        """Output = Input convolved with Filter [filters, channels / groups, *kernel]."""
        mkldnn.check_is_float(x)
        x = first(k, x)
        out = correlate(k, x, w, Geometry(k, x.shape, w))
        return back(k, mkldnn.completed(k, out, bias, None if residual is None else first(k, residual)))

    @gradient(name, "Input Filter Output@GRAD", "Input@GRAD Filter@GRAD")
    @summed_in_single
    def kernel_grad(k: Call, x: Array, w: Array, dout: Array) -> KernelResult:
        x, dout = first(k, x), first(k, dout)
        g = Geometry(k, x.shape, w)
        return (
            back(k, spread(k, dout, w, g)) if k.wants("Input@GRAD") else None,
            filter_gradient(k, x, dout, w, g) if k.wants("Filter@GRAD") else None,
        )


_register("conv2d", 2)
_register("depthwise_conv2d", 2)
_register("conv3d", 3)

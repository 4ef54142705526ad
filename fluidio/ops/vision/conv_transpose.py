"""Transposed convolutions, and unfold (the columns of a convolution as a tensor)."""

from __future__ import annotations

from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.ops.fused import mkldnn
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.ops.vision import windows
from fluidio.ops.vision.conv import Geometry, back, channels_last, correlate, filter_gradient, first, spread
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _attrs(dims: int) -> dict[str, Any]:
    return {
        "output_size": [],
        "strides": [1] * dims,
        "paddings": [0] * dims,
        "padding_algorithm": "EXPLICIT",
        "groups": 1,
        "dilations": [1] * dims,
        "use_cudnn": False,
        "data_format": "NCHW",
        **mkldnn.ATTRS,
    }


def _sizes(attrs: dict[str, Any], sizes: tuple[int, ...], kernel: tuple[int, ...]) -> list[int]:
    """Return the output's spatial sizes; -1 for an unknown input."""
    known = [max(n, 1) for n in sizes]
    pads = windows.padding_pairs(attrs, known, kernel, attrs["strides"])
    # Fluid: SAME takes no dilation.
    dilations = [1] * len(kernel) if attrs["padding_algorithm"] == "SAME" else attrs["dilations"]
    spans = windows.reach(kernel, dilations)
    plain = [
        -1 if n < 0 else (n - 1) * s - before - after + k
        for n, k, s, (before, after) in zip(sizes, spans, attrs["strides"], pads)
    ]
    wanted = attrs["output_size"]
    if not wanted:
        return plain
    for have, want, stride in zip(plain, wanted, attrs["strides"]):
        if have >= 0 and not have <= want < have + stride:
            raise EnforceNotMet(f"output_size must lie in {have} ... {have + stride - 1}, got {list(wanted)}")
    return list(wanted)


def _infer(c: InferContext) -> None:
    x, w, a = c.shape("Input"), c.shape("Filter"), c.attrs
    c.check(len(x) == len(w), f"Input {list(x)} and Filter {list(w)} must have the same number of dims")
    last = channels_last(a)
    channels, sizes = (x[-1], x[1:-1]) if last else (x[1], x[2:])
    c.check(channels in (w[0], -1), f"Input has {channels} channels, but Filter {list(w)} needs {w[0]}")
    try:
        outs = _sizes(a, sizes, w[2:])
    except EnforceNotMet as error:
        c.fail(str(error))
        raise
    filters = w[1] * a["groups"]
    shape = (x[0], *outs, filters) if last else (x[0], filters, *outs)
    c.set("Output", shape, c.dtype("Input"), c.input("Input").lod_level)


def geometry(k: Call, x: Array, w: Array) -> Geometry:
    """Return the geometry of the convolution from the output back to the input."""
    sizes, kernel = x.shape[2:], w.shape[2:]
    pads = windows.padding_pairs(k.attrs, sizes, kernel, k.attrs["strides"])  # of the input, as Fluid counts them
    return Geometry(k, (x.shape[0], w.shape[1] * k.attrs["groups"], *_sizes(k.attrs, sizes, kernel)), w, pads)


def _register(name: str, dims: int) -> None:
    @op(name, "Input Filter Bias?", "Output", _attrs(dims), infer=_infer, grad=True)
    def kernel(k: Call, x: Any, w: Any, bias: Any) -> Any:
        """Output = the transposed convolution of Input with Filter [channels, filters / groups, *kernel]."""
        x = first(k, x)
        return back(k, mkldnn.completed(k, spread(k, x, w, geometry(k, x, w)), bias, None))

    @gradient(name, "Input Filter Output@GRAD", "Input@GRAD Filter@GRAD")
    def kernel_grad(k: Call, x: Array, w: Array, dout: Array) -> KernelResult:
        if not dout.size:
            return k.xp.zeros_like(x), k.xp.zeros_like(w)
        x, dout = first(k, x), first(k, dout)
        g = geometry(k, x, w)
        return (
            back(k, correlate(k, dout, w, g)) if k.wants("Input@GRAD") else None,
            filter_gradient(k, dout, x, w, g) if k.wants("Filter@GRAD") else None,
        )


_register("conv2d_transpose", 2)
_register("depthwise_conv2d_transpose", 2)
_register("conv3d_transpose", 3)


def _unfold_parts(attrs: dict[str, Any], sizes: tuple[int, ...]) -> tuple[windows.Pairs, list[int]]:
    top, left, bottom, right = attrs["paddings"]
    pads = [(top, bottom), (left, right)]
    spans = windows.reach(attrs["kernel_sizes"], attrs["dilations"])
    outs = windows.out_sizes(sizes, spans, attrs["strides"], pads)
    return windows.reaching(sizes, spans, attrs["strides"], pads, outs), outs


def _infer_unfold(c: InferContext) -> None:
    x = c.shape("X")
    c.check(len(x) == 4, f"X must have 4 dims, its shape is {list(x)}")
    _, outs = _unfold_parts(c.attrs, x[2:])
    area = windows.volume(outs) if min(outs) >= 0 else -1
    c.set("Y", (x[0], x[1] * windows.volume(c.attrs["kernel_sizes"]), area), c.dtype("X"))


@op(
    "unfold",
    "X",
    "Y",
    {"kernel_sizes": [], "strides": [], "paddings": [], "dilations": []},
    infer=_infer_unfold,
    grad=True,
    lod="none",
)
def unfold(k: Call, x: Array) -> Array:
    """Y = all windows of X as columns [N, channels * kernel, windows]."""
    a = k.attrs
    pads, outs = _unfold_parts(a, x.shape[2:])
    padded = k.xp.pad(x, [(0, 0), (0, 0), *pads])
    columns = windows.view(k.xp, padded, 2, a["kernel_sizes"], a["strides"], a["dilations"], outs)
    return columns.reshape(x.shape[0], -1, windows.volume(outs))


@gradient("unfold", "X Y@GRAD", "X@GRAD")
def unfold_grad(k: Call, x: Array, dy: Array) -> Array:
    a = k.attrs
    pads, outs = _unfold_parts(a, x.shape[2:])
    padded = k.xp.zeros((*x.shape[:2], *(n + p + q for n, (p, q) in zip(x.shape[2:], pads))), x.dtype)
    wide = dy.reshape(*x.shape[:2], *a["kernel_sizes"], *outs)
    windows.add_back(padded, 2, wide, a["kernel_sizes"], a["strides"], a["dilations"], outs)
    return padded[(slice(None), slice(None), *(slice(p, p + n) for n, (p, _) in zip(x.shape[2:], pads)))]

"""Convolutions, pooling, resizing, normalisation and other image ops."""

from __future__ import annotations

import numpy as np

from tests.differential.draw import OpDraw, draws


def _conv_attrs(d: OpDraw, spatial: int, dilated: bool = True) -> None:
    d.attr("strides", [1] * spatial, [d.size(1, 3) for _ in range(spatial)])
    if dilated:
        d.attr("dilations", [1] * spatial, [1] * spatial, [d.size(1, 2) for _ in range(spatial)])
    pads = [d.size(0, 2) for _ in range(spatial)]
    d.attr("paddings", [0] * spatial, pads, [d.size(0, 2) for _ in range(2 * spatial)])
    d.attr("padding_algorithm", "EXPLICIT", "EXPLICIT", "SAME", "VALID")


def _image(d: OpDraw, channels: int, spatial: int, last: bool, low: int = 3, high: int = 6) -> list[int]:
    sizes = [d.size(low, high) for _ in range(spatial)]
    return [d.size(1, 2), *sizes, channels] if last else [d.size(1, 2), channels, *sizes]


@draws("conv2d", "conv3d", "depthwise_conv2d")
def conv(d: OpDraw) -> None:
    spatial = 3 if "3" in d.op else 2
    layouts = ("NCDHW", "NDHWC") if spatial == 3 else ("NCHW", "NHWC")
    layout = d.attr("data_format", layouts[0], layouts[0], layouts[1])
    groups = d.size(1, 3) if "depthwise" in d.op else d.pick(1, 1, 2)
    channels = groups if "depthwise" in d.op else groups * d.size(1, 2)
    d.put("Input", d.floats(_image(d, channels, spatial, layout[-1] == "C", 3, 6 if spatial == 2 else 4)))
    kernel = [d.size(1, 3) for _ in range(spatial)]
    d.put("Filter", d.floats([groups * d.size(1, 2), channels // groups, *kernel], -1, 1), fixed=True)
    if groups > 1 or d.chance(0.3):
        d.attrs["groups"] = groups
    _conv_attrs(d, spatial)


@draws("conv2d_transpose", "conv3d_transpose", "depthwise_conv2d_transpose")
def conv_transpose(d: OpDraw) -> None:
    spatial = 3 if "3" in d.op else 2
    layout = d.attr("data_format", "NCHW", "NCHW", "NHWC")  # 1.8.5 gives these names to three dims as well
    groups = d.size(1, 3) if "depthwise" in d.op else d.pick(1, 1, 2)
    channels = groups if "depthwise" in d.op else groups * d.size(1, 2)
    image = _image(d, channels, spatial, layout[-1] == "C", 2, 4 if spatial == 2 else 3)
    d.put("Input", d.floats(image))
    kernel = [d.size(1, 3) for _ in range(spatial)]
    outs = 1 if "depthwise" in d.op else d.size(1, 2)
    d.put("Filter", d.floats([channels, outs, *kernel], -1, 1), fixed=True)
    if groups > 1 or d.chance(0.3):
        d.attrs["groups"] = groups
    _conv_attrs(d, spatial)
    strides = d.attrs.get("strides", [1] * spatial)
    if layout == "NHWC" and max(strides) == 1:
        d.no_grad()  # with paddings of 1 it takes other elements
    if any(n < 1 for n in _transposed(d, image, kernel, layout[-1] == "C")):
        d.attrs["paddings"] = [0] * spatial
    if d.chance(0.3) and len(d.attrs.get("paddings", [])) <= spatial and "padding_algorithm" not in d.attrs:
        pads = d.attrs.get("paddings", [0] * spatial)
        dilations = d.attrs.get("dilations", [1] * spatial)
        sizes = image[1:-1] if layout[-1] == "C" else image[2:]
        least = [
            (n - 1) * s - 2 * p + q * (k - 1) + 1 for n, s, p, q, k in zip(sizes, strides, pads, dilations, kernel)
        ]
        d.attrs["output_size"] = [n + d.rng.randrange(s) for n, s in zip(least, strides)]


def _transposed(d: OpDraw, image: list[int], kernel: list[int], last: bool) -> list[int]:
    """Return the sizes that a transposed convolution with explicit paddings gives."""
    spatial = len(kernel)
    pads = d.attrs.get("paddings", [0] * spatial)
    pairs = [(p, p) for p in pads] if len(pads) == spatial else list(zip(pads[::2], pads[1::2]))
    strides, dilations = (d.attrs.get(name, [1] * spatial) for name in ("strides", "dilations"))
    sizes = image[1:-1] if last else image[2:]
    return [(n - 1) * s - sum(p) + q * (k - 1) + 1 for n, s, p, q, k in zip(sizes, strides, pairs, dilations, kernel)]


@draws("pool2d", "pool3d")
def pool(d: OpDraw) -> None:
    spatial = 3 if "3" in d.op else 2
    layouts = ("NCDHW", "NDHWC") if spatial == 3 else ("NCHW", "NHWC")
    layout = d.attr("data_format", layouts[0], layouts[0], layouts[1])
    d.put("X", d.apart(_image(d, d.size(1, 2), spatial, layout[-1] == "C", 3, 6 if spatial == 2 else 4)))
    d.attrs["pooling_type"] = d.pick("max", "avg")
    d.attrs["ksize"] = [d.size(1, 3) for _ in range(spatial)]
    d.attr("strides", [1] * spatial, [d.size(1, 3) for _ in range(spatial)])
    d.attr(
        "paddings", [0] * spatial, [d.size(0, 1) for _ in range(spatial)], [d.size(0, 1) for _ in range(2 * spatial)]
    )
    d.attr("padding_algorithm", "EXPLICIT", "EXPLICIT", "SAME", "VALID")
    d.attr("global_pooling", False, False, False, True)
    d.attr("adaptive", False, False, False, True)
    d.attr("ceil_mode", False, True)
    d.attr("exclusive", True, False)


@draws("max_pool2d_with_index", "max_pool3d_with_index")
def pool_with_index(d: OpDraw) -> None:
    spatial = 3 if "3" in d.op else 2
    d.put("X", d.apart(_image(d, d.size(1, 2), spatial, False, 3, 6 if spatial == 2 else 4)))
    d.attrs["ksize"] = [d.size(1, 3) for _ in range(spatial)]
    d.attr("strides", [1] * spatial, [d.size(1, 3) for _ in range(spatial)])
    d.attr("paddings", [0] * spatial, [min(d.size(0, 1), size - 1) for size in d.attrs["ksize"]])
    d.attr("global_pooling", False, False, False, True)
    d.attr("adaptive", False, False, False, True)
    d.out_dtypes["Mask"] = "int32"


@draws("bilinear_interp", "nearest_interp", "trilinear_interp", "bicubic_interp")
def resize(d: OpDraw) -> None:
    names = ["out_d", "out_h", "out_w"] if d.op.startswith("tri") else ["out_h", "out_w"]
    layout = d.attr("data_layout", "NCHW", "NHWC")
    d.put("X", d.floats(_image(d, d.size(1, 2), len(names), layout[-1] == "C", 2, 5)))
    sizes = [d.size(1, 6) for _ in names]
    d.attrs.update(zip(names, sizes))
    d.attrs["interp_method"] = d.op[: -len("_interp")]
    d.attr("align_corners", True, False)
    d.attr("align_mode", 1, 0)
    if len(names) == 2 and d.chance(0.1):
        d.attrs["out_d"] = d.size(1, 3)  # of no use here
    if d.op == "bilinear_interp" and d.chance(0.1):
        d.attrs["interp_method"] = "nearest"
    way = d.rng.random()
    if way < 0.2:
        d.attrs["scale"] = d.pick(2.0, 1.5, 0.5, 0.7)
    elif way < 0.3:
        d.put("OutSize", np.array(sizes, "int32"), fixed=True)
    elif way < 0.4:
        d.put("SizeTensor", *[np.array([size], "int32") for size in sizes], fixed=True)
    elif way < 0.5:
        d.put("Scale", np.array([d.pick(2.0, 1.5, 0.6)], "float32"), fixed=True)
        d.no_grad("Scale")


@draws("batch_norm")
def batch_norm(d: OpDraw) -> None:
    channels = d.size(1, 3)
    layout = d.attr("data_layout", "NCHW", "NHWC")
    spatial = [d.size(1, 3) for _ in range(d.pick(0, 1, 2, 2, 3))]
    batch = d.size(2, 4)
    if d.chance(0.1):  # one element of each channel
        batch, spatial = 1, [1 for _ in spatial]
    d.put("X", d.floats([batch, *spatial, channels] if layout == "NHWC" else [batch, channels, *spatial]))
    for slot, low in (("Scale", 0.5), ("Bias", -1.0), ("Mean", -0.5), ("Variance", 0.5)):
        d.put(slot, d.floats([channels], low, 1.5), fixed=True)
    d.no_grad("Mean", "Variance")
    d.real("momentum", 0.9, 0.1, 0.99)
    d.real("epsilon", 1e-05, 1e-5, 1e-3)
    if d.attr("is_test", False, False, True):
        d.no_grad()
        d.unfetched("SavedMean", "SavedVariance")  # left empty
    d.attr("use_global_stats", False, False, True)
    d.attr("trainable_statistics", False, False, True)
    if d.chance(0.1):
        d.put("MomentumTensor", d.floats([1], 0.1, 0.9).astype("float32"), fixed=True)
        d.no_grad("MomentumTensor")
    d.same(MeanOut="Mean", VarianceOut="Variance")
    if d.attrs.get("use_global_stats"):
        d.unfetched("SavedMean", "SavedVariance")  # left empty


@draws("layer_norm")
def layer_norm(d: OpDraw) -> None:
    shape = d.shape(2, 4)
    axis = d.attr("begin_norm_axis", 1, d.rng.randrange(1, len(shape)))
    width = int(np.prod(shape[axis:]))
    d.put("X", d.floats(shape))
    if d.chance(0.7):
        d.put("Scale", d.floats([width], 0.5, 1.5), fixed=True)
    if d.chance(0.7):
        d.put("Bias", d.floats([width]), fixed=True)
    d.real("epsilon", 1e-05, 1e-5, 1e-3)


@draws("group_norm")
def group_norm(d: OpDraw) -> None:
    groups = d.pick(1, 2, 3)
    channels = groups * d.size(1, 2)
    layout = d.attr("data_layout", "NCHW", "NHWC")
    d.put("X", d.floats(_image(d, channels, 2, layout == "NHWC", 1, 3)))
    if d.chance(0.7):
        d.put("Scale", d.floats([channels], 0.5, 1.5), fixed=True)
    if d.chance(0.7):
        d.put("Bias", d.floats([channels]), fixed=True)
    d.attrs["groups"] = groups
    d.real("epsilon", 1e-05, 1e-5, 1e-3)


@draws("instance_norm")
def instance_norm(d: OpDraw) -> None:
    channels = d.size(1, 3)
    d.put("X", d.floats(_image(d, channels, d.size(1, 3), False, 2, 3)))
    d.put("Scale", d.floats([channels], 0.5, 1.5), fixed=True)
    d.put("Bias", d.floats([channels]), fixed=True)
    d.real("epsilon", 1e-05, 1e-5, 1e-3)


@draws("data_norm")
def data_norm(d: OpDraw) -> None:
    n, width = d.size(1, 4), d.size(1, 4)
    x = d.floats([n, width])
    d.put("X", x * (d.floats(x.shape) > -0.5) if d.chance() else x)  # zeros hide the slots that begin with them
    d.put("BatchSize", d.floats([width], 5, 20), fixed=True)
    d.put("BatchSum", d.floats([width]), fixed=True)
    d.put("BatchSquareSum", d.floats([width], 5, 20), fixed=True)
    d.real("epsilon", 1e-05, 1e-5, 1e-3)
    d.no_grad("BatchSize", "BatchSum", "BatchSquareSum")
    d.attr("summary_decay_rate", 0.9999999, 0.5)
    d.attr("slot_dim", -1, *(size for size in range(1, width + 1) if width % size == 0))
    if d.chance(0.3):
        d.attrs["enable_scale_and_shift"] = True
        d.put("scale_w", d.floats([width], 0.5, 1.5), fixed=True)
        d.put("bias", d.floats([width]), fixed=True)


@draws("lrn")
def lrn(d: OpDraw) -> None:
    layout = d.attr("data_format", "AnyLayout", "NCHW", "NHWC", always=True)
    d.put("X", d.floats(_image(d, d.size(1, 5), 2, layout == "NHWC", 1, 3)))
    d.attr("n", 5, 1, 3)
    d.real("k", 2.0, 0.5, 3.0)
    d.real("alpha", 0.0001, 0.001, 0.5)
    d.real("beta", 0.75, 0.2, 0.9)
    if d.attr("is_test", False, False, True):
        d.no_grad()


@draws("spectral_norm")
def spectral_norm(d: OpDraw) -> None:
    dim = d.attr("dim", 0, 1)
    shape = d.shape(2, 4)
    d.put("Weight", d.floats(shape), fixed=True)
    d.put("U", d.floats([shape[dim]], 0.1, 1), fixed=True)
    d.put("V", d.floats([int(np.prod(shape)) // shape[dim]], 0.1, 1), fixed=True)
    d.attr("power_iters", 1, 0, 2, 5)
    d.attr("eps", 1e-12, 1e-8, 1e-3)
    d.no_grad("U", "V")


@draws("affine_grid")
def affine_grid(d: OpDraw) -> None:
    n = d.size(1, 3)
    shape = [n, d.size(1, 3), d.size(2, 4), d.size(2, 4)]
    d.put("Theta", d.floats([n, 2, 3]))
    if d.chance(0.3):
        d.put("OutputShape", np.array(shape, "int32"), fixed=True)
    else:
        d.attrs["output_shape"] = shape


@draws("grid_sampler")
def grid_sampler(d: OpDraw) -> None:
    n, height, width = d.size(1, 2), d.size(2, 4), d.size(2, 4)
    d.put("X", d.floats([n, d.size(1, 3), height, width]))
    d.put("Grid", d.floats([n, height, width, 2], -1.2, 1.2))


@draws("im2sequence")
def im2sequence(d: OpDraw) -> None:
    n = d.size(1, 2)
    d.put("X", d.floats([n, d.size(1, 2), d.size(3, 5), d.size(3, 5)]))
    d.attrs["kernels"] = [d.size(1, 3), d.size(1, 3)]
    d.attr("strides", [1, 1], [d.size(1, 2), d.size(1, 2)])
    d.attr("paddings", [0, 0, 0, 0], [d.size(0, 1) for _ in range(4)])
    if d.chance(0.3):  # the true sizes of the images, which stand in larger ones
        d.put("Y", d.floats([n, 2], 4.0, 8.0))
        d.attrs["out_stride"] = d.pick([1, 1], [2, 2], [2, 1])
        d.no_grad()


@draws("unfold")
def unfold(d: OpDraw) -> None:
    d.put("X", d.floats([d.size(1, 2), d.size(1, 2), d.size(4, 6), d.size(4, 6)]))
    d.attrs["kernel_sizes"] = [d.size(1, 3), d.size(1, 3)]
    d.attrs["strides"] = [d.size(1, 2), d.size(1, 2)]
    d.attrs["paddings"] = [d.size(0, 2) for _ in range(4)]
    d.attrs["dilations"] = [d.size(1, 2), d.size(1, 2)]


@draws("row_conv")
def row_conv(d: OpDraw) -> None:
    width = d.size(1, 4)
    if d.chance(0.7):
        lod, rows = d.lod()
        d.put("X", d.floats([rows, width]), lod=lod)
    else:
        d.put("X", d.floats([d.size(1, 3), d.size(1, 4), width]))
    d.put("Filter", d.floats([d.size(1, 3), width]), fixed=True)


@draws("roi_pool", "roi_align")
def roi(d: OpDraw) -> None:
    lod, rows = d.lod(empty=False, most=2)
    size = d.size(4, 8)
    d.put("X", d.apart([len(lod[0]), d.size(1, 2), size, size]))
    corner = d.floats([rows, 2], d.pick(0, 0, 0, -size / 3), size / 2)  # some leave the image or are inside out
    sides = d.floats([rows, 2], d.pick(0.5, 0.5, 0.5, -2.0), size / d.pick(2, 2, 2, 1))
    boxes = np.concatenate([corner, corner + sides], 1).astype(d.float)
    if d.chance(0.3):
        d.put("ROIs", boxes, fixed=True)
        d.put("RoisLod", np.cumsum([0, *lod[0]]).astype("int64"), fixed=True)
    else:
        d.put("ROIs", boxes, lod=lod)
    d.no_grad("ROIs")
    d.real("spatial_scale", 1.0, 0.3, 1.5)
    d.attr("pooled_height", 1, 2, 3)
    d.attr("pooled_width", 1, 2, 3)
    if d.op == "roi_align":
        d.attr("sampling_ratio", -1, 1, 2)
    else:
        d.out_dtypes["Argmax"] = "int64"


@draws("fsp")
def fsp(d: OpDraw) -> None:
    n, height, width = d.size(1, 2), d.size(1, 3), d.size(1, 3)
    d.put("X", d.floats([n, d.size(1, 3), height, width]))
    d.put("Y", d.floats([n, d.size(1, 3), height, width]))

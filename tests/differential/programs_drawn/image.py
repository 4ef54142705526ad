"""Moves on images: [N, C, H, W]."""

from __future__ import annotations

from tests.differential.programs_drawn.attributes import parameter
from tests.differential.programs_drawn.base import ProgramDraw, Value, move


def _out(size: int, kernel: int, pad: int, stride: int, dilation: int = 1) -> int:
    return (size + 2 * pad - (dilation * (kernel - 1) + 1)) // stride + 1


@move("image")
def conv2d(d: ProgramDraw, x: Value) -> None:
    channels, height, width = x.shape
    kernel, pad, stride = d.pick(1, 2, 3), d.size(0, 2), d.size(1, 2)
    groups = channels if d.chance(0.2) else 1
    filters = groups * d.size(1, 3)
    outs = _out(height, kernel, pad, stride), _out(width, kernel, pad, stride)
    if min(outs) < 1:
        return
    kw = d.some(bias_attr=[False], act=["relu", "sigmoid"], use_cudnn=[False, True], dilation=[1])
    if groups > 1 or d.chance(0.2):
        kw["groups"] = groups
    padding = d.pick(pad, [pad, pad])
    made = d.call("conv2d", x, filters, kernel, stride=stride, padding=padding, param_attr=parameter(d), **kw)
    d.add(made, "image", (filters, *outs))


@move("image")
def conv2d_transpose(d: ProgramDraw, x: Value) -> None:
    _, height, width = x.shape
    if max(height, width) > 6:
        return
    kernel, stride = d.size(1, 3), d.size(1, 2)
    filters = d.size(1, 3)
    kw = d.some(bias_attr=[False], act=["relu"])
    made = d.call("conv2d_transpose", x, filters, filter_size=kernel, stride=stride, param_attr=parameter(d), **kw)
    d.add(made, "image", (filters, (height - 1) * stride + kernel, (width - 1) * stride + kernel))


@move("image")
def pool2d(d: ProgramDraw, x: Value) -> None:
    channels, height, width = x.shape
    kind = d.pick("max", "avg")
    if d.chance(0.25):
        d.add(d.call("pool2d", x, pool_type=kind, global_pooling=True), "image", (channels, 1, 1))
        return
    if d.chance(0.25):
        size = d.size(1, min(height, width))
        d.add(d.call("adaptive_pool2d", x, [size, size], kind), "image", (channels, size, size))
        return
    size, stride = d.size(1, 3), d.size(1, 2)
    pad = d.size(0, size - 1)
    outs = _out(height, size, pad, stride), _out(width, size, pad, stride)
    if min(outs) < 1:
        return
    kw = d.some(exclusive=[False, True])
    made = d.call("pool2d", x, pool_size=size, pool_type=kind, pool_stride=stride, pool_padding=pad, **kw)
    d.add(made, "image", (channels, *outs))


@move("image")
def norms(d: ProgramDraw, x: Value) -> None:
    way = d.pick("instance_norm", "group_norm", "lrn", "affine_channel", "prelu")
    if way == "instance_norm":
        d.add(d.call(way, x, **d.some(epsilon=[1e-3])), "image", x.shape)
    elif way == "group_norm":
        d.add(d.call(way, x, groups=d.pick(1, x.shape[0]), **d.some(epsilon=[1e-3])), "image", x.shape)
    elif way == "prelu":
        d.add(d.call(way, x, d.pick("all", "channel", "element"), param_attr=parameter(d)), "image", x.shape)
    elif way == "lrn":
        d.add(d.call(way, x, **d.some(n=[3], k=[1.0], alpha=[0.1], beta=[0.5])), "image", x.shape)
    else:
        ones = d.call("create_parameter", [x.shape[0]], "float32")
        zeros = d.call("fill_constant", [x.shape[0]], "float32", 0.5)
        d.add(d.call(way, x, scale={"var": ones}, bias={"var": zeros}), "image", x.shape)


@move("image")
def resize(d: ProgramDraw, x: Value) -> None:
    channels = x.shape[0]
    outs = [d.size(2, 6), d.size(2, 6)]
    kw = d.some(align_corners=[True, False])
    way = d.pick("resize_bilinear", "resize_nearest", "image_resize")
    if way == "image_resize":
        kw["resample"] = d.pick("BILINEAR", "NEAREST")
    d.add(d.call(way, x, out_shape=outs, **kw), "image", (channels, *outs))


@move("image")
def rearrange(d: ProgramDraw, x: Value) -> None:
    channels, height, width = x.shape
    way = d.size(1, 4)
    if way == 1:
        pads = [d.size(0, 1) for _ in range(4)]
        kw = d.some(pad_value=[0.5])
        made = d.call("pad2d", x, pads, mode=d.pick("constant", "edge"), **kw)
        d.add(made, "image", (channels, height + pads[0] + pads[1], width + pads[2] + pads[3]))
    elif way == 2 and channels % 4 == 0:
        d.add(d.call("pixel_shuffle", x, 2), "image", (channels // 4, height * 2, width * 2))
    elif way == 3:
        d.add(d.call("transpose", x, [0, 1, 3, 2]), "image", (channels, width, height))
    else:
        d.add(d.call("reverse", x, [d.pick(1, 2, 3)]), "image", x.shape)


@move("image")
def to_rows(d: ProgramDraw, x: Value) -> None:
    channels, height, width = x.shape
    way = d.size(1, 3)
    if way == 1:
        d.add(d.call("reduce_mean", x, dim=[2, 3]), "flat", (channels,))
    elif way == 2:
        d.add(d.call("flatten", x, axis=1), "flat", (channels * height * width,))
    else:
        size = d.size(1, 4)
        d.add(d.call("fc", x, size, act=d.pick(None, "relu"), param_attr=parameter(d)), "flat", (size,))

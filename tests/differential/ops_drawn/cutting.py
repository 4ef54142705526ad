"""Ops that slice, pad and crop."""

from __future__ import annotations

import numpy as np

from tests.differential.draw import OpDraw, draws


@draws("slice")
def slice_(d: OpDraw) -> None:
    shape = d.shape(1, 4, 5)
    axes = sorted(d.rng.sample(range(len(shape)), d.rng.randint(1, min(3, len(shape)))))
    starts, ends = [], []
    for axis in axes:
        start = d.rng.randrange(shape[axis])
        end = d.pick(d.rng.randint(start + 1, shape[axis]), shape[axis] + 3)
        starts.append(start - shape[axis] if d.chance(0.3) else start)
        ends.append(end - shape[axis] if d.chance(0.3) and end < shape[axis] else end)
    d.put("Input", d.floats(shape))
    d.attrs.update(axes=axes, starts=starts, ends=ends)
    if d.chance(0.3):
        chosen = sorted(d.rng.sample(range(len(axes)), d.rng.randint(1, len(axes))))
        for i in chosen:
            ends[i] = starts[i] + 1 if starts[i] != -1 else 10000000
        d.attrs["decrease_axis"] = [axes[i] for i in chosen]
    _bounds(d, starts, ends)


def _bounds(d: OpDraw, starts: list[int], ends: list[int]) -> None:
    """At times give starts and ends as tensors."""
    way = d.rng.random()
    if way < 0.1:
        d.put("StartsTensor", np.array(starts, "int32"), fixed=True)
        d.put("EndsTensor", np.array(ends, "int32"), fixed=True)
        d.attrs["infer_flags"] = [-1] * len(starts)
    elif way < 0.2:
        d.put("StartsTensorList", *[np.array([one], "int32") for one in starts], fixed=True)
        d.put("EndsTensorList", *[np.array([one], "int32") for one in ends], fixed=True)
        d.attrs["infer_flags"] = [-1] * len(starts)
    elif way < 0.6:
        d.attrs["infer_flags"] = [1] * len(starts)


@draws("strided_slice")
def strided_slice(d: OpDraw) -> None:
    shape = d.shape(1, 4, 6)
    axes = sorted(d.rng.sample(range(len(shape)), d.rng.randint(1, min(3, len(shape)))))
    starts, ends, strides = [], [], []
    low = 0
    for axis in axes:
        size = shape[axis]
        low = d.rng.randrange(size)
        high = d.rng.randint(low + 1, size)
        stride = d.pick(1, 2, 3, -1, -2)
        start, end = (low, high) if stride > 0 else (high - 1, low - 1)
        starts.append(start - size if d.chance(0.3) else start)
        ends.append(end - size if (d.chance(0.3) and 0 < end < size) or end < 0 else end)
        strides.append(stride)
    d.put("Input", d.floats(shape))
    d.attrs.update(axes=axes, starts=starts, ends=ends, strides=strides, infer_flags=[1] * len(axes))
    if d.chance(0.2):  # one element of the last axis, and its dim is gone
        starts[-1] = low
        ends[-1], strides[-1] = low + 1, 1
        d.attrs["decrease_axis"] = [axes[-1]]
        d.no_grad()
    if d.chance(0.15):
        d.put("StridesTensor", np.array(strides, "int32"), fixed=True)
        d.put("StartsTensor", np.array(starts, "int32"), fixed=True)
        d.put("EndsTensor", np.array(ends, "int32"), fixed=True)
        d.attrs["infer_flags"] = [-1] * len(axes)
    elif d.chance(0.15):
        for slot, values in (("Starts", starts), ("Ends", ends), ("Strides", strides)):
            d.put(f"{slot}TensorList", *[np.array([n], "int32") for n in values], fixed=True)
        d.attrs["infer_flags"] = [-1] * len(axes)


@draws("pad")
def pad(d: OpDraw) -> None:
    shape = d.shape(1, 4)
    d.put("X", d.floats(shape))
    d.attrs["paddings"] = [d.size(0, 2) for _ in range(2 * len(shape))]
    d.real("pad_value", 0.0, -1, 1)


@draws("pad2d")
def pad2d(d: OpDraw) -> None:
    mode = d.attr("mode", "constant", "reflect", "edge")
    layout = d.attr("data_format", "NCHW", "NHWC")
    shape = [d.size(1, 2), d.size(1, 3), d.size(3, 5), d.size(3, 5)]
    d.put("X", d.floats(shape if layout == "NCHW" else [shape[0], shape[2], shape[3], shape[1]]))
    paddings = [d.size(0, 2) for _ in range(4)]
    d.attrs["paddings"] = paddings
    if mode == "constant":
        d.real("pad_value", 0.0, -1, 1)
    if d.chance(0.2):
        d.put("Paddings", np.array(paddings, "int32"), fixed=True)


@draws("pad_constant_like")
def pad_constant_like(d: OpDraw) -> None:
    small = d.shape(1, 4, 3)
    d.put("X", d.floats([size + d.size(0, 2) for size in small]))
    d.put("Y", d.floats(small))
    d.real("pad_value", 0.0, -1, 1)
    d.no_grad("X")


@draws("crop")
def crop(d: OpDraw) -> None:
    shape, offsets, sizes = _window(d)
    d.put("X", d.floats(shape), fixed=True)
    if d.chance(0.3):
        d.put("Y", d.floats(sizes), fixed=True)
        d.no_grad("Y")
    else:
        d.attrs["shape"] = sizes
    if d.chance(0.3):
        d.put("Offsets", np.array(offsets, "int32"), fixed=True)
    else:
        d.attrs["offsets"] = offsets


def _window(d: OpDraw) -> tuple[list[int], list[int], list[int]]:
    shape = d.shape(1, 4, 5)
    offsets = [d.rng.randrange(size) for size in shape]
    return shape, offsets, [d.rng.randint(1, size - at) for size, at in zip(shape, offsets)]


@draws("crop_tensor")
def crop_tensor(d: OpDraw) -> None:
    shape, offsets, sizes = _window(d)
    d.put("X", d.floats(shape), fixed=True)
    way = d.rng.random()
    d.attrs["shape"] = sizes
    if way < 0.2:
        d.put("Shape", np.array(sizes, "int32"), fixed=True)
    elif way < 0.4:
        d.put("ShapeTensor", *[np.array([one], "int32") for one in sizes], fixed=True)
    way = d.rng.random()
    if way < 0.2:
        d.put("Offsets", np.array(offsets, "int32"), fixed=True)
    elif way < 0.4:
        d.put("OffsetsTensor", *[np.array([one], "int32") for one in offsets], fixed=True)
    else:
        d.attrs["offsets"] = offsets

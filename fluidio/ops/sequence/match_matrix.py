"""Images of pairs of sequences: match_matrix_tensor, var_conv_2d, sequence_topk_avg_pooling.

An image of one pair is [channels, rows, columns] flattened; a sequence of the LoD holds one image.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _lod(lengths: Any) -> Any:
    return (np.concatenate([[0], np.cumsum(np.asarray(lengths, np.int64))]).astype(np.int64),)


def _parts(k: Call, slot: str, array: Array) -> list[Array]:
    """Return the sequences of an input."""
    ends = k.lod(slot)[-1]
    return [array[ends[n] : ends[n + 1]] for n in range(len(ends) - 1)]


def _infer_match(c: InferContext) -> None:
    x, y, w = c.shape("X"), c.shape("Y"), c.shape("W")
    c.check(
        w[0] == x[1] and w[2] == y[1],
        f"W must have shape [{x[1]}, channels, {y[1]}] for X {list(x)} and Y {list(y)}, got {list(w)}",
    )
    c.set("Out", (-1, 1), c.dtype("X"), 1)
    c.set("Tmp", (-1, 1), c.dtype("X"))


@op("match_matrix_tensor", "X Y W", "Out Tmp", {"dim_t": 1}, infer=_infer_match, grad=True, lod="kernel")
def match_matrix_tensor(k: Call, x: Array, y: Array, w: Array) -> tuple[Array, Array]:
    """Out = x W_t y' of every pair of rows of a sequence of X and one of Y, for each t; Tmp = X W."""
    joined = k.xp.einsum("ad,dte->ate", x, w)
    images = [
        k.xp.einsum("ate,be->tab", left, right).reshape(-1)
        for left, right in zip(_parts(k, "X", joined), _parts(k, "Y", y))
    ]
    k.out_lods["Out"] = _lod([image.size for image in images])
    return k.xp.concatenate(images).reshape(-1, 1), joined.reshape(-1, 1)


@gradient("match_matrix_tensor", "X Y W Out@GRAD", "X@GRAD Y@GRAD W@GRAD", carried="Tmp")
def match_matrix_tensor_grad(k: Call, x: Array, y: Array, w: Array, dout: Array) -> tuple[Array, ...]:
    xp, channels = k.xp, k.attrs["dim_t"]
    joined = xp.einsum("ad,dte->ate", x, w)
    djoined, dys, start = [], [], 0
    for left, right in zip(_parts(k, "X", joined), _parts(k, "Y", y)):
        size = channels * left.shape[0] * right.shape[0]
        d = dout[start : start + size].reshape(channels, left.shape[0], right.shape[0])
        djoined.append(xp.einsum("tab,be->ate", d, right))
        dys.append(xp.einsum("tab,ate->be", d, left))
        start += size
    pull = xp.concatenate(djoined)
    return xp.einsum("ate,dte->ad", pull, w), xp.concatenate(dys), xp.einsum("ad,ate->dte", x, pull)


_CONV = {"InputChannel": 1, "OutputChannel": 1, "KernelH": 1, "KernelW": 1, "StrideH": 1, "StrideW": 1}


def _infer_conv(c: InferContext) -> None:
    c.set("Out", (-1, 1), c.dtype("X"))
    c.set("Col", (-1, 1), c.dtype("X"))


def _sides(k: Call) -> Iterator[tuple[int, int]]:
    """Yield the numbers of rows and columns of each image."""
    rows, columns = np.diff(k.lod("ROW")[-1]), np.diff(k.lod("COLUMN")[-1])
    return zip((int(n) for n in rows), (int(n) for n in columns))


def _windows(k: Call, side: str, size: int) -> Array:
    """Return the positions each output reads along a side: [outputs, points of the filter]."""
    stride, points = k.attrs[f"Stride{side}"], k.attrs[f"Kernel{side}"]
    return np.arange(-(-size // stride))[:, None] * stride + np.arange(points) - points // 2


def _columns(k: Call, image: Array) -> tuple[Array, Array]:
    """Return the elements each output reads [inputs, outputs], and their flat positions, -1 outside."""
    channels, height, width = image.shape
    ys, xs = _windows(k, "H", height), _windows(k, "W", width)
    y, x = ys[:, :, None, None], xs[None, None, :, :]
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    points, outputs = ys.shape[1] * xs.shape[1], ys.shape[0] * xs.shape[0]
    place = np.where(inside, y * width + x, -1).transpose(1, 3, 0, 2).reshape(points, outputs)
    taken = image.reshape(channels, height * width)[:, np.maximum(place, 0)] * (place >= 0)
    return taken.reshape(channels * points, outputs), place


@op("var_conv_2d", "X ROW COLUMN W", "Out Col?", _CONV, infer=_infer_conv, grad=True, lod="kernel")
def var_conv_2d(k: Call, x: Array, row: Array, column: Array, w: Array) -> KernelResult:
    """Out = a convolution of images of different sizes, padded by half the filter. On the host."""
    values, weight = k.dev.download(x).reshape(-1), k.dev.download(w)
    outs, read, start = [], [], 0
    for height, width in _sides(k):
        size = k.attrs["InputChannel"] * height * width
        columns, _ = _columns(k, values[start : start + size].reshape(k.attrs["InputChannel"], height, width))
        outs.append((weight @ columns).reshape(-1))
        read.append(columns.reshape(-1))
        start += size
    k.out_lods["Out"] = _lod([out.size for out in outs])
    k.out_lods["Col"] = _lod([columns.size for columns in read])
    return tuple(k.dev.upload(np.concatenate(parts).reshape(-1, 1)) for parts in (outs, read))


@gradient("var_conv_2d", "X ROW COLUMN W Out@GRAD", "X@GRAD W@GRAD", carried="Out Col")
def var_conv_2d_grad(k: Call, x: Array, row: Array, column: Array, w: Array, dout: Array) -> tuple[Array, Array]:
    values, weight = k.dev.download(x).reshape(-1), k.dev.download(w)
    d, channels = k.dev.download(dout).reshape(-1), k.attrs["InputChannel"]
    dx, dw = np.zeros_like(values), np.zeros_like(weight)
    start = at = 0
    for height, width in _sides(k):
        size = channels * height * width
        columns, place = _columns(k, values[start : start + size].reshape(channels, height, width))
        count = weight.shape[0] * columns.shape[1]
        dy = d[at : at + count].reshape(weight.shape[0], columns.shape[1])
        dw += dy @ columns.T
        pull = (weight.T @ dy).reshape(channels, *place.shape)
        image = dx[start : start + size].reshape(channels, height * width)
        inside = place >= 0
        for channel in range(channels):
            image[channel] += np.bincount(place[inside], pull[channel][inside], height * width).astype(dx.dtype)
        start, at = start + size, at + count
    return k.dev.upload(dx.reshape(x.shape)), k.dev.upload(dw)


def _infer_topk(c: InferContext) -> None:
    width = c.attrs["channel_num"] * len(c.attrs["topks"])
    c.set("Out", (c.shape("ROW")[0], width), c.dtype("X"), c.input("ROW").lod_level)


@op(
    "sequence_topk_avg_pooling",
    "X ROW COLUMN",
    "Out pos",
    {"topks": [], "channel_num": 1},
    infer=_infer_topk,
    grad=True,
    lod="kernel",
)
def sequence_topk_avg_pooling(k: Call, x: Array, row: Array, column: Array) -> tuple[Array, Array]:
    """Out = the sum of the k largest elements of each row of a channel, divided by k; pos = which. On the host."""
    values, topks, channels = k.dev.download(x).reshape(-1), k.attrs["topks"], k.attrs["channel_num"]
    most = max(topks)
    outs, places, start = [], [], 0
    for height, width in _sides(k):
        size = channels * height * width
        image = values[start : start + size].reshape(channels, height, width).transpose(1, 0, 2)
        order = np.argsort(-image, axis=2, kind="stable")[:, :, :most]
        best = np.take_along_axis(image, order, axis=2)
        sums = np.stack([best[:, :, :n].sum(axis=2) / values.dtype.type(n) for n in topks], axis=2)
        outs.append(sums.reshape(height, channels * len(topks)))
        spread = np.full((height, channels, most), -1, np.int32)
        spread[:, :, : order.shape[2]] = order
        places.append(spread.reshape(-1))
        start += size
    k.out_lods["Out"] = k.lod("ROW")
    out = np.concatenate(outs).astype(values.dtype)
    return k.dev.upload(out), k.dev.upload(np.concatenate(places))


@gradient("sequence_topk_avg_pooling", "X ROW COLUMN pos Out@GRAD", "X@GRAD")
def sequence_topk_avg_pooling_grad(k: Call, x: Array, row: Array, column: Array, pos: Array, dout: Array) -> Array:
    d, places = k.dev.download(dout), k.dev.download(pos)
    topks, channels = k.attrs["topks"], k.attrs["channel_num"]
    most = max(topks)
    ranks = np.stack([np.where(np.arange(most) < n, 1.0 / n, 0) for n in topks])
    dx = np.zeros(x.size, d.dtype)
    start = first = at = 0
    for height, width in _sides(k):
        image = dx[start : start + channels * height * width].reshape(channels, height, width).transpose(1, 0, 2)
        where = places[at : at + height * channels * most].reshape(height, channels, most)
        pull = d[first : first + height].reshape(height, channels, len(topks)) @ ranks
        r, c, rank = np.nonzero(where >= 0)
        image[r, c, where[r, c, rank]] += pull[r, c, rank]
        start += channels * height * width
        first += height
        at += where.size
    return k.dev.upload(dx.reshape(x.shape))

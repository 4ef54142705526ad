"""Convolutions over the rows of sequences, and images turned into sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fluidio.errors import EnforceNotMet, not_supported
from fluidio.ops.compiled.products import product
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op, same_as
from fluidio.ops.sequence.ragged import last_level
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array
from fluidio.tensor.lod import IntArray

__all__: list[str] = []


def _shifts(offsets: IntArray, rows: int, start: int, length: int) -> list[tuple[int, int, int, Any]]:
    """Describe which rows each position of the window sees.

    Returns (position, first, last, outside): rows first..last of X move by the shift, except `outside` (row numbers
    whose window would cross the end of their sequence), which see zeros.
    """
    lengths = np.diff(offsets)
    position = np.arange(rows) - np.repeat(offsets[:-1], lengths)
    remaining = np.repeat(lengths, lengths) - position
    found = []
    for j in range(length):
        shift = start + j
        first, last = max(0, -shift), min(rows, rows - shift)
        outside = np.flatnonzero((position < -shift) if shift < 0 else (remaining <= shift))
        found.append((shift, first, max(first, last), outside))
    return found


def _by_position(weight: Array, length: int) -> Array:
    """Return the filter [length * width, filters] as [width, length * filters]."""
    filters = weight.shape[1]
    return weight.reshape(length, -1, filters).transpose(1, 0, 2).reshape(-1, length * filters)


def _infer_conv(c: InferContext) -> None:
    x, weight = c.input("X"), c.shape("Filter")
    width = c.attrs["contextLength"] * x.shape[1]
    c.check(
        weight[0] == width,
        f"Filter must have {width} rows, contextLength times the width of X; its shape is {list(weight)}",
    )
    c.set("Out", (x.shape[0], weight[1]), x.dtype, x.lod_level)


@op(
    "sequence_conv",
    "X PaddingData? Filter",
    "Out",
    {"contextLength": 3, "contextStart": 0, "contextStride": 1, "paddingTrainable": False},
    infer=_infer_conv,
    grad=True,
    lod="kernel",
)
def sequence_conv(k: Call, x: Array, padding: Array | None, weight: Array) -> Array:
    """Out = the window of contextLength rows around each row times Filter, with zeros outside the sequence."""
    if k.attrs["contextStride"] != 1:
        raise EnforceNotMet(f"sequence_conv: contextStride must be 1, got {k.attrs['contextStride']}")
    offsets = last_level(k, "X", x.shape[0])
    k.out_lods["Out"] = k.lod("X")
    rows, filters = x.shape[0], weight.shape[1]
    start, length = k.attrs["contextStart"], k.attrs["contextLength"]
    # One product serves all positions of the window; each result is then added to the row that sees it.
    products = product(x, _by_position(weight, length)).reshape(rows, length, filters)
    out = k.xp.zeros((rows, filters), x.dtype)
    for j, (shift, first, last, outside) in enumerate(_shifts(offsets, rows, start, length)):
        unseen = outside[(outside >= first) & (outside < last)] + shift
        products[k.dev.upload(unseen), j] = 0
        out[first:last] += products[first + shift : last + shift, j]
    if padding is not None:
        for row, pad, j in _padded(offsets, start, length):
            out[row] += padding[pad] @ weight.reshape(length, -1, filters)[j]
    return out


def _padded(offsets: IntArray, start: int, length: int) -> Iterator[tuple[int, int, int]]:
    """Yield (row, row of PaddingData, position of the window) where a window leaves its sequence.

    The rows of PaddingData before a sequence come first, then those after it.
    """
    before = max(0, -start)
    for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist()):
        for row in range(begin, end):
            for j in range(length):
                seen = row + start + j
                if seen < begin:
                    yield row, before + seen - begin, j
                elif seen >= end:
                    yield row, before + seen - end, j


@gradient("sequence_conv", "X PaddingData Filter Out@GRAD", "X@GRAD PaddingData@GRAD Filter@GRAD")
def sequence_conv_grad(k: Call, x: Array, padding: Array | None, weight: Array, dout: Array) -> KernelResult:
    offsets = last_level(k, "X", x.shape[0])
    k.out_lods["X@GRAD"] = k.lod("X")
    rows, width = x.shape
    filters = weight.shape[1]
    start, length = k.attrs["contextStart"], k.attrs["contextLength"]
    products = k.xp.zeros((rows, length, filters), x.dtype)
    for j, (shift, first, last, outside) in enumerate(_shifts(offsets, rows, start, length)):
        products[first + shift : last + shift, j] = dout[first:last]
        unseen = outside[(outside >= first) & (outside < last)] + shift
        products[k.dev.upload(unseen), j] = 0
    flat = products.reshape(rows, length * filters)
    dx = dweight = None
    if k.wants("Filter@GRAD"):
        dweight = product(x.T, flat).reshape(width, length, filters).transpose(1, 0, 2).reshape(weight.shape)
    if k.wants("X@GRAD"):
        dx = product(flat, _by_position(weight, length).T)
    if padding is None:
        return dx, None, dweight
    dpadding = k.xp.zeros_like(padding)
    by_position = weight.reshape(length, -1, filters)
    for row, pad, j in _padded(offsets, start, length):
        dpadding[pad] += by_position[j] @ dout[row]
        if dweight is not None:
            dweight.reshape(by_position.shape)[j] += k.xp.outer(padding[pad], dout[row])
    return dx, dpadding, dweight


# -- row_conv ------------------------------------------------------------------------------------------------------


def _row_offsets(k: Call, x: Array) -> tuple[Any, IntArray]:
    """Return X as rows and the offsets of its sequences; a 3-D X is a batch of padded ones."""
    if k.lod("X"):
        return x, last_level(k, "X", x.shape[0])
    if x.ndim != 3:
        raise EnforceNotMet(
            f"row_conv takes sequences or a tensor [batch, time, width]; the shape of X is {list(x.shape)}"
        )
    return x.reshape(-1, x.shape[2]), np.arange(x.shape[0] + 1, dtype=np.int64) * x.shape[1]


@op("row_conv", "X Filter", "Out", infer=same_as("X"), grad=True, lod="kernel")
def row_conv(k: Call, x: Array, weight: Array) -> Array:
    """Out[t] = sum over j of Filter[j] * X[t + j], within each sequence."""
    k.out_lods["Out"] = k.lod("X")
    flat, offsets = _row_offsets(k, x)
    out = k.xp.zeros_like(flat)
    for j, (_, first, last, outside) in enumerate(_shifts(offsets, flat.shape[0], 0, weight.shape[0])):
        part = flat[first + j : last + j] * weight[j]
        part[k.dev.upload(outside[outside < last])] = 0
        out[first:last] += part
    return out.reshape(x.shape)


@gradient("row_conv", "X Filter Out@GRAD", "X@GRAD Filter@GRAD")
def row_conv_grad(k: Call, x: Array, weight: Array, dout: Array) -> tuple[Array, Array]:
    flat, offsets = _row_offsets(k, x)
    dflat = dout.reshape(flat.shape)
    dx, dweight = k.xp.zeros_like(flat), k.xp.zeros_like(weight)
    for j, (_, first, last, outside) in enumerate(_shifts(offsets, flat.shape[0], 0, weight.shape[0])):
        reached = dflat[first:last].copy()
        reached[k.dev.upload(outside[outside < last])] = 0
        dx[first + j : last + j] += reached * weight[j]
        dweight[j] = (reached * flat[first + j : last + j]).sum(axis=0)
    return dx.reshape(x.shape), dweight


# -- im2sequence ---------------------------------------------------------------------------------------------------


def _steps(size: int, before: int, after: int, kernel: int, stride: int) -> int:
    return int((size + before + after - kernel) / stride) + 1  # C++ rounds towards zero


def _infer_im2sequence(c: InferContext) -> None:
    batch, channels = c.shape("X")[:2]
    high, wide = c.attrs["kernels"]
    c.set("Out", (batch, channels * high * wide), c.dtype("X"), 1)


def _patches(k: Call, x: Array) -> tuple[Any, tuple[int, int, int, int]]:
    """Return a padded copy of X and (out height, out width, kernel height, kernel width)."""
    up, left, down, right = k.attrs["paddings"]
    kh, kw = k.attrs["kernels"]
    sh, sw = k.attrs["strides"]
    oh, ow = _steps(x.shape[2], up, down, kh, sh), _steps(x.shape[3], left, right, kw, sw)
    if oh < 1 or ow < 1:
        raise EnforceNotMet(f"images of {x.shape[2]} x {x.shape[3]} are too small for a filter of {kh} x {kw}")
    return k.xp.pad(x, ((0, 0), (0, 0), (up, down), (left, right))), (oh, ow, kh, kw)


def _patches_of_real_sizes(k: Call, x: Array, sizes: Array) -> Array:
    """Return the patches within each image's real size, which is given before scaling by out_stride."""
    high, wide = (-(-sizes[:, dim].astype(int) // k.attrs["out_stride"][dim]) for dim in (0, 1))
    up, left, down, right = k.attrs["paddings"]
    kh, kw = k.attrs["kernels"]
    sh, sw = k.attrs["strides"]
    rows = [max(_steps(int(size), up, down, kh, sh), 0) for size in high]
    columns = [max(_steps(int(size), left, right, kw, sw), 0) for size in wide]
    beyond = [max((max(count) - 1) * stride + size, 0) for count, stride, size in ((rows, sh, kh), (columns, sw, kw))]
    after = [max(room - before - size, 0) for room, before, size in zip(beyond, (up, left), x.shape[2:])]
    padded = k.xp.pad(x, ((0, 0), (0, 0), (up, after[0]), (left, after[1])))  # zeros outside the image
    found, counts = [], []
    for image in range(x.shape[0]):
        for i, j in np.ndindex(rows[image], columns[image]):
            found.append(padded[image, :, i * sh : i * sh + kh, j * sw : j * sw + kw].reshape(-1))
        counts.append(rows[image] * columns[image])
    k.out_lods["Out"] = (np.cumsum([0, *counts]).astype(np.int64),)
    return k.xp.stack(found) if found else k.xp.empty((0, x.shape[1] * kh * kw), x.dtype)


@op(
    "im2sequence",
    "X Y?",
    "Out",
    {"kernels": [1, 1], "strides": [1, 1], "paddings": [0, 0, 0, 0], "out_stride": [1, 1]},
    infer=_infer_im2sequence,
    grad=True,
    lod="kernel",
)
def im2sequence(k: Call, x: Array, sizes: Array | None) -> Array:
    """Out = the patches of each image, row by row, as a sequence; columns are channel, height, width of a patch."""
    if sizes is not None and x.shape[0] > 1:  # Fluid: a single image is used whole
        return _patches_of_real_sizes(k, x, np.asarray(k.dev.download(sizes)))
    padded, (oh, ow, kh, kw) = _patches(k, x)
    sh, sw = k.attrs["strides"]
    k.out_lods["Out"] = (np.arange(x.shape[0] + 1, dtype=np.int64) * (oh * ow),)
    out = k.xp.empty((x.shape[0], oh, ow, x.shape[1], kh, kw), x.dtype)
    for i in range(kh):
        for j in range(kw):
            piece = padded[:, :, i : i + sh * (oh - 1) + 1 : sh, j : j + sw * (ow - 1) + 1 : sw]
            out[..., i, j] = piece.transpose(0, 2, 3, 1)
    return out.reshape(x.shape[0] * oh * ow, -1)


@gradient("im2sequence", "X Out@GRAD", "X@GRAD")
def im2sequence_grad(k: Call, x: Array, dout: Array) -> Array:
    if k.op.input("Y"):
        not_supported("the gradient of im2sequence(input_image_size=...)", "Fluid has none either")
    padded, (oh, ow, kh, kw) = _patches(k, x)
    sh, sw = k.attrs["strides"]
    up, left, _, _ = k.attrs["paddings"]
    whole = k.xp.zeros_like(padded)
    pieces = dout.reshape(x.shape[0], oh, ow, x.shape[1], kh, kw)
    for i in range(kh):
        for j in range(kw):
            whole[:, :, i : i + sh * (oh - 1) + 1 : sh, j : j + sw * (ow - 1) + 1 : sw] += pieces[..., i, j].transpose(
                0, 3, 1, 2
            )
    return whole[:, :, up : up + x.shape[2], left : left + x.shape[3]].copy()

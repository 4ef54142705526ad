"""Slices and crops: slice, strided_slice, crop."""

from __future__ import annotations

import warnings
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.ops.shape.dims import host_ints, keep_lod, steady
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_TENSORS = "StartsTensor? EndsTensor? StartsTensorList*? EndsTensorList*?"


def _range(size: int, start: int, end: int) -> tuple[int, int]:
    """Return the start and end of a slice with step 1 within a dim, with Fluid's rules for bounds out of range."""
    start = max(start + size if start < 0 else start, 0)
    end = max(end + size if end < 0 else end, 0)
    return min(start, size), max(min(end, size), min(start, size))


def _known(c: InferContext) -> list[bool]:
    """Return for each axis whether its bounds are numbers; with tensors, none is known without `infer_flags`."""
    flags: list[int] = c.attrs["infer_flags"]
    tensors = any(c.has(slot) for slot in c.op.input_names if slot != "Input")
    return [flag != -1 for flag in flags] if flags else [not tensors] * len(c.attrs["axes"])


def _check_bounds(c: InferContext, *names: str) -> None:
    """Check that there is one of each for every axis, but where one tensor holds them all."""
    axes = c.attrs["axes"]
    for name in names:
        count = len(c.op.input(f"{name.capitalize()}TensorList")) or len(c.attrs[name])
        fits = count == len(axes) or c.has(f"{name.capitalize()}Tensor")
        c.check(fits, f"{name} must hold a number for each of the axes {list(axes)}, got {count}")


def _set_dims(c: InferContext, shape: list[int]) -> None:
    """Describe Out by the dims after slicing, without dropped ones."""
    for axis in sorted(c.attrs["decrease_axis"], reverse=True):
        c.check(shape[axis] in (1, -1), f"dim {axis} still has {shape[axis]} entries, so it cannot be dropped")
        del shape[axis]
    first = c.attrs["axes"][:1] == [0]
    c.set("Out", shape or [1], c.dtype("Input"), 0 if first else c.input("Input").lod_level)


def _infer_slice(c: InferContext) -> None:
    shape = list(c.shape("Input"))
    a = c.attrs
    _check_bounds(c, "starts", "ends")
    for i, (axis, known) in enumerate(zip(a["axes"], _known(c))):
        c.check(-len(shape) <= axis < len(shape), f"Input has {len(shape)} dims and no dim {axis}")
        if known and shape[axis] >= 0:
            start, end = _range(shape[axis], a["starts"][i], a["ends"][i])
            shape[axis] = end - start
        else:
            shape[axis] = -1
    _set_dims(c, shape)


def _slices(k: Call, x: Array, starts: list[int], ends: list[int]) -> tuple[slice, ...]:
    index = [slice(None)] * x.ndim
    for axis, start, end in zip(k.attrs["axes"], starts, ends):
        index[axis] = slice(*_range(x.shape[axis], start, _end(k, x, axis, start, end)))
    return tuple(index)


def _end(k: Call, x: Array, axis: int, start: int, end: int) -> int:
    """Return the end of a slice: for x[v] it is v + 1, which is 0 if v is -1."""
    return x.shape[axis] if start == -1 and end == 0 and axis in k.attrs["decrease_axis"] else end


def _dropped(k: Call, out: Array) -> Array:
    """Return `out` without the dims that were indexed by a single number."""
    drop = k.attrs["decrease_axis"]
    if not drop:
        return out
    return out.reshape(tuple(d for i, d in enumerate(out.shape) if i not in drop) or (1,))


def _bounds(k: Call, st: Any, et: Any, sl: Any, el: Any) -> tuple[list[int], list[int]]:
    return host_ints(k, st, sl) or k.attrs["starts"], host_ints(k, et, el) or k.attrs["ends"]


@op(
    "slice",
    f"Input {_TENSORS}",
    "Out",
    {"axes": [], "starts": [], "ends": [], "infer_flags": [], "decrease_axis": []},
    infer=_infer_slice,
    grad=True,
    lod="kernel",
)
def slice_(k: Call, x: Array, st: Array, et: Array, sl: Array, el: Array) -> Array:
    """Out = Input[starts:ends] along the axes, without the decrease_axis dims."""
    out = steady(k, x, "Input")[_slices(k, x, *_bounds(k, st, et, sl, el))]
    out = _dropped(k, out)
    # Fluid: the result has no LoD if the first axis given is dim 0.
    return out if k.attrs["axes"][:1] == [0] else keep_lod(k, x, out, "Input")


@gradient("slice", f"Input {_TENSORS.replace('*', '').replace('?', '')} Out@GRAD", "Input@GRAD")
def slice_grad(k: Call, x: Array, st: Array, et: Array, sl: Array, el: Array, dout: Array) -> Array:
    dx = k.xp.zeros_like(x)
    index = _slices(k, x, *_bounds(k, st, et, sl, el))
    dx[index] = dout.reshape(dx[index].shape)
    k.out_lods["Input@GRAD"] = k.lod("Input")
    return dx


def _step(size: int, start: int, end: int, stride: int) -> slice:
    """Return the slice for one dim: negative starts and ends count from the end, those out of range are clipped."""
    if stride == 0:
        raise EnforceNotMet("strides must not contain 0")
    begin = start + size if start < 0 else start
    stop = end + size if end < 0 else end
    if stride > 0:
        return slice(max(begin, 0), max(min(stop, size), 0), stride)
    return _backwards(max(stop, -1) + 1, min(begin, size - 1) + 1, -stride)


def _backwards(low: int, high: int, step: int) -> slice:
    """Return the slice of every `step`th element from `low` up to but not including `high`, in reverse.

    Fluid: counts from the low end, so x[3:0:-2] is x[1], where Python gives x[3], x[1].
    """
    last = low + max(high - low - 1, -1) // step * step
    if last != high - 1 and high > low:
        _tell_of_backwards()
    return slice(last, low - 1 if low else None, -step) if high > low else slice(0, 0, 1)


_warned = False


def _tell_of_backwards() -> None:
    global _warned
    if _warned:
        return
    _warned = True
    warnings.warn(
        "a slice with a negative step: like Fluid 1.8.5, fluidio counts the steps from the low end and so "
        "takes other elements than Python; x[::-1][::2] takes those of Python's x[::-2]",
        stacklevel=2,
    )


def _infer_strided(c: InferContext) -> None:
    shape = list(c.shape("Input"))
    a = c.attrs
    if any(c.has(slot) for slot in ("StartsTensor", "EndsTensor", "StridesTensor")):
        shape = [-1] * len(shape)  # Fluid: if one bound is a tensor, nothing is known
    _check_bounds(c, "starts", "ends", "strides")
    for i, (axis, known) in enumerate(zip(a["axes"], _known(c))):
        if known and shape[axis] >= 0:
            piece = _step(shape[axis], a["starts"][i], a["ends"][i], a["strides"][i])
            shape[axis] = len(range(shape[axis])[piece])
        else:
            shape[axis] = -1
    _set_dims(c, shape)


def _strided_index(k: Call, x: Any, st: Any, et: Any, pt: Any, sl: Any, el: Any, pl: Any) -> tuple[slice, ...]:
    starts, ends = _bounds(k, st, et, sl, el)
    strides = host_ints(k, pt, pl) or k.attrs["strides"]
    index = [slice(None)] * x.ndim
    for axis, start, end, stride in zip(k.attrs["axes"], starts, ends, strides):
        index[axis] = _step(x.shape[axis], start, _end(k, x, axis, start, end), stride)
    return tuple(index)


_STRIDED = "StartsTensor? EndsTensor? StridesTensor? StartsTensorList*? EndsTensorList*? StridesTensorList*?"


@op(
    "strided_slice",
    f"Input {_STRIDED}",
    "Out",
    {"axes": [], "starts": [], "ends": [], "strides": [], "infer_flags": [], "decrease_axis": []},
    infer=_infer_strided,
    grad=True,
    lod="none",
)
def strided_slice(k: Call, x: Array, *tensors: Any) -> Array:
    """Out = Input[starts:ends:strides] along the axes, without the decrease_axis dims."""
    return _dropped(k, steady(k, x, "Input")[_strided_index(k, x, *tensors)])


@gradient("strided_slice", f"Input {_STRIDED.replace('*', '').replace('?', '')} Out@GRAD", "Input@GRAD")
def strided_slice_grad(k: Call, x: Array, *rest: Any) -> Array:
    *tensors, dout = rest
    dx = k.xp.zeros_like(x)
    index = _strided_index(k, x, *tensors)
    dx[index] = dout.reshape(dx[index].shape)
    return dx


def _crop(x: Array, offsets: list[int], shape: list[int]) -> tuple[slice, ...]:
    """Return the index of a crop; a dim of -1 or 0 extends to the end."""
    for size, offset, wanted in zip(x.shape, offsets, shape):
        if offset < 0 or (wanted > 0 and offset + wanted > size):
            raise EnforceNotMet(f"a crop of {list(shape)} at {list(offsets)} reaches outside X {list(x.shape)}")
    return tuple(slice(o, None if s in (-1, 0) else o + s) for o, s in zip(offsets, shape))


def _infer_crop(c: InferContext) -> None:
    shape = list(c.shape("Y")) if c.has("Y") else list(c.attrs["shape"])
    x = c.shape("X")
    c.check(len(shape) == len(x), f"shape {shape} must have as many entries as X has dims ({len(x)})")
    c.set("Out", shape, c.dtype("X"), c.input("X").lod_level)


def _crop_index(k: Call, x: Array, y: Array | None, offsets: Array) -> tuple[slice, ...]:
    start = host_ints(k, offsets) or k.attrs["offsets"] or [0] * x.ndim
    if y is not None:
        return _crop(x, start, list(y.shape))
    shape = [x.shape[i] - start[i] if d == -1 else d for i, d in enumerate(k.attrs["shape"])]
    return _crop(x, start, shape)


@op("crop", "X Y? Offsets?", "Out", {"offsets": [], "shape": []}, infer=_infer_crop, grad=True)
def crop(k: Call, x: Array, y: Array, offsets: Array) -> Array:
    """Out = the piece of X of the given shape (or Y's) at offsets."""
    return steady(k, x)[_crop_index(k, x, y, offsets)]


@gradient("crop", "X Y Offsets Out@GRAD", "X@GRAD")
def crop_grad(k: Call, x: Array, y: Array, offsets: Array, dout: Array) -> Array:
    dx = k.xp.zeros_like(x)
    dx[_crop_index(k, x, y, offsets)] = dout
    return dx


def _infer_crop_tensor(c: InferContext) -> None:
    x = c.shape("X")
    if c.has("Shape"):
        c.set("Out", (-1,) * len(x), c.dtype("X"), c.input("X").lod_level)
        return
    shape = c.attrs["shape"] or [-1] * len(x)
    c.check(len(shape) == len(x), f"shape must hold a size for each of the {len(x)} dims of X, got {list(shape)}")
    fixed = not (c.has("ShapeTensor") or c.has("Offsets") or c.has("OffsetsTensor"))
    offsets = c.attrs["offsets"] or [0] * len(x)
    dims = [
        -1 if d == 0 else (size - offsets[i] if fixed and size >= 0 else -1) if d == -1 else d
        for i, (d, size) in enumerate(zip(shape, x))
    ]
    c.set("Out", dims, c.dtype("X"), c.input("X").lod_level)


def _crop_tensor_index(k: Call, x: Any, shape: Any, offsets: Any, shapes: Any, offset_list: Any) -> tuple[slice, ...]:
    wanted = host_ints(k, shape, shapes) or k.attrs["shape"]
    start = host_ints(k, offsets, offset_list) or k.attrs["offsets"] or [0] * x.ndim
    return _crop(x, start, wanted)


_CROP = "X Shape? Offsets? ShapeTensor*? OffsetsTensor*?"


@op("crop_tensor", _CROP, "Out", {"offsets": [], "shape": []}, infer=_infer_crop_tensor, grad=True)
def crop_tensor(k: Call, x: Array, *tensors: Any) -> Array:
    """Out = the piece of X of the given shape at offsets; both may be tensors."""
    return steady(k, x)[_crop_tensor_index(k, x, *tensors)]


@gradient("crop_tensor", f"{_CROP.replace('*', '').replace('?', '')} Out@GRAD", "X@GRAD")
def crop_tensor_grad(k: Call, x: Array, *rest: Any) -> Array:
    *tensors, dout = rest
    dx = k.xp.zeros_like(x)
    dx[_crop_tensor_index(k, x, *tensors)] = dout
    return dx

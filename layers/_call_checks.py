"""Checks of Fluid 1.8 that involve several arguments of a layer: matching shapes, sizes that fit a layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import to_vartype
from fluidio.program import Variable

__all__ = ["CALL_CHECKS"]

CALL_CHECKS: dict[str, Callable[..., None]] = {}  # layer -> a function that takes its arguments by name and raises


def _checks(*layers: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def register(check: Callable[..., None]) -> Callable[..., None]:
        CALL_CHECKS.update(dict.fromkeys(layers, check))
        return check

    return register


def _demand(holds: object, error: type[Exception], text: str) -> None:
    if not holds:
        raise error(text)


def _whole(value: object) -> bool:
    return isinstance(value, (int, np.integer))


@_checks("matmul")
def _matmul(x: Variable, y: Variable, transpose_x: bool = False, transpose_y: bool = False, **_: object) -> None:
    left, right = list(x.shape), list(y.shape)
    left = [1, *left] if len(left) == 1 else left
    right = [*right, 1] if len(right) == 1 else right
    for shape, turned in ((left, transpose_x), (right, transpose_y)):
        if turned:
            shape[-2:] = shape[:-3:-1]
    shapes = f"X has shape {list(x.shape)}, Y {list(y.shape)}"
    _demand(
        left[-1] == right[-2] or -1 in (left[-1], right[-2]),
        AssertionError,
        f"matmul: after transposing, X must have as many columns as Y has rows; {shapes}",
    )
    if len(left) > 2 and len(right) > 2:
        alike = all(a == b or a < 0 or b < 0 for a, b in zip(left[:-2], right))
        _demand(alike, ValueError, f"matmul: the dims before the last two must be equal; {shapes}")


@_checks("addcmul")
def _addcmul(input: Variable, value: object = 1.0, **_: object) -> None:
    kind = float if input.dtype.name.startswith("FP") else int
    _demand(isinstance(value, kind), TypeError, f"addcmul: value must be {kind.__name__} for this input, got {value!r}")


@_checks("reshape")
def _reshape(x: Variable, shape: object, **_: object) -> None:
    if not isinstance(x, Variable) or not isinstance(shape, (list, tuple)):
        return
    sizes = [(at, size) for at, size in enumerate(shape) if not isinstance(size, Variable)]
    for number, (at, size) in enumerate(sizes):
        if size == -1:
            first = all(before != -1 for _, before in sizes[:number])
            _demand(first, AssertionError, f"reshape: only one dim of shape can be -1, got {list(shape)}")
        elif size == 0:
            known = at < len(x.shape)
            text = f"reshape: shape[{at}] is 0, but x has {len(x.shape)} dims only, so there is none to copy"
            _demand(known, AssertionError, text)
        else:
            _demand(size > 0, AssertionError, f"reshape: shape[{at}] is {size}; sizes cannot be negative except one -1")


def _resample(default: str, default_format: str) -> Callable[..., None]:
    def check(input: Variable, out_shape: object = None, scale: object = None, **options: Any) -> None:
        resample = options.get("resample", default)
        if not isinstance(options.get("align_corners", True), bool):
            raise TypeError(f"align_corners must be a bool, got {options['align_corners']!r}")
        if not isinstance(input, Variable) or resample not in ("BILINEAR", "NEAREST", "TRILINEAR"):
            return
        rank = 5 if resample == "TRILINEAR" else 4
        _demand(len(input.shape) == rank, ValueError, f"{resample} resizes {rank}-D tensors, got {list(input.shape)}")
        layouts = ("NCHW", "NHWC") if rank == 4 else ("NCDHW", "NDHWC")
        layout = options.get("data_format", default_format)
        complete = out_shape is not None or scale is not None
        _demand(not complete or layout in layouts, ValueError, f"data_format must be one of {layouts}, got {layout!r}")
        if isinstance(out_shape, (list, tuple)) and any(isinstance(size, Variable) for size in out_shape):
            plain = all(isinstance(size, (int, Variable)) for size in out_shape)
            _demand(plain, AssertionError, f"out_shape must hold ints and Variables, got {out_shape!r}")

    return check


def _interpolate(input: Variable, out_shape: object = None, scale: object = None, **options: Any) -> None:
    """Check the rank; `interpolate` checks it before all else, and looks at no layout."""
    resample = options.get("resample", "BILINEAR")
    if isinstance(input, Variable) and resample in ("BILINEAR", "NEAREST", "BICUBIC", "TRILINEAR"):
        rank = 5 if resample == "TRILINEAR" else 4
        _demand(len(input.shape) == rank, ValueError, f"{resample} resizes {rank}-D tensors, got {list(input.shape)}")


_checks("interpolate")(_interpolate)
_checks("image_resize")(_resample("BILINEAR", "NCHW"))
_checks("resize_bilinear")(_resample("BILINEAR", "NCHW"))
_checks("resize_nearest")(_resample("NEAREST", "NCHW"))
_checks("resize_trilinear")(_resample("TRILINEAR", "NCDHW"))


@_checks("prelu")
def _prelu(x: Variable, mode: str, **_: object) -> None:
    least = 2 if mode == "channel" else 1
    text = f"prelu: mode {mode!r} needs an input of {least} dims or more, got {list(x.shape)}"
    _demand(len(x.shape) >= least, AssertionError, text)


@_checks("batch_norm")
def _batch_norm(input: Variable, param_attr: object = None, bias_attr: object = None, **_: object) -> None:
    _demand(
        param_attr is not False and bias_attr is not False,
        AssertionError,
        "batch_norm: param_attr and bias_attr must not be False: its scale and shift are always parameters",
    )


@_checks("layer_norm")
def _layer_norm(
    input: Variable,
    scale: bool = True,
    shift: bool = True,
    param_attr: object = None,
    bias_attr: object = None,
    **_: object,
) -> None:
    _demand(
        param_attr is not False or not scale,
        AssertionError,
        "layer_norm: param_attr=False leaves no parameter for the scale; pass scale=False to have none",
    )
    _demand(
        bias_attr is not False or not shift,
        AssertionError,
        "layer_norm: bias_attr=False leaves no parameter for the shift; pass shift=False to have none",
    )


@_checks("diag_embed")
def _diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> None:
    rank = len(input.shape)
    for name, dim in (("dim1", dim1), ("dim2", dim2)):
        _demand(abs(dim) <= rank, AssertionError, f"diag_embed: {name} is {dim}, beyond [{-rank - 1}, {rank}]")
    text = f"diag_embed: dim1 ({dim1}) and dim2 ({dim2}) name the same dim"
    _demand(dim1 % (rank + 1) != dim2 % (rank + 1), AssertionError, text)


@_checks("split")
def _split(input: Variable, num_or_sections: object, dim: object = -1, **_: object) -> None:
    for name, given, kinds in (("num_or_sections", num_or_sections, (list, tuple)), ("dim", dim, (Variable,))):
        _demand(isinstance(given, (int, *kinds)), TypeError, f"split: {name} cannot be {given!r}")
    number = num_or_sections if isinstance(num_or_sections, int) else 2
    _demand(number > 1, AssertionError, f"split: num_or_sections must be at least 2, got {num_or_sections}")
    if isinstance(input, Variable) and isinstance(dim, int):
        rank = len(input.shape)
        _demand(-rank <= dim < rank, IndexError, f"split: dim {dim} is not among the {rank} dims of {input.name}")


@_checks("assign")
def _assign(input: object, output: object = None) -> None:
    doubles = isinstance(input, np.ndarray) and input.dtype == np.float64
    _demand(not doubles, TypeError, "assign: an array must have dtype bool, float32, int32 or int64, got float64")


@_checks("fill_constant")
def _fill_constant(
    shape: object, dtype: Any, value: object, force_cpu: bool = False, out: Any = None, **_: object
) -> None:
    if isinstance(out, Variable):
        same = out.dtype is to_vartype(dtype)
        _demand(same, TypeError, f"fill_constant: dtype of out must be {dtype}, got {out.dtype.name}")


@_checks("create_parameter")
def _create_parameter(shape: Sequence[object], **_: object) -> None:
    _demand(all(map(_whole, shape)), TypeError, f"create_parameter: shape must hold ints, got {shape!r}")


@_checks("linspace")
def _linspace(start: object, stop: object, num: object, dtype: Any) -> None:
    if not all(isinstance(value, Variable) for value in (start, stop)):
        kinds = ("bool", "float16", "float32", "float64", "int32", "int64")
        allowed = to_vartype(dtype) in map(to_vartype, kinds)
        _demand(allowed, TypeError, f"linspace: dtype must be one of {kinds}, got {dtype}")


@_checks("crop_tensor")
def _crop_tensor(x: Variable, shape: object = None, **_: object) -> None:
    if isinstance(shape, (list, tuple)):
        plain = [size for size in shape if _whole(size)]
        right = all(size == -1 or size > 0 for size in plain)
        _demand(right, ValueError, f"crop_tensor: sizes must be -1 or above 0, got {shape!r}")


@_checks("locality_aware_nms")
def _locality_aware_nms(bboxes: Variable, scores: Variable, **_: object) -> None:
    shape = scores.shape
    text = f"locality_aware_nms: scores must have shape [N, 1, M], got {list(shape)}"
    _demand(len(shape) == 3 and shape[1] == 1, AssertionError, text)


@_checks("multi_box_head")
def _multi_box_head(
    inputs: object, min_sizes: Sequence[float] | None = None, max_sizes: Sequence[float] | None = None, **_: object
) -> None:
    if isinstance(inputs, (list, tuple)) and len(inputs) <= 2:
        given = min_sizes is not None and max_sizes is not None and len(min_sizes) == len(max_sizes) == len(inputs)
        _demand(given, AssertionError, "multi_box_head: with one or two feature maps, pass min_sizes and max_sizes")


@_checks("nce")
def _nce(input: object, sampler: str = "uniform", custom_dist: object = None, **_: object) -> None:
    _demand(sampler != "custom_dist" or custom_dist is not None, AssertionError, "nce: custom_dist must be given")


@_checks("trace")
def _trace(input: Variable, dim1: int = 0, dim2: int = 1, **_: object) -> None:
    rank = len(input.shape)
    _demand(rank >= 2, AssertionError, f"trace: input must have 2 dims or more, it has shape {list(input.shape)}")
    for name, dim in (("dim1", dim1), ("dim2", dim2)):
        _demand(-rank <= dim < rank, AssertionError, f"trace: {name} is {dim}, input has {rank} dims")
    _demand(dim1 % rank != dim2 % rank, AssertionError, f"trace: dim1 and dim2 are the same dim, {dim1} and {dim2}")


@_checks("clamp")
def _clamp(input: object, min: object = None, max: object = None, **_: object) -> None:
    _demand(min is not None or max is not None, AssertionError, "clamp: give min, max or both")

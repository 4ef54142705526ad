"""Ops that make tensors: constants, ranges and seeded random numbers; dropout."""

from __future__ import annotations

import numpy as np

from tests.differential.draw import OpDraw, draws

_DTYPES = {"bool": 0, "int32": 2, "int64": 3, "float32": 5, "float64": 6}


def _dtype(d: OpDraw, *names: str) -> int:
    name = d.pick(*(names or _DTYPES))
    d.out_dtypes["Out"] = name
    return _DTYPES[name]


def _shape_tensors(d: OpDraw, shape: list[int]) -> None:
    way = d.rng.random()
    if way < 0.15:
        d.put("ShapeTensor", np.array(shape, d.pick("int32", "int64")), fixed=True)
    elif way < 0.3:
        d.put("ShapeTensorList", *[np.array([size], "int32") for size in shape], fixed=True)


@draws("fill_constant", grad=False)
def fill_constant(d: OpDraw) -> None:
    shape = d.shape()
    d.attrs.update(shape=shape, dtype=_dtype(d))
    way = d.rng.random()
    if way < 0.6:
        d.attrs["value"] = d.pick(0.0, 1.0, -2.5, 7.0)
    elif way < 0.8:
        d.attrs["str_value"] = d.pick("1.5", "-3", "0.1", "7")
    else:
        dtype = d.out_dtypes["Out"]
        d.put("ValueTensor", np.array([3], dtype), fixed=True)
    d.attr("force_cpu", False, True)
    _shape_tensors(d, shape)


@draws("fill_constant_batch_size_like", grad=False)
def fill_constant_batch_size_like(d: OpDraw) -> None:
    _like(d)
    d.attrs["dtype"] = _dtype(d)
    d.real("value", 0.0, -3, 3)
    if d.chance(0.2):
        d.attrs["str_value"] = d.pick("1.5", "-3", "0.1")
    d.attr("force_cpu", False, True)


def _like(d: OpDraw) -> None:
    given = d.shape(1, 3)
    shape = d.shape(1, 3)
    lod = None
    if d.chance(0.2):
        lod, given[0] = d.lod()
    d.put("Input", d.floats(given), lod=lod)
    d.attrs["shape"] = shape
    if lod is None:
        d.attr("input_dim_idx", 0, d.rng.randrange(len(given)))
    d.attr("output_dim_idx", 0, d.rng.randrange(len(shape)))


@draws("fill_any_like", grad=False)
def fill_any_like(d: OpDraw) -> None:
    d.put("X", d.pick(d.floats(d.shape()), d.ids(d.shape(), 5), d.ids(d.shape(), 5, dtype="int32")))
    d.real("value", 0.0, -3, 3)
    d.attr("dtype", -1, -1, *_DTYPES.values())


@draws("assign_value", grad=False)
def assign_value(d: OpDraw) -> None:
    shape = d.shape(1, 3)
    count = int(np.prod(shape))
    name = d.pick("bool", "int32", "int64", "float32")
    values = d.ids([count], 2 if name == "bool" else 9, dtype="int64").tolist()
    slot = {"bool": "bool_values", "int32": "int32_values", "int64": "int64_values", "float32": "fp32_values"}[name]
    d.attrs.update(shape=shape, dtype=_DTYPES[name])
    d.attrs[slot] = [float(one) + 0.25 for one in values] if name == "float32" else values
    d.out_dtypes["Out"] = name


@draws("eye", grad=False)
def eye(d: OpDraw) -> None:
    d.attrs.update(num_rows=d.size(1, 4), dtype=_dtype(d, "int32", "int64", "float32", "float64"))
    d.attr("num_columns", -1, d.size(1, 5))


@draws("linspace", grad=False)
def linspace(d: OpDraw) -> None:
    d.put("Start", d.floats([1]), fixed=True)
    d.put("Stop", d.floats([1], 2, 5), fixed=True)
    d.put("Num", np.array([d.size(1, 6)], "int32"), fixed=True)


@draws("range", grad=False)
def range_(d: OpDraw) -> None:
    dtype = d.pick("int32", "int64", "float32", "float64")
    step = d.pick(1, 2, -1, -2)
    if "float" in dtype:
        step = d.pick(0.5, 0.7, -0.4)
    start, end = (0, d.size(1, 6)) if step > 0 else (d.size(1, 6), 0)
    for slot, value in (("Start", start), ("End", end), ("Step", step)):
        d.put(slot, np.array([value], dtype), fixed=True)


@draws("gaussian_random", grad=False)
def gaussian_random(d: OpDraw) -> None:
    shape = d.shape()
    d.attrs.update(shape=shape, seed=d.size(1, 9999), dtype=_dtype(d, "float32", "float64"))
    d.real("mean", 0.0, -2, 2)
    d.real("std", 1.0, 0.1, 2)
    _shape_tensors(d, shape)


@draws("truncated_gaussian_random", grad=False)
def truncated_gaussian_random(d: OpDraw) -> None:
    d.attrs.update(shape=d.shape(), seed=d.size(1, 9999), dtype=_dtype(d, "float32"))
    d.real("mean", 0.0, -2, 2)
    d.real("std", 1.0, 0.1, 2)


@draws("uniform_random", grad=False)
def uniform_random(d: OpDraw) -> None:
    shape = d.shape(2, 3)
    d.attrs.update(shape=shape, seed=d.size(1, 9999), dtype=_dtype(d, "float32", "float64"))
    d.real("min", -1.0, -3, 0)
    d.real("max", 1.0, 0.1, 3)
    if d.chance(0.2):
        side = min(shape)
        d.attrs["shape"] = shape = [side, side]
        d.attrs.update(diag_num=side, diag_step=side + 1, diag_val=1.5)
    _shape_tensors(d, shape)


@draws("gaussian_random_batch_size_like", "uniform_random_batch_size_like", grad=False)
def random_like(d: OpDraw) -> None:
    _like(d)
    d.attrs.update(seed=d.size(1, 9999), dtype=_dtype(d, "float32", "float64"))
    if "gaussian" in d.op:
        d.real("mean", 0.0, -2, 2)
        d.real("std", 1.0, 0.1, 2)
    else:
        d.real("min", -1.0, -3, 0)
        d.real("max", 1.0, 0.1, 3)
        if d.attr("diag_num", 0, 0, 1):
            d.attr("diag_step", 0, 1, 2)
            d.real("diag_val", 1.0, -2, 2)


@draws("dropout")
def dropout(d: OpDraw) -> None:
    d.put("X", d.floats(d.shape()))
    d.real("dropout_prob", 0.5, 0.0, 1.0)
    d.attr("is_test", False, True)
    d.attr("dropout_implementation", "downgrade_in_infer", "upscale_in_train")
    d.attrs.update(fix_seed=True, seed=d.size(1, 9999))
    if d.chance(0.2):
        d.put("Seed", d.ids([1], 99, 1, "int32"), fixed=True)
    d.out_dtypes["Mask"] = "uint8"
    if d.attrs.get("is_test"):
        d.no_grad()
        d.unfetched("Mask")


@draws("sampling_id", grad=False)
def sampling_id(d: OpDraw) -> None:
    d.put("X", d.rows([d.size(1, 4), d.size(2, 5)]))
    d.attrs["seed"] = d.size(1, 9999)
    d.real("min", 0.0, 0.0, 0.3)
    d.real("max", 1.0, 0.5, 1.0)
    d.out_dtypes["Out"] = "int64"


@draws("random_crop", grad=False)
def random_crop(d: OpDraw) -> None:
    shape = d.shape(2, 4, 5)
    tail = d.rng.randrange(1, len(shape))
    d.put("X", d.floats(shape), fixed=True)
    d.put("Seed", d.ids([1], 9999, 1), fixed=True)
    d.attrs["shape"] = [d.rng.randint(1, size) for size in shape[tail:]]
    d.attrs["startup_seed"] = 5
    d.out_dtypes["SeedOut"] = "int64"

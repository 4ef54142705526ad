"""Binary ops, comparisons, logic, scale, cast."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps

__all__ = ["aligned"]


def aligned(k: Op, x: Value, y: Value, axis: int) -> tuple[Value, Value]:
    """Return both with the same rank and dtype; the shorter one is aligned with `axis` of the longer one."""
    x, y = k.same_dtype(x, y)
    if k.rank(x, "X") == k.rank(y, "Y"):
        return x, y
    if k.rank(x) < k.rank(y):
        shorter, longer = _padded(k, x, k.rank(y), axis, "X"), y
        return shorter, longer
    return x, _padded(k, y, k.rank(x), axis, "Y")


def _padded(k: Op, short: Value, rank: int, axis: int, slot: str) -> Value:
    size = k.rank(short)
    start = rank - size if axis == -1 else axis
    drop = start + size - rank
    if drop > 0:  # Fluid: trailing ones do not count
        short = k.g.squeeze(short, *range(size - drop, size))
        size -= drop
    behind = rank - start - size
    return k.g.unsqueeze(short, *range(size, size + behind)) if behind else short


def _towards_zero(k: Op, x: Value, y: Value) -> Value:
    # C++ truncates quotients of integers.
    if x.dtype.kind == "f":
        return k("Div", x, y)
    positive = k("Div", k("Abs", x), k("Abs", y))
    return k("Mul", positive, k("Mul", k("Sign", x), k("Sign", y)))


def _floor_div(k: Op, x: Value, y: Value) -> Value:
    return k("Floor", k("Div", x, y)) if x.dtype.kind == "f" else _towards_zero(k, x, y)


def _mod(k: Op, x: Value, y: Value) -> Value:
    if x.dtype.kind != "f":
        return k("Mod", x, y, fmod=1)
    return k("Sub", x, k("Mul", k("Floor", k("Div", x, y)), y))


def _power(k: Op, x: Value, y: Value) -> Value:
    return k("Pow", x, y)


_BINARY: dict[str, str | Callable[[Op, Value, Value], Value]] = {
    "elementwise_add": "Add",
    "elementwise_sub": "Sub",
    "elementwise_mul": "Mul",
    "elementwise_max": "Max",
    "elementwise_min": "Min",
    "elementwise_div": _towards_zero,
    "elementwise_floordiv": _floor_div,
    "elementwise_mod": _mod,
    "elementwise_pow": _power,
    "less_than": "Less",
    "less_equal": "LessOrEqual",
    "greater_than": "Greater",
    "greater_equal": "GreaterOrEqual",
    "equal": "Equal",
    "minus": "Sub",
}


_SWAPPED = ("elementwise_floordiv", "elementwise_mod", "elementwise_pow")
"""Ops that take Y for X where X has fewer dims, as Fluid 1.8.5 does."""


def _binary(name: str, what: str | Callable[[Op, Value, Value], Value]) -> None:
    @maps(name)
    def mapping(k: Op, x: Value, y: Value) -> Value:
        swapped = name in _SWAPPED and k.rank(x, "X") < k.rank(y, "Y")
        x, y = aligned(k, x, y, int(k.attr("axis", -1)))
        if swapped:
            x, y = y, x
        if isinstance(what, str):
            return k(what, x, y)
        return what(k, x, y)


for _name, _what in _BINARY.items():
    _binary(_name, _what)


@maps("not_equal")
def not_equal(k: Op, x: Value, y: Value) -> Value:
    x, y = aligned(k, x, y, int(k.attr("axis", -1)))
    return k("Not", k("Equal", x, y))


def _logic(name: str, op_type: str) -> None:
    @maps(name)
    def mapping(k: Op, x: Value, y: Value) -> Value:
        return k(op_type, k.g.cast(x, np.bool_), k.g.cast(y, np.bool_))


for _name, _type in {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}.items():
    _logic(_name, _type)


@maps("scale")
def scale(k: Op, x: Value, factor: Value | None) -> Value:
    number, bias = k.attr("scale"), k.attr("bias")
    if factor is None and number == 1.0 and not bias:
        return k("Identity", x)
    if factor is not None:
        by = k.g.scalar(k.g.cast(factor, x.dtype))
    else:
        by = k.g.constant(np.asarray(number).astype(x.dtype))
    shift = np.asarray(bias).astype(x.dtype)
    if not bias:
        return k("Mul", x, by)
    if k.attr("bias_after_scale"):
        return k("Add", k("Mul", x, by), shift)
    return k("Mul", k("Add", x, shift), by)


@maps("increment")
def increment(k: Op, x: Value) -> Value:
    return k("Add", x, np.asarray(k.attr("step")).astype(x.dtype))


@maps("cast")
def cast(k: Op, x: Value) -> Value:
    wanted = np.dtype(k.dtype_attr("out_dtype"))
    if wanted == np.float16:
        return k("Cast", x, dtype=wanted)
    if x.dtype == wanted:
        return k("Identity", x)
    return k.g.cast(x, wanted)


@maps("assign", "rnn_memory_helper", "c_sync_calc_stream", "c_sync_comm_stream")
def assign(k: Op, x: Value) -> Value:
    return x if not isinstance(x, Value) or x.many or x.constant is not None else k("Identity", x)


@maps("print")
def print_(k: Op, x: Value) -> Value:
    k.pass_lod("In")
    return x


@maps("where")
def where(k: Op, condition: Value, x: Value, y: Value) -> Value:
    return k("Where", condition, x, y)


def _all_one(k: Op, checked: Value) -> Value:
    whole = k("ReduceMin", k.g.cast(k.g.flat(checked), np.int32), keepdims=1)
    return k.g.cast(whole, np.bool_)


def _any_one(k: Op, checked: Value) -> Value:
    found = k("ReduceMax", k.g.cast(k.g.flat(checked), np.int32), keepdims=1)
    return k.g.cast(found, np.bool_)


def _as_float(k: Op, x: Value) -> Value:
    return x if x.dtype.kind == "f" else k.g.cast(x, np.float32)


@maps("isfinite")
def isfinite(k: Op, x: Value) -> Value:
    x = _as_float(k, x)
    return _all_one(k, k("Not", k("Or", k("IsNaN", x), k("IsInf", x))))


@maps("isinf")
def isinf(k: Op, x: Value) -> Value:
    return _any_one(k, k("IsInf", _as_float(k, x)))


@maps("isnan")
def isnan(k: Op, x: Value) -> Value:
    return _any_one(k, k("IsNaN", _as_float(k, x)))


@maps("allclose")
def allclose(k: Op, x: Value, y: Value) -> Value:
    far = k("Abs", k("Sub", x, y))
    limit = k("Add", k("Mul", k("Abs", y), float(k.attr("rtol"))), float(k.attr("atol")))
    close = k("Or", k("Equal", x, y), k("LessOrEqual", far, limit))
    if k.attr("equal_nan"):
        close = k("Or", close, k("And", k("IsNaN", x), k("IsNaN", y)))
    return _all_one(k, close)

"""Search and sort."""

from __future__ import annotations

import numpy as np

from fluidio.dtypes import VarType, to_numpy
from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps

__all__: list[str] = []


def _arg(name: str, op_type: str) -> None:
    @maps(name)
    def mapping(k: Op, x: Value) -> Value:
        out = k(op_type, x, axis=int(k.attr("axis")), keepdims=int(bool(k.attr("keepdims"))))
        wanted = int(k.attr("dtype", -1))
        return out if wanted < 0 else k.g.cast(out, to_numpy(VarType(wanted)))


_arg("arg_max", "ArgMax")
_arg("arg_min", "ArgMin")


@maps("argsort")
def argsort(k: Op, x: Value) -> tuple[Value, Value]:
    rank = k.rank(x)
    axis = k.axis(int(k.attr("axis")), rank)
    count = k.g.dim(x, axis)
    largest = int(bool(k.attr("descending")))
    values, indices = k.g.node("TopK", x, count, dtypes=[None, None], axis=axis, largest=largest, sorted=1)
    return values, indices


@maps("top_k")
def top_k(k: Op, x: Value, given: Value | None) -> tuple[Value, Value]:
    count = k.g.constant(np.array([int(k.attr("k"))])) if given is None else k.g.flat(k.g.cast(given, np.int64))
    values, indices = k.g.node("TopK", x, count, dtypes=[None, None], axis=-1, largest=1, sorted=1)
    return values, indices


@maps("where_index")
def where_index(k: Op, condition: Value) -> Value:
    return k("Transpose", k("NonZero", condition), perm=[1, 0])


def _unique(k: Op, x: Value) -> tuple[Value, Value, Value]:
    dtype, source = k.dtype_attr("dtype"), x.dtype
    x = k.g.cast(x, np.int64) if source.kind in "iu" else x
    values, _, index, count = k.g.node(
        "Unique", k.g.flat(x), dtypes=[x.dtype, np.int64, np.int64, np.int64], ranks=[1, 1, 1, 1], sorted=0
    )
    return k.g.cast(values, source), k.g.cast(index, dtype), k.g.cast(count, dtype)


@maps("unique")
def unique(k: Op, x: Value) -> tuple[Value, Value]:
    return _unique(k, x)[:2]


@maps("unique_with_counts")
def unique_with_counts(k: Op, x: Value) -> tuple[Value, Value, Value]:
    return _unique(k, x)


@maps("shard_index")
def shard_index(k: Op, x: Value) -> Value:
    size = -(-int(k.attr("index_num")) // int(k.attr("nshards")))
    mine = k("Equal", k("Div", x, size), int(k.attr("shard_id")))
    return k("Where", mine, k("Mod", x, size), k.g.value(int(k.attr("ignore_value")), x))


@maps("is_empty")
def is_empty(k: Op, x: Value) -> Value:
    return k.g.reshape(k("Equal", k("Size", x), 0), [1])

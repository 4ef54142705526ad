"""Join and split tensors."""

from __future__ import annotations

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps

__all__: list[str] = []


def _axis(k: Op, tensor: Value | None) -> int:
    return int(k.attr("axis", 0)) if tensor is None else int(k.const(tensor, "the axis").reshape(-1)[0])


@maps("concat")
def concat(k: Op, xs: list[Value], axis_tensor: Value | None) -> Value:
    axis = _axis(k, axis_tensor)
    xs = k.same_dtype(*xs)
    first = k.lods["X"][0]
    if axis % k.rank(xs[0]) or len(xs) == 1:
        k.out_lods["Out"] = first
    elif first and any(k.lods["X"][1:]):
        k.out_lods["Out"] = _joined(k)
    else:
        k.out_lods["Out"] = first
    return k("Concat", *xs, axis=axis)


def _joined(k: Op) -> tuple[Value, ...]:
    """Return the LoD of tensors joined along their rows."""
    lods = [lod for lod in k.lods["X"] if lod]
    if any(len(lod) != len(lods[0]) for lod in lods):
        k.refuse("the inputs have different LoD levels")
    levels = []
    for parts in zip(*lods, strict=True):
        out = parts[0]
        for more in parts[1:]:
            moved = k("Add", k.g.slice(more, 0, 1, 2**62), k.g.slice(out, 0, -1, 2**62))
            out = k("Concat", out, moved, axis=0)
        levels.append(out)
    return tuple(levels)


@maps("split", "split_byref")
def split(k: Op, x: Value, axis_tensor: Value | None = None, sections_list: list[Value] | None = None) -> list[Value]:
    axis = _axis(k, axis_tensor)
    count = len(k.op.output("Out"))
    dims = k.tensor_dims(sections_list)
    sections: list[int | Value] = dims if dims is not None else list(k.ints("sections"))
    if not sections:
        return k.g.node("Split", x, dtypes=[x.dtype] * count, ranks=[x.rank] * count, axis=axis, num_outputs=count)
    sizes = k.g.join(sections)
    if any(isinstance(each, int) and each < 0 for each in sections):
        at = next(i for i, each in enumerate(sections) if isinstance(each, int) and each < 0)
        zeroed = k.g.join([0 if i == at else each for i, each in enumerate(sections)])
        rest = k("Sub", k.g.dim(x, k.axis(axis, k.rank(x))), k("ReduceSum", zeroed, keepdims=1))
        sizes = k.g.join([rest if i == at else each for i, each in enumerate(sections)])
    return k.g.node("Split", x, sizes, dtypes=[x.dtype] * count, ranks=[x.rank] * count, axis=axis)


@maps("stack")
def stack(k: Op, xs: list[Value]) -> Value:
    rank = k.rank(xs[0])
    axis = int(k.attr("axis"))
    axis = axis if axis >= 0 else axis + rank + 1
    return k("Concat", *[k.g.unsqueeze(each, axis) for each in xs], axis=axis)


def _apart(k: Op, x: Value, count: int) -> list[Value]:
    axis = k.axis(int(k.attr("axis")), k.rank(x))
    if count == 1:
        return [k.g.squeeze(x, axis)]
    parts = k.g.node("Split", x, dtypes=[x.dtype] * count, ranks=[x.rank] * count, axis=axis, num_outputs=count)
    return [k.g.squeeze(part, axis) for part in parts]


@maps("unstack")
def unstack(k: Op, x: Value) -> list[Value]:
    return _apart(k, x, len(k.op.output("Y")))


@maps("unbind")
def unbind(k: Op, x: Value) -> list[Value]:
    return _apart(k, x, len(k.op.output("Out")))


@maps("multiplex")
def multiplex(k: Op, ids: Value, xs: list[Value]) -> Value:
    stacked = k("Concat", *[k.g.unsqueeze(each, 0) for each in xs], axis=0)
    which = k.g.flat(k.g.cast(ids, np.int64))
    rows = k.g.arange(k.g.rows(which))
    where = k("Concat", k.g.unsqueeze(which, 1), k.g.unsqueeze(rows, 1), axis=1)
    return k("GatherND", stacked, where, rank=xs[0].rank)


def _window(k: Op, x: Value) -> Value:
    start, length = int(k.attr("start_index")), int(k.attr("length"))
    width = k.dims("X")[1]
    if start < 0:
        if width < 0:
            k.refuse("a negative start_index needs a known width")
        start += width
    return k.g.slice(x, 1, start, 2**62 if length < 0 else start + length)


@maps("partial_concat")
def partial_concat(k: Op, xs: list[Value]) -> Value:
    return k("Concat", *[_window(k, each) for each in xs], axis=1)


@maps("partial_sum")
def partial_sum(k: Op, xs: list[Value]) -> Value:
    out = _window(k, xs[0])
    for each in xs[1:]:
        out = k("Add", out, _window(k, each))
    return out

"""Read and write by index: gather, scatter, embeddings, one_hot, diagonals."""

from __future__ import annotations

import numpy as np

from fluidio.models.onnx.context import Op
from fluidio.models.onnx.graph import Value
from fluidio.models.onnx.table import maps

__all__: list[str] = []


def _whole(k: Op, index: Value) -> Value:
    return index if index.dtype == np.int64 else k.g.cast(index, np.int64)


def _vector(k: Op, index: Value) -> Value:
    index = _whole(k, index)
    return index if index.rank == 1 else k.g.flat(index)


@maps("gather")
def gather(k: Op, x: Value, index: Value) -> Value:
    return k("Gather", x, _vector(k, index), axis=0)


@maps("gather_nd")
def gather_nd(k: Op, x: Value, index: Value) -> Value:
    depth = k.dims("Index")[-1]
    if depth < 0:
        k.refuse("the last dim of Index is not known")
    return k("GatherND", x, _whole(k, index), rank=k.rank(index) - 1 + k.rank(x) - depth)


@maps("index_sample")
def index_sample(k: Op, x: Value, index: Value) -> Value:
    return k("GatherElements", x, _whole(k, index), axis=1)


@maps("index_select")
def index_select(k: Op, x: Value, index: Value) -> Value:
    return k("Gather", x, _vector(k, index), axis=int(k.attr("dim")))


@maps("scatter")
def scatter(k: Op, x: Value, ids: Value, updates: Value) -> Value:
    where = k.g.unsqueeze(_vector(k, ids), 1)
    if k.attr("overwrite"):
        return k("ScatterND", x, where, updates)
    cleared = k("ScatterND", x, where, k("Mul", updates, 0))
    return k("ScatterND", cleared, where, updates, reduction="add")


@maps("scatter_nd_add")
def scatter_nd_add(k: Op, x: Value, index: Value, updates: Value) -> Value:
    return k("ScatterND", x, _whole(k, index), updates, reduction="add")


def _lookup(name: str, drop_last: bool) -> None:
    @maps(name)
    def mapping(k: Op, w: Value, ids: Value) -> Value:
        ids = _whole(k, ids)
        rank = k.rank(ids, "Ids")
        if drop_last:
            ids = k.g.squeeze(ids, rank - 1) if rank > 1 else ids
        out = k("Gather", w, ids, axis=0)
        padding = int(k.attr("padding_idx"))
        if padding == -1:
            return out
        kept = k.g.cast(k("Not", k("Equal", ids, padding)), w.dtype)
        return k("Mul", out, k.g.unsqueeze(kept, k.rank(ids)))


_lookup("lookup_table", True)
_lookup("lookup_table_v2", False)


def _one_hot(name: str, drop_last: bool) -> None:
    @maps(name)
    def mapping(k: Op, x: Value, depth: Value | None) -> Value:
        ids = _whole(k, x)
        if drop_last and k.rank(ids) > 1:
            ids = k.g.squeeze(ids, k.rank(ids) - 1)
        count = (
            k.g.constant(np.asarray(int(k.attr("depth")), np.int64))
            if depth is None
            else k.g.scalar(k.g.cast(depth, np.int64))
        )
        rows = k.g.arange(k.g.unsqueeze(count, 0) if count.rank == 0 else count)
        hit = k("Equal", k.g.unsqueeze(ids, k.rank(ids)), rows)  # ONNX's OneHot counts negative ids from the end
        return k.g.cast(hit, k.dtype_attr("dtype"))


_one_hot("one_hot", True)
_one_hot("one_hot_v2", False)


@maps("diag")
def diag(k: Op, x: Value) -> Value:
    count = k.g.arange(k.g.rows(x))
    same = k("Equal", k.g.unsqueeze(count, 1), k.g.unsqueeze(count, 0))
    return k("Where", same, k.g.unsqueeze(x, 0), k.g.value(0, x))


@maps("diag_embed")
def diag_embed(k: Op, x: Value) -> Value:
    offset, rank = int(k.attr("offset")), k.rank(x) + 1
    shift_row, shift_column = max(-offset, 0), max(offset, 0)
    size = k.g.dim(x, k.rank(x) - 1)
    side = k.g.arange(k("Add", size, abs(offset)))
    rows = k.g.unsqueeze(k("Sub", side, shift_row), 1)
    columns = k.g.unsqueeze(k("Sub", side, shift_column), 0)
    on = k("And", k("Equal", rows, columns), k("GreaterOrEqual", rows, 0))
    on = k("And", on, k("Less", rows, size))
    padded = k.g.pad(x, [shift_column], [abs(offset) - shift_column], rank - 2)
    wide = k("Where", on, k.g.unsqueeze(padded, rank - 2), k.g.value(0, x))
    first, second = int(k.attr("dim1")) % rank, int(k.attr("dim2")) % rank
    order = [axis for axis in range(rank) if axis not in (first, second)]
    places = {first: rank - 2, second: rank - 1}
    places.update({axis: source for source, axis in enumerate(order)})
    return k("Transpose", wide, perm=[places[axis] for axis in range(rank)])


@maps("trace")
def trace(k: Op, x: Value) -> Value:
    rank, offset = k.rank(x), int(k.attr("offset"))
    first, second = sorted((int(k.attr("dim1")) % rank, int(k.attr("dim2")) % rank))
    rest = [axis for axis in range(rank) if axis not in (first, second)]
    turned = k("Transpose", x, perm=[*rest, first, second])
    rows = k.g.unsqueeze(k.g.arange(k.g.dim(x, first)), 1)
    columns = k.g.unsqueeze(k.g.arange(k.g.dim(x, second)), 0)
    on = k("Equal", k("Add", rows, offset), columns)
    kept = k("Where", on, turned, k.g.value(0, x))
    out = k("ReduceSum", kept, np.array([rank - 2, rank - 1]), keepdims=0)
    return out if rest else k.g.reshape(out, [1])


@maps("gather_tree")
def gather_tree(k: Op, ids: Value, parents: Value) -> Value:
    """Walk back from the last step: a Scan over time whose state is the beam each path is on."""
    g = k.g
    body = g.child()
    beams = body.given("beams", np.int64, 2)
    step_ids, step_parents = body.given("ids", ids.dtype, 2), body.given("parents", parents.dtype, 2)
    taken = body("GatherElements", step_ids, beams, axis=1)
    before = body("GatherElements", body.cast(step_parents, np.int64), beams, axis=1)
    proto = body.body("walk", [beams, step_ids, step_parents], [before, taken])
    shape = g("Shape", ids, start=1)
    start = g("Expand", g.unsqueeze(g.arange(g.dim(ids, 2)), 0), shape, rank=2)
    _, out = g.node(
        "Scan",
        start,
        ids,
        parents,
        dtypes=[np.int64, ids.dtype],
        ranks=[2, 3],
        body=proto,
        num_scan_inputs=2,
        scan_input_directions=[1, 1],
        scan_output_directions=[1],
    )
    return out

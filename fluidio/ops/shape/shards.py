"""Divide ids and rows among servers and merge them again, fuse tensors in one buffer, and select by trainer."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from fluidio.dtypes import VarType, to_numpy
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.math.elementwise import check_broadcast, fit
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array

__all__: list[str] = []


@op("split_ids", "Ids*", "Out*", infer=None, grad=False, lod="none")
def split_ids(k: Call, ids: list[Array]) -> Any:
    """Out[i] = the distinct ids in order whose remainder modulo the number of outputs is i; or such sparse rows."""
    count = len(k.outs["Out"])
    if isinstance(ids[0], SelectedRows):
        return [_rows_where(ids[0], ids[0].index % count == part) for part in range(count)]
    known = np.unique(np.concatenate([k.dev.download(one).reshape(-1) for one in ids]))
    return [k.dev.upload(known[known % count == part].reshape(-1, 1)) for part in range(count)]


def _rows_where(rows: SelectedRows, chosen: Array) -> SelectedRows:
    return SelectedRows(rows.index[chosen], rows.height(), rows.value[chosen])


@op("merge_ids", "Ids* Rows* X*", "Out*", infer=None, grad=False, lod="none")
def merge_ids(k: Call, ids: list[Array], rows: list[Array], values: list[Array]) -> KernelResult:
    """Out[i] = the row of X for each of Ids[i], found by its position in Rows."""
    known = np.concatenate([k.dev.download(one).reshape(-1) for one in rows])
    table = k.xp.concatenate([one.reshape(-1, one.shape[-1]) for one in values])
    order = np.argsort(known, kind="stable")
    found = []
    for wanted in ids:
        flat = k.dev.download(wanted).reshape(-1)
        place = np.searchsorted(known[order], flat)
        if place.size and (place.max() >= known.size or (known[order][place] != flat).any()):
            missing = sorted(set(flat.tolist()) - set(known.tolist()))[:5]
            raise EnforceNotMet(f"Rows does not contain the id {missing}")
        found.append(table[k.dev.upload(order[place])])
    return found


@op(
    "split_selected_rows",
    "X",
    "Out*",
    {"height_sections": []},
    infer=None,
    grad=False,
    lod="none",
)
def split_selected_rows(k: Call, x: SelectedRows) -> Any:
    """Out[i] = the rows of X in the i-th section of its height, numbered from the start of the section."""
    ends = np.cumsum([0, *k.attrs["height_sections"]])
    parts = []
    for start, stop in pairwise(ends.tolist()):
        chosen = (x.index >= start) & (x.index < stop)
        parts.append(SelectedRows(x.index[chosen] - start, int(stop - start), x.value[chosen]))
    return parts


@op(
    "coalesce_tensor",
    "Input*",
    "Output* FusedOutput",
    {"dtype": VarType.FP32, "copy_data": False, "set_constant": False, "constant": 0.0, "check_name": False},
    infer=None,
    grad=False,
    lod="none",
)
def coalesce_tensor(k: Call, parts: list[Array]) -> KernelResult:
    """FusedOutput = one buffer for all inputs in order; Output = their pieces of it.

    Fluid: each piece begins at a multiple of 256 bytes.
    """
    xp, dtype = k.xp, to_numpy(k.attrs["dtype"])
    unit = 256 // dtype.itemsize
    sizes = [-(-part.size // unit) * unit for part in parts]
    whole = xp.zeros(sum(sizes), dtype)
    if k.attrs["set_constant"]:
        whole[...] = k.attrs["constant"]
    views, start = [], 0
    for part, size in zip(parts, sizes):
        view = whole[start : start + part.size].reshape(part.shape)
        if k.attrs["copy_data"]:
            view[...] = part
        views.append(view)
        start += size
    return views, whole


@op("ref_by_trainer_id", "X* TrainerId", "Out", infer=None, grad=False, lod="none")
def ref_by_trainer_id(k: Call, xs: list[Array], trainer: Any) -> Array:
    """Out = the input of one trainer."""
    number = int(k.dev.download(trainer).reshape(-1)[0])
    if not 0 <= number < len(xs):
        raise EnforceNotMet(f"TrainerId is {number}, but X holds {len(xs)} tensors")
    return xs[number].copy()


@op("delete_var", "X*", "", infer=None, grad=False, raw=True, side_effect=True)
def delete_var(k: Call, frame: Any) -> None:
    """Forget the inputs."""
    for slot in k.ins["X"]:
        frame.values[slot] = None


def _infer_made(c: InferContext) -> None:
    c.set("Out", c.attrs["shape"])


@op("fake_init", "", "Out", {"shape": [], "dtype": VarType.FP32}, infer=_infer_made, grad=False, lod="none")
def fake_init(k: Call) -> Array:
    """Out = memory of the given shape, to be filled by a server."""
    return k.xp.zeros(k.attrs["shape"], to_numpy(k.attrs["dtype"]))


def _infer_dequant(c: InferContext) -> None:
    ids, width = c.shape("Ids"), c.shape("W")[1]
    rows = ids[:-1] if ids[-1] == 1 else ids
    c.set("Out", (*rows, (width - 2) * 4), VarType.FP32, c.input("Ids").lod_level)


@op("lookup_table_dequant", "W Ids", "Out", {"padding_idx": -1}, infer=_infer_dequant, grad=False, lod="none")
def lookup_table_dequant(k: Call, table: Array, ids: Array) -> Array:
    """Out = rows of a table of bytes: a row starts with its minimum and maximum, and bytes divide the range between."""
    flat = ids.reshape(-1)
    rows = table[flat]
    low, high = rows[:, :1], rows[:, 1:2]
    packed = k.xp.ascontiguousarray(rows[:, 2:]).view(np.uint8)
    out = (high - low) / np.float32(256) * packed.astype(np.float32) + low
    padding = k.attrs["padding_idx"]
    if padding != -1:
        out[flat == padding] = 0
    shape = ids.shape[:-1] if ids.shape[-1] == 1 else ids.shape
    return out.reshape(*shape, packed.shape[1])


def _infer_clip(c: InferContext) -> None:
    c.same("Out", "X")


@op(
    "dgc_clip_by_norm",
    "current_step X",
    "Out",
    {"max_norm": 1.0, "rampup_begin_step": -1.0},
    infer=_infer_clip,
    grad=False,
    lod="none",
)
def dgc_clip_by_norm(k: Call, step: Array, x: Array) -> Array:
    """Out = X clipped to a norm from the step on at which compression begins; before that, X unchanged.

    Fluid: leaves Out empty before that.
    """
    if int(k.dev.download(step).reshape(-1)[0]) < int(k.attrs["rampup_begin_step"]):
        return x.copy()
    norm = k.xp.sqrt((x * x).sum())
    return x * (k.attrs["max_norm"] / k.xp.maximum(norm, k.attrs["max_norm"])).astype(x.dtype)


def _infer_answer(c: InferContext) -> None:
    c.set("Out", (1,), VarType.BOOL, 0)


@op("equal_reduce", "X Y", "Out", {"axis": -1}, infer=_infer_answer, grad=False, lod="none")
def equal_reduce(k: Call, x: Array, y: Array) -> Array:
    """Out = whether all elements are equal, Y broadcast."""
    x, y = fit(k, x, y)
    check_broadcast(x, y)
    return (x == y).all().reshape(1)
